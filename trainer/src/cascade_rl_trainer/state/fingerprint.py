"""What a run was started with, and what differs now: the check before a resume.

A resumed run must equal an uninterrupted one, so everything that can change a result is
compared: the decided values of the cascade, each pack's source, the data, the libraries and
the number of threads. Where a run writes and how many workers score for it change nothing.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, zip_longest
from typing import Any, Literal

from pydantic import Field, JsonValue

from cascade_rl.config.resolved import ResolvedCascade, ResolvedDomain, ResolvedStage
from cascade_rl.errors import RunError
from cascade_rl.hooks import MODIFIER_GROUP
from cascade_rl.registry import Announcement
from cascade_rl.registry.source import dependency_versions, installed_versions, module_hash
from cascade_rl.types import Record

LIBRARIES = (
    "torch",
    "transformers",
    "tokenizers",
    "verl",
    "cascade-rl",
    "cascade-rl-trainer",
)

#: Of the whole run's configuration; threads and device are compared as they were decided.
_RUN_KEYS = {
    *("seed", "model", "backend", "evaluation", "verl"),
    *("reward_timeout_s", "reward_memory_mb"),
}
#: Of a stage's configuration: `resolved` holds these with the packs' defaults merged in.
_RESOLVED_KEYS = {"options", "budget", "sampling"}
#: Gates judge a result and decide none, so they may be changed between runs.
_NOT_COMPARED = _RESOLVED_KEYS | {"gates"}
_ABSENT = object()


class PackSource(Record):
    """An installed pack: its version, a hash of its source, what it directly depends on."""

    distribution: str
    version: str
    source: str
    dependencies: dict[str, str] = Field(default_factory=dict)


class Fingerprint(Record):
    """Everything that decides a run's results. ``origins`` only serve the messages."""

    format: Literal[1] = 1
    cascade: dict[str, JsonValue]
    packs: dict[str, PackSource]
    data: dict[str, str]
    versions: dict[str, str]
    threads: int
    device: str
    origins: dict[str, str] = Field(default_factory=dict)

    @property
    def stage_names(self) -> tuple[str, ...]:
        """The stages, in order."""
        return tuple(stage["name"] for stage in _stages(self))


def take(
    cascade: ResolvedCascade,
    packs: Iterable[Announcement],
    data: Mapping[str, str],
    threads: int,
    device: str,
) -> Fingerprint:
    """The fingerprint of a run that starts now.

    ``data`` maps a label ("math train") to its hash (``hashes.prompts_hash``,
    ``hashes.folder_hash`` of a model folder); ``threads`` and ``device`` are the decided ones.
    """
    return Fingerprint(
        cascade=_cascade_values(cascade),
        packs={_label(pack): pack_source(pack) for pack in packs},
        data=dict(data),
        versions={"python": platform.python_version(), **installed_versions(LIBRARIES)},
        threads=threads,
        device=device,
        origins=cascade.origins
        | {
            f"stages[{i}].{key}": origin
            for i, stage in enumerate(cascade.stages)
            for key, origin in stage.origins.items()
        },
    )


def pack_source(pack: Announcement) -> PackSource:
    """The source hash and versions of an installed pack."""
    return PackSource(
        distribution=pack.distribution,
        version=pack.version,
        source=module_hash(pack.value),
        dependencies=dependency_versions(pack.distribution),
    )


def difference(old: Fingerprint, new: Fingerprint) -> list[str]:
    """What differs, one line for a person each; empty when a resume may go on."""
    return [
        *_cascade_lines(old, new, range(max(len(_stages(old)), len(_stages(new))))),
        *_pack_lines(old.packs, new.packs),
        *(f"data {line}" for line in _changes("", old.data, new.data)),
        *_changes("", old.versions, new.versions),
        *_changes("threads", old.threads, new.threads),
        *_changes("device", old.device, new.device),
    ]


def fork_difference(old: Fingerprint, new: Fingerprint, stage: str) -> list[str]:
    """What forbids to start anew from ``stage`` and to keep what is before it.

    Only what the kept stages were told counts: packs, data and libraries may have changed.
    Raises ``RunError`` when ``new`` has no such stage.
    """
    if stage not in new.stage_names:
        raise RunError(f"there is no stage {stage!r}; there are: {', '.join(new.stage_names)}")
    return _cascade_lines(old, new, range(new.stage_names.index(stage)))


