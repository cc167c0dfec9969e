"""Plain Python values as JSON and back, exactly: what crosses between an answer and a judge.

Only exact built-in types come out of ``decode``, so nothing that an answer defines (an object
that equals everything, say) can reach a comparison. Not pickle: decoding runs no code.
Lists, strings, floats, booleans, None and machine-size integers are themselves in JSON; every
other type is an object with one key, its tag.
"""

from __future__ import annotations

import json
from typing import Any

MAX_DEPTH = 200


class NotPlain(Exception):
    """The value is not made of plain data only."""


def dumps(value: Any) -> bytes:
    """The JSON text of a plain value; raises ``NotPlain``."""
    return json.dumps(encode(value), ensure_ascii=True, separators=(",", ":")).encode()


def loads(data: bytes) -> Any:
    """The value of a text that may be hostile; raises ``NotPlain``."""
    try:
        return decode(json.loads(data))
    except (ValueError, TypeError, KeyError, IndexError, RecursionError, MemoryError) as error:
        raise NotPlain(f"not a value: {type(error).__name__}") from None


def encode(value: Any, depth: int = 0) -> Any:
    """The JSON form of a plain value. Subclasses lose their class; raises ``NotPlain``."""
    if depth > MAX_DEPTH:
        raise NotPlain(f"nested deeper than {MAX_DEPTH}")
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    for base, leaf in _LEAVES.items():
        if issubclass(kind, base):
            return leaf(value)
    for base, branch in _BRANCHES.items():
        if issubclass(kind, base):
            return branch(value, depth + 1)
    if kind.__module__.partition(".")[0] == "numpy" and hasattr(kind, "tolist"):
        return encode(kind.tolist(value), depth + 1)
    raise NotPlain(f"a {kind.__name__} is not plain data")


def _integer(value: int) -> Any:
    exact = int.__add__(value, 0)
    return exact if -(2**63) <= exact < 2**63 else {"i": hex(exact)}


def _complex(value: complex) -> Any:
    exact = complex.__add__(value, 0)
    return {"c": [exact.real, exact.imag]}


def _sequence(tag: str, kind: Any) -> Any:
    def write(value: Any, depth: int) -> Any:
        return {tag: [encode(item, depth) for item in kind.__iter__(value)]}

    return write


def _dict(value: dict[Any, Any], depth: int) -> Any:
    return {"d": [[encode(k, depth), encode(v, depth)] for k, v in dict.items(value)]}


# The methods are those of the built-in types themselves: a subclass may have overridden its own.
_LEAVES: dict[type, Any] = {
    int: _integer,
    float: float.__float__,
    str: str.__str__,
    bytes: lambda value: {"b": bytes.hex(value)},
    bytearray: lambda value: {"b": bytearray.hex(value)},
    complex: _complex,
}
_BRANCHES: dict[type, Any] = {
    list: lambda value, depth: [encode(item, depth) for item in list.__iter__(value)],
    dict: _dict,
    tuple: _sequence("t", tuple),
    set: _sequence("s", set),
    frozenset: _sequence("f", frozenset),
}

_READERS: dict[str, Any] = {
    "i": lambda text: int(text, 16),
    "d": lambda pairs: {decode(key): decode(item) for key, item in pairs},
    "t": lambda items: tuple(decode(item) for item in items),
    "s": lambda items: {decode(item) for item in items},
    "f": lambda items: frozenset(decode(item) for item in items),
    "b": bytes.fromhex,
    "c": lambda parts: complex(parts[0], parts[1]),
}


def decode(value: Any) -> Any:
    """The value of a JSON form; raises ``ValueError`` and its like for any other."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((tag, content),) = value.items()
    return _READERS[tag](content)
