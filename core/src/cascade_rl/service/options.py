"""Which options a request may set: those the pack marks ``json_schema_extra={"remote": True}``.

A path, a URL or a level of isolation must never come from a request. A pack that marks a field
of such a type is refused when the service starts.
"""

from __future__ import annotations

import typing
from pathlib import PurePath
from typing import Any

from pydantic import AnyUrl, BaseModel, SecretStr
from pydantic.fields import FieldInfo

from cascade_rl.errors import BadOptions
from cascade_rl.registry import did_you_mean
from cascade_rl.service.problems import Refusal

_NEVER_REMOTE: tuple[type, ...] = (PurePath, AnyUrl, SecretStr)


def remote_fields(domain: str, model: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a pack's options that a request may set, by the name it uses.

    Raises ``BadOptions`` for a mark on a field of a type that no request may reach.
    """
    marked = {
        info.alias or name: info for name, info in model.model_fields.items() if _is_marked(info)
    }
    for name, info in marked.items():
        unsafe = [t for t in _types_in(info.annotation) if issubclass(t, _NEVER_REMOTE)]
        if unsafe:
            raise BadOptions(
                f"domain {domain!r}: option {name!r} is marked remote but is a "
                f"{unsafe[0].__name__}; no request may set a path, a URL or a secret"
            )
    return marked


def check_request(
    domain: str, given: dict[str, Any], allowed: dict[str, FieldInfo], known: set[str]
) -> None:
    """Refuse with 422 what a request may not set, and say why."""
    for name in given:
        if name in allowed:
            continue
        if name in known:
            text = "is fixed when the service starts"
        else:
            text = f"does not exist{did_you_mean(name, sorted(allowed))}"
        may = ", ".join(sorted(allowed)) or "none"
        raise Refusal(
            422, "option", f"option {name!r} of domain {domain!r} {text} (a request may set: {may})"
        )


def _is_marked(info: FieldInfo) -> bool:
    extra = info.json_schema_extra
    return isinstance(extra, dict) and extra.get("remote") is True


def _types_in(annotation: Any) -> list[type]:
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return [annotation]
    return [t for part in typing.get_args(annotation) for t in _types_in(part)]
