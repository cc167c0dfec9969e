"""LiveCodeBench. Its private tests are a pickle in zlib in base64; nothing is unpickled here.

``pickle_text`` reads the one thing that such a pickle may hold, a text, from its opcodes: no
object is built, nothing is imported, nothing is called, whatever the file holds.
"""

from __future__ import annotations

import base64
import binascii
import pickletools
import zlib
from typing import Any

from cascade_rl_code.layouts.contests import contest
from cascade_rl_code.layouts.problem import BadRow, Problem, decoded, optional, text_of
from cascade_rl_code.layouts.tests import read_tests
from cascade_rl_code.options import Options

#: Bytes of one problem's tests when unpacked; the largest published are some tens of MB.
MAX_UNPACKED = 512 * 1024 * 1024

_TEXT = frozenset({"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"})
_HARMLESS = frozenset(
    {"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"}
)  # fmt: skip


def read(row: dict[str, Any], options: Options) -> Problem:
    """Public and private tests; functional ones name their function in ``metadata``."""
    metadata = decoded(row.get("metadata"), "metadata") or {}
    name = metadata.get("func_name") if isinstance(metadata, dict) else None
    tests = _tests(row.get("public_test_cases")) + _tests(row.get("private_test_cases"))
    if not tests:
        raise BadRow("there are no tests")
    plain, function = read_tests(tests, name)
    problem = contest(
        text_of(row, "question_content"), plain, function, options, {},
        starter=optional(row, "starter_code"),
    )  # fmt: skip
    number = optional(row, "question_id")
    kept = {key: row[key] for key in ("platform", "difficulty") if isinstance(row.get(key), str)}
    return Problem(
        problem.text,
        problem.truth,
        id=f"livecodebench-{number}" if number else None,
        starter=problem.starter,
        metadata=kept,
    )


def _tests(value: Any) -> list[Any]:
    if isinstance(value, str) and value.strip() and value.lstrip()[0] not in "[{":
        value = unpacked(value)
    tests = decoded(value, "tests")
    if tests is None:
        return []
    if not isinstance(tests, list):
        raise BadRow(f"tests are a {type(tests).__name__}, not a list")
    return tests


def unpacked(packed: str) -> str:
    """The text in a base64 zlib pickle. Raises ``BadRow`` for anything but a text."""
    unzip = zlib.decompressobj()
    try:
        data = unzip.decompress(base64.b64decode(packed, validate=True), MAX_UNPACKED)
    except (binascii.Error, zlib.error) as error:
        raise BadRow(f"private tests are not base64 of zlib: {error}") from error
    if unzip.unconsumed_tail:
        raise BadRow(f"private tests unpack to more than {MAX_UNPACKED} bytes")
    if not unzip.eof:
        raise BadRow("private tests are zlib data that is cut off")
    return pickle_text(data)


def pickle_text(data: bytes) -> str:
    """The text that a pickle consists of. Raises ``BadRow`` for a pickle of anything else."""
    found: list[str] = []
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in _TEXT:
                found.append(str(argument))
            elif opcode.name not in _HARMLESS:
                raise BadRow(f"a pickle with {opcode.name} in it: only a pickled text is read")
    except (ValueError, IndexError) as error:  # pickletools' words for damaged data
        raise BadRow(f"a damaged pickle: {error}") from error
    if len(found) != 1:
        raise BadRow(f"a pickle of {len(found)} texts; exactly one is read")
    return found[0]