def check_resume(old: Fingerprint, new: Fingerprint) -> None:
    """Raise a ``RunError`` that lists the differences, if there are any."""
    lines = difference(old, new)
    if not lines:
        return
    forks = [name for name in new.stage_names if not fork_difference(old, new, name)]
    ways = ["Restore them", "use another output folder"]
    if forks:
        ways.append(f"or pass `--fork NAME` to start anew from stage NAME ({', '.join(forks)})")
    else:
        ways[-1] = f"or {ways[-1]}"
    listed = "\n".join(f"  {line}" for line in lines)
    raise RunError(
        f"this run was started with something else, so it cannot be resumed:\n{listed}\n"
        f"{', '.join(ways)}."
    )


def _cascade_values(cascade: ResolvedCascade) -> dict[str, JsonValue]:
    config = cascade.config.model_dump(mode="json", include=_RUN_KEYS)
    config["evaluation"] |= {"domains": list(cascade.config.evaluated)}
    config["evaluation"] |= _domain_values(cascade.evaluation)
    return {**config, "stages": [_stage_values(stage) for stage in cascade.stages]}


def _stage_values(stage: ResolvedStage) -> dict[str, JsonValue]:
    values = stage.config.model_dump(mode="json", exclude=_NOT_COMPARED)
    return {**values, "resolved": _domain_values(stage.domains)}


def _domain_values(domains: Iterable[ResolvedDomain]) -> dict[str, JsonValue]:
    return {d.name: d.model_dump(mode="json", exclude={"name"}) for d in domains}


def _stages(fingerprint: Fingerprint) -> list[Any]:
    stages = fingerprint.cascade["stages"]
    assert isinstance(stages, list)
    return stages


def _cascade_lines(old: Fingerprint, new: Fingerprint, indices: range) -> list[str]:
    """Differences of the values that hold for the whole run and of the given stages."""
    before = {key: value for key, value in old.cascade.items() if key != "stages"}
    now = {key: value for key, value in new.cascade.items() if key != "stages"}
    lines = [f"{line} ({_origin(where, '', new)})" for where, line in _walk("", before, now)]
    pairs = list(zip_longest(_stages(old), _stages(new), fillvalue=_ABSENT))
    for i in indices:
        path = f"stages[{i}]"
        for where, line in _walk(path, *pairs[i]) if i < len(pairs) else ():
            lines.append(f"{line} ({_origin(where, f'{path}.', new)})")
    return lines


def _origin(where: str, stage: str, new: Fingerprint) -> str:
    """Where the new value of a key comes from; ``stage`` is "" or the prefix of a stage's keys."""
    key = where.removeprefix(stage)
    merged = re.match(r"resolved\.([^.]+)\.(.*)", key)  # resolved.math.budget.overlong
    keys = [key] if merged is None else [f"domains.{merged[1]}.{merged[2]}", merged[2]]
    for candidate in keys:
        while candidate:
            if f"{stage}{candidate}" in new.origins:
                return new.origins[f"{stage}{candidate}"]
            candidate = candidate.rpartition(".")[0]
    return "cascade file"


def _pack_lines(old: Mapping[str, PackSource], new: Mapping[str, PackSource]) -> Iterator[str]:
    for name in dict.fromkeys(chain(old, new)):
        if name not in old or name not in new:
            yield f"pack {name}: {'added' if name not in old else 'no longer used'}"
            continue
        before, now = old[name], new[name]
        yield from _changes(f"pack {name}: distribution", before.distribution, now.distribution)
        if before.version != now.version:
            yield f"pack {name}: {before.version} -> {now.version}"
        elif before.source != now.source:
            yield f"pack {name}: source changed ({now.version})"
        for line in _changes("", before.dependencies, now.dependencies):
            yield f"pack {name}, dependency {line}"


def _changes(path: str, old: Any, new: Any) -> list[str]:
    return [line for _, line in _walk(path, old, new)]


def _walk(path: str, old: Any, new: Any) -> Iterator[tuple[str, str]]:
    """The places where two JSON values differ, each with its line."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys(chain(old, new)):
            below = f"{path}.{key}" if path else str(key)
            yield from _walk(below, old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif isinstance(old, list) and isinstance(new, list):
        for i, (a, b) in enumerate(zip_longest(old, new, fillvalue=_ABSENT)):
            yield from _walk(f"{path}[{i}]", a, b)
    elif old != new or isinstance(old, bool) != isinstance(new, bool):
        yield path, f"{path}: {_show(old)} -> {_show(new)}"


def _show(value: Any) -> str:
    if value is _ABSENT:
        return "absent"
    if isinstance(value, str):
        return value
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _label(pack: Announcement) -> str:
    return f"modifier {pack.name}" if pack.group == MODIFIER_GROUP else pack.name
