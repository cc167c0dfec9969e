"""From an announcement to a validated plugin. Each mistake has an error of its own.

Loading is by name and isolated: nothing here ever touches another pack.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

import pluggy
from pydantic import BaseModel, ConfigDict, ValidationError

from cascade_rl.errors import (
    BadHookSignature,
    BadOptions,
    HookVersionMismatch,
    MissingHook,
    PackImportError,
    UnknownHook,
)
from cascade_rl.hooks import HOOK_VERSION, PROJECT
from cascade_rl.registry.discover import Announcement


class NoOptions(BaseModel):
    """The options of a pack that has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def import_plugin(announcement: Announcement) -> Any:
    """Import the module or class that an entry point names; raises ``PackImportError``."""
    point = EntryPoint(announcement.name, announcement.value, announcement.group)
    try:
        return point.load()
    except (Exception, SystemExit) as error:
        raise PackImportError(
            f"{_head(announcement)} failed to import: {type(error).__name__}: {error}. "
            f"Reinstall it (pip install --force-reinstall {announcement.distribution}), or "
            f"remove it (pip uninstall {announcement.distribution}); if it is not installed any "
            f"more, delete the stale folder {announcement.location}."
        ) from error


def build_plugin(
    announcement: Announcement,
    spec: type,
    required: Sequence[str],
    options: dict[str, Any],
) -> tuple[pluggy.PluginManager, Any]:
    """Import, check and register a pack.

    Returns a plugin manager that holds this pack alone, and its validated options. Raises a
    subclass of ``PackError``.
    """
    plugin = import_plugin(announcement)
    _check_version(announcement, plugin)
    _check_hooks(announcement, plugin, spec, required)
    valid = validate_options(announcement, plugin, options)
    if inspect.isclass(plugin):
        plugin = _instantiate(announcement, plugin, valid)
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(spec)
    manager.register(plugin, name=announcement.name)
    return manager, valid


def options_model(plugin: Any) -> type[BaseModel]:
    """The pack's ``Options``, or a model that accepts no key."""
    model = getattr(plugin, "Options", NoOptions)
    return model if inspect.isclass(model) and issubclass(model, BaseModel) else NoOptions


def validate_options(announcement: Announcement, plugin: Any, options: dict[str, Any]) -> BaseModel:
    """Fill the pack's ``Options``; raises ``BadOptions`` with every problem at once."""
    model = options_model(plugin)
    unknown = sorted(set(options) - _accepted(model)) if not _open_ended(model) else []
    problems = [(key, _unknown_option(key, model)) for key in unknown]
    try:
        valid = model.model_validate({k: v for k, v in options.items() if k not in unknown})
    except ValidationError as error:
        for item in error.errors():
            key = ".".join(str(part) for part in item["loc"]) or "(all)"
            text = item["msg"].removeprefix("Value error, ")
            problems.append((key, f"{text} (got {item['input']!r})"))
    if problems:
        listed = "; ".join(f"{key}: {text}" for key, text in problems)
        raise BadOptions(f"{_head(announcement)}: bad options: {listed}", problems)
    return valid


def implemented_hooks(plugin: Any) -> dict[str, Any]:
    """The functions of a plugin that carry ``@hookimpl``, by name."""
    found = {}
    for name in dir(plugin):
        function = inspect.getattr_static(plugin, name, None)
        if isinstance(function, (staticmethod, classmethod)):
            function = function.__func__
        if callable(function) and hasattr(function, f"{PROJECT}_impl"):
            found[name] = function
    return found


def nearest(word: str, known: Sequence[str], limit: int = 3) -> list[str]:
    """The known words that resemble ``word``, best first."""
    from rapidfuzz import process  # only errors need it

    return [match for match, score, _ in process.extract(word, known, limit=limit) if score >= 60]


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """ "; did you mean 'x'?" for the end of a message, or ``otherwise`` where nothing is near."""
    close = nearest(word, list(known), 1)
    return f"; did you mean {close[0]!r}?" if close else otherwise


def _accepted(model: type[BaseModel]) -> set[str]:
    aliases = {f.alias for f in model.model_fields.values() if f.alias}
    return set(model.model_fields) | aliases


