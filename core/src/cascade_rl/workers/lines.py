"""Lines of JSON over a worker's descriptor, many in one read and one write.

For targets that answer a stream of small messages; ``Channel`` is for single calls. The two
share the descriptor: a target may switch to lines once it has read its boot message.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

READ_SIZE = 1 << 18


class LineBuffer:
    """Bytes in, whole lines out."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that ``data`` completes, without their ends."""
        if b"\n" not in data:
            self._parts.append(data)
            return []
        *lines, rest = data.split(b"\n")
        if self._parts:
            lines[0] = b"".join([*self._parts, lines[0]])
        self._parts = [rest] if rest else []
        return lines


def read_lines(fd: int) -> Iterator[bytes]:
    """Block for lines until the other end hangs up."""
    buffer = LineBuffer()
    while True:
        try:
            data = os.read(fd, READ_SIZE)
        except ConnectionResetError:
            return
        if not data:
            return
        yield from buffer.feed(data)


def write_line(fd: int, line: bytes) -> None:
    """Block until the line is written; raises ``OSError`` when the other end is gone."""
    rest = memoryview(line + b"\n")
    while rest:
        rest = rest[os.write(fd, rest) :]
