"""The model: is it here, do its sizes fit, do the stages' budgets fit into its context?"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cascade_rl.config.checks.context import Context
from cascade_rl.config.findings import Finding
from cascade_rl.config.provenance import Traced
from cascade_rl.config.resolve import DomainUse, StageUse

_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
_CONTEXT_KEYS = ("max_position_embeddings", "n_positions")
_PACKAGE = "package:"


def check_model(context: Context) -> Iterator[Finding]:
    """The one given source of the first stage's model."""
    model = context.config.model
    for name, check in _SOURCES.items():
        if getattr(model, name) is not None:
            yield from check(context)


def _path(context: Context) -> Iterator[Finding]:
    given = context.config.model.path or ""
    folder, at = Path(given).expanduser(), ("model", "path")
    if folder.is_dir():
        try:
            _read_config(folder)
        except (OSError, ValueError) as error:
            text = f"{given!r} holds no readable config.json, so it is no model: {error}"
            yield context.finding("wrong", at, text)
    elif folder.exists():
        yield context.finding("wrong", at, f"{given!r} is a file; give the model's folder")
    elif _HUB_ID.fullmatch(given) and not folder.parent.exists():
        text = f"{given!r} is no folder here; taken as a hub id, which plan does not look up"
        yield context.finding("unverified", at, text)
    else:
        text = f"no folder {given!r} (from {Path.cwd()}), and no hub id of the form org/name"
        yield context.finding("wrong", at, text)


def _gguf(context: Context) -> Iterator[Finding]:
    given, at = context.config.model.gguf or "", ("model", "gguf")
    if given.startswith(_PACKAGE):
        yield from _gguf_package(context, given.removeprefix(_PACKAGE))
        return
    file = Path(given).expanduser()
    if not file.is_file():
        yield context.finding("wrong", at, f"no file {given!r} (from {Path.cwd()})")
        return
    with file.open("rb") as start:
        if start.read(4) != b"GGUF":
            yield context.finding("wrong", at, f"{given!r} is not a GGUF file")


def _gguf_package(context: Context, name: str) -> Iterator[Finding]:
    at = ("model", "gguf")
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        text = f"the package {name!r} is not installed here; install what contains it"
        yield context.finding("unverified" if name.isidentifier() else "wrong", at, text)
        return
    files = [f.name for p in spec.submodule_search_locations for f in Path(p).rglob("*.gguf")]
    if len(files) != 1:
        found = ", ".join(sorted(files)) or "none"
        text = f"the package {name!r} must hold one .gguf file, found {found}; give a path"
        yield context.finding("wrong", at, text)


def _build(context: Context) -> Iterator[Finding]:
    build = context.config.model.build
    if build is None:
        return
    if build.hidden_size % (2 * build.heads):
        text = f"must be a multiple of twice the heads ({build.heads}), got {build.hidden_size}"
        yield context.finding("wrong", ("model", "build", "hidden_size"), text)
    if build.heads % build.kv_heads:
        text = f"must be a multiple of kv_heads ({build.kv_heads}), got {build.heads}"
        yield context.finding("wrong", ("model", "build", "heads"), text)


_SOURCES: dict[str, Callable[[Context], Iterator[Finding]]] = {
    "path": _path,
    "gguf": _gguf,
    "build": _build,
}


def check_context(context: Context) -> Iterator[Finding]:
    """Prompt and completion together fit into the model's context, where it is known."""
    size, origin = _context_size(context)
    if size is None:
        return
    told: set[tuple[str, str]] = set()
    for stage in context.resolution.stages:
        for use in stage.domains:
            for found in _fits(context, use, size, origin, stage):
                told.add((use.name, found.where))
                yield found
    for use in context.resolution.evaluation:
        for found in _fits(context, use, size, origin, None):
            if (use.name, found.where) not in told:
                yield found


def _fits(
    context: Context, use: DomainUse, size: int, origin: str, stage: StageUse | None
) -> Iterator[Finding]:
    if use.resolved is None:
        return
    prompt, completion = use.values["budget.prompt_tokens"], use.values["budget.completion_tokens"]
    if stage is not None:
        completion = _longest(context, stage, completion)
    total = prompt.value + completion.value
    if total > size:
        where = "" if stage else f"in the evaluation of {use.name}, "
        text = (
            f"{where}prompt_tokens {prompt.value} ({prompt.origin}) + completion_tokens "
            f"{completion.value} ({completion.origin}) = {total} tokens, beyond the model's "
            f"context of {size} ({origin})"
        )
        yield context.finding("wrong", completion.path or prompt.path or use.path, text)


def _longest(context: Context, stage: StageUse, base: Traced) -> Traced:
    """The largest completion budget of the stage, its schedule included."""
    longest = base
    for i, knot in enumerate(stage.config.schedule.completion_tokens):
        if knot.value > longest.value:
            path = (*stage.path, "schedule", "completion_tokens", i)
            longest = Traced(int(knot.value), context.source.origin(path) or "schedule", path)
    return longest


def _context_size(context: Context) -> tuple[int | None, str]:
    model = context.config.model
    if model.build is not None:
        origin = context.source.origin(("model", "build", "context"))
        return model.build.context, f"model.build.context, {origin or 'default'}"
    if model.path is None:
        return None, ""
    try:
        config = _read_config(Path(model.path).expanduser())
    except (OSError, ValueError):
        return None, ""  # check_model says so
    sizes = [config.get(key) for key in _CONTEXT_KEYS]
    size = next((s for s in sizes if isinstance(s, int) and not isinstance(s, bool)), None)
    return size, f"{model.path}/config.json"


def _read_config(folder: Path) -> dict[str, Any]:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if not isinstance(config, dict):
        raise ValueError("it does not hold a JSON object")  # noqa: TRY004  what JSON's errors are
    return config
