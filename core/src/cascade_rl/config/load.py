"""Plain data to ``CascadeConfig``, with every problem reported at once."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cascade_rl.config.allowed import choices, required_keys, schema_at, takes, title
from cascade_rl.config.findings import Finding
from cascade_rl.config.overrides import apply_overrides
from cascade_rl.config.problems import Problem, find_problems, meant
from cascade_rl.config.schema import CascadeConfig
from cascade_rl.config.source import Source, read_source
from cascade_rl.errors import ConfigError


def load_config(path: Path | str, overrides: Sequence[str] = ()) -> tuple[Source, CascadeConfig]:
    """Read, override and validate; raises ``ConfigError`` with every problem on a line."""
    source = apply_overrides(read_source(path), overrides)
    config, problems = validate(source)
    if config is None:
        raise ConfigError("\n".join(map(str, problems)))
    return source, config


def validate(source: Source) -> tuple[CascadeConfig | None, list[Finding]]:
    """The config; or None and what is wrong, in the order of the file, overrides last."""
    config, problems = find_problems(source.data)
    if config is not None:
        return config, []
    problems = list(dict.fromkeys([*problems, *_after_repair(source.data, problems)]))
    findings = [
        Finding(kind="wrong", where=source.where(p.path), key=source.label(p.path), text=p.text)
        for p in problems
    ]
    return None, sorted(findings, key=_position)


def _position(finding: Finding) -> tuple[bool, int]:
    line = finding.where.rpartition(":")[2]
    return not line.isdigit(), int(line) if line.isdigit() else 0


def _after_repair(data: Any, problems: list[Problem]) -> Iterator[Problem]:
    """What the rules over whole sections say once the problems below them are out of the way.

    pydantic applies such a rule only where everything below is valid. A rule whose text names
    a key or a choice that the repair touched is a consequence, and left out.
    """
    repaired = copy.deepcopy(data)
    known = list(problems)
    broken = problems
    while broken:
        for problem in broken:
            _repair(repaired, problem, f"unnamed{len(known)}")
        broken = [p for p in find_problems(repaired)[1] if p.kind == "rule" and p not in known]
        known += broken
        yield from (rule for rule in broken if not _follows(rule, problems))


def _follows(rule: Problem, problems: list[Problem]) -> bool:
    depth = len(rule.path)
    touched: set[str] = set()
    for problem in problems:
        if len(problem.path) > depth and problem.path[:depth] == rule.path:
            key, schema = problem.path[: depth + 1], schema_at(problem.path[: depth + 1])
            touched |= {str(key[-1]), *meant(key), *(choices(schema) if schema else ())}
    return bool(touched & set(re.findall(r"\w+", rule.text)))


def _repair(data: Any, problem: Problem, name: str) -> None:
    """Take what is bad out, or put something harmless in its place where there must be one."""
    path = problem.path
    for part in path[:-1]:
        inside = part in data if isinstance(data, dict) else isinstance(data, list)
        if not inside:
            return
        data = data[part]
    parent, schema = schema_at(path[:-1]), schema_at(path)
    if isinstance(data, list):
        data.extend([None] * (int(path[-1]) + 1 - len(data)))
    if problem.kind == "rule":
        if path and schema is not None:
            section = data[path[-1]]
            kept = {key: section[key] for key in ("name",) if key in section}
            data[path[-1]] = kept | _HARMLESS.get(title(schema), {})
    elif schema is not None and (isinstance(data, list) or path[-1] in required_keys(parent or {})):
        data[path[-1]] = name if takes(schema, "string") else 1
    elif isinstance(data, dict):
        data.pop(path[-1], None)


#: For each model with a rule over several keys: keys that satisfy it.
_HARMLESS: dict[str, dict[str, Any]] = {
    "ModelConfig": {"build": {}},
    "RewardTerm": {"domain": "unnamed"},
    "StageConfig": {"steps": 1, "domain": "unnamed"},
}
