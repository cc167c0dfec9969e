"""YAML text to plain data with the line of every key. Knows nothing of cascades.

Differs from PyYAML's safe loader where people get hurt: ``2e-3`` is a number, only ``true`` and
``false`` are booleans (``no``, ``on`` are text, as in YAML 1.2), dates and ``1:30`` stay text,
a key given twice is an error, and only values that JSON has are accepted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import yaml

from cascade_rl.errors import ConfigError

KeyPath = tuple[str | int, ...]

MAX_DEPTH = 40
MAX_VALUES = 100_000  # anchors can make a small file huge

_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"
_DIGITS = r"[0-9]+(?:_[0-9]+)*"


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}  # type: ignore[misc]  # as PyYAML does


def _resolve(name: str, pattern: str, first: str) -> None:
    _Loader.add_implicit_resolver(_TAG + name, re.compile(f"^(?:{pattern})$"), list(first))


_resolve("bool", "true|True|TRUE|false|False|FALSE", "tTfF")
_resolve("int", rf"[-+]?{_DIGITS}|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789")
_resolve(
    "float",
    rf"[-+]?(?:\.{_DIGITS}|{_DIGITS}(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    "-+0123456789.",
)
_resolve("null", "~|null|Null|NULL|", "~nN")
_Loader.add_implicit_resolver(_TAG + "null", re.compile("^$"), [""])
_resolve("merge", "<<", "<")


def parse_yaml(text: str, name: str) -> tuple[Any, dict[KeyPath, int]]:
    """Plain data (JSON's types) and the line, from 1, of every key and list item.

    ``name`` is what errors call the text. Raises ``ConfigError``.
    """
    try:
        node = _Loader(text).get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(
            f"{name}:{line}: character {chr(error.character)!r} is not allowed"
        ) from error
    except yaml.MarkedYAMLError as error:
        raise ConfigError(_syntax_error(error, name)) from error
    except RecursionError as error:
        raise ConfigError(f"{name}: nested deeper than {MAX_DEPTH} levels") from error
    if node is None:
        return None, {}
    builder = _Builder(name)
    return builder.build(node, ()), builder.lines


def _syntax_error(error: yaml.MarkedYAMLError, name: str) -> str:
    mark = error.problem_mark or error.context_mark
    where = f"{name}:{mark.line + 1}" if mark else name
    column = f" at column {mark.column + 1}" if mark else ""
    what = f"{error.context}, {error.problem}" if error.context else f"{error.problem}"
    hint = "; indent with spaces, not tabs" if r"'\t'" in what else ""
    return f"{where}: not YAML{column}: {what}{hint}"


class _Builder:
    """Walks the nodes of one document, keeping count, depth and lines."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[KeyPath, int] = {}
        self.count = 0

    def build(self, node: yaml.Node, path: KeyPath) -> Any:
        self.count += 1
        if self.count > MAX_VALUES:
            raise self._error(node, f"more than {MAX_VALUES:,} values")
        self._check_depth(node, len(path))
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self._item(item, (*path, i)) for i, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        raise self._error(node, f"tag {node.tag.replace(_TAG, '!!')} is not allowed")

    def _item(self, node: yaml.Node, path: KeyPath) -> Any:
        self.lines[path] = node.start_mark.line + 1
        return self.build(node, path)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        data = {}
        for key, (key_node, value_node) in self._entries(node, len(path)).items():
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            data[key] = self.build(value_node, (*path, key))
        return data

    def _entries(
        self, node: yaml.MappingNode, depth: int
    ) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Own keys first; then those of ``<<``, which never replace one."""
        self._check_depth(node, depth)
        entries: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                continue
            key = self._key(key_node)
            if key in entries:
                first = entries[key][0].start_mark.line + 1
                raise self._error(
                    key_node, f"key {key!r} is given twice, first on line {first}; remove one"
                )
            entries[key] = (key_node, value_node)
        for base in self._bases(node):
            for key, entry in self._entries(base, depth + 1).items():
                entries.setdefault(key, entry)
        return entries

    def _bases(self, node: yaml.MappingNode) -> Iterator[yaml.MappingNode]:
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                listed = isinstance(value_node, yaml.SequenceNode)
                for base in value_node.value if listed else [value_node]:
                    if not isinstance(base, yaml.MappingNode):
                        raise self._error(base, "'<<' takes a mapping or a list of mappings")
                    yield base

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self._error(node, "a key must be text, got a list or a mapping")
        key = self._scalar(node)
        if not isinstance(key, str):
            raise self._error(node, f"a key must be text, got {key!r}; put it in quotes")
        return key

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        convert = _SCALARS.get(node.tag)
        if convert is None:
            raise self._error(node, f"tag {node.tag.replace(_TAG, '!!')} is not allowed")
        try:
            return convert(node.value)
        except ValueError as error:
            raise self._error(node, f"{node.value[:40]!r}: {error}") from error

    def _check_depth(self, node: yaml.Node, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self._error(
                node, f"nested deeper than {MAX_DEPTH} levels (an anchor that holds itself?)"
            )

    def _error(self, node: yaml.Node, text: str) -> ConfigError:
        return ConfigError(f"{self.name}:{node.start_mark.line + 1}: {text}")


def _bool(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("not true or false")
    return text.lower() == "true"


def _int(text: str) -> int:
    if len(text) > 40:
        raise ValueError("number too long")
    return int(text, 0) if text[:2] in ("0o", "0x") else int(text)


def _float(text: str) -> float:
    special = text.lstrip("+-").lower() in (".inf", ".nan")
    number = math.nan if special else float(text)
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return number


def _text(text: str) -> str:
    """Joins a pair of surrogates, as JSON escapes them; half a pair could not be printed."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise ValueError("holds half of a surrogate pair") from error


_SCALARS: dict[str, Callable[[str], Any]] = {
    _TAG + "str": _text,
    _TAG + "int": _int,
    _TAG + "float": _float,
    _TAG + "bool": _bool,
    _TAG + "null": lambda _text: None,
    _MERGE: _text,
}