def _open_ended(model: type[BaseModel]) -> bool:
    return model.model_config.get("extra") == "allow"


def _unknown_option(key: str, model: type[BaseModel]) -> str:
    known = sorted(_accepted(model))
    if not known:
        return "this pack takes no options"
    return f"no such option{did_you_mean(key, known)} (known: {', '.join(known)})"


def _check_version(announcement: Announcement, plugin: Any) -> None:
    home = plugin if isinstance(plugin, ModuleType) else inspect.getmodule(plugin)
    written_for = getattr(plugin, "HOOK_VERSION", getattr(home, "HOOK_VERSION", 1))
    if written_for == HOOK_VERSION:
        return
    side = "the pack" if written_for < HOOK_VERSION else "cascade-rl"
    raise HookVersionMismatch(
        f"{_head(announcement)} was written for hook version {written_for}, the installed "
        f"cascade-rl has {HOOK_VERSION}. Upgrade {side}: pip install --upgrade "
        f"{announcement.distribution if side == 'the pack' else 'cascade-rl'}"
    )


def _check_hooks(
    announcement: Announcement, plugin: Any, spec: type, required: Sequence[str]
) -> None:
    known = sorted(n for n, f in vars(spec).items() if hasattr(f, f"{PROJECT}_spec"))
    for name in known:
        if isinstance(getattr(plugin, name, None), ModuleType):
            raise MissingHook(
                f"{_head(announcement)}: {name!r} is a module of the pack, which hides the hook "
                f"of that name once it is imported; rename the file {name}.py"
            )
    found = implemented_hooks(plugin)
    for name, function in found.items():
        if name not in known:
            hint = nearest(name, known, 1)
            close = f"did you mean {hint[0]!r}? " if hint else ""
            raise UnknownHook(
                f"{_head(announcement)}: {name!r} carries @hookimpl but is no hook; {close}"
                f"Hooks: {', '.join(known)}. A helper carries no @hookimpl."
            )
        _check_signature(announcement, name, function, getattr(spec, name), inspect.isclass(plugin))
    missing = [name for name in required if name not in found]
    if missing:
        raise MissingHook(f"{_head(announcement)}: {_missing_text(plugin, missing)}")


def _missing_text(plugin: Any, missing: list[str]) -> str:
    bare = [name for name in missing if callable(getattr(plugin, name, None))]
    text = f"required hook missing: {', '.join(missing)}. "
    if bare:
        return text + f"It defines {', '.join(bare)} without @hookimpl; add the decorator."
    return text + "Define it and decorate it with @hookimpl (from cascade_rl import hookimpl)."


def _check_signature(
    announcement: Announcement, name: str, function: Any, spec: Any, in_class: bool
) -> None:
    allowed = [p for p in inspect.signature(spec).parameters if p != "self"]
    head = f"{_head(announcement)}: hook {name!r}"
    for parameter in inspect.signature(function).parameters.values():
        if in_class and parameter.name in ("self", "cls"):
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise BadHookSignature(
                f"{head} takes {parameter}; name the arguments it needs, any of: "
                f"{', '.join(allowed)}"
            )
        if parameter.name not in allowed:
            close = did_you_mean(parameter.name, allowed)
            raise BadHookSignature(
                f"{head} has no argument {parameter.name!r}{close} (allowed: {', '.join(allowed)})"
            )
        if parameter.default is not parameter.empty:
            raise BadHookSignature(
                f"{head}: argument {parameter.name!r} has a default, so it would never be "
                f"passed; remove the default"
            )


def _instantiate(announcement: Announcement, plugin: type, options: BaseModel) -> Any:
    try:
        return plugin(options) if inspect.signature(plugin).parameters else plugin()
    except Exception as error:
        raise PackImportError(
            f"{_head(announcement)}: {plugin.__name__}(options) raised "
            f"{type(error).__name__}: {error}"
        ) from error


def _head(announcement: Announcement) -> str:
    kind = announcement.group.rpartition(".")[2].removesuffix("s")
    return f"{kind} {announcement.name!r} from {announcement.source} ({announcement.value})"
