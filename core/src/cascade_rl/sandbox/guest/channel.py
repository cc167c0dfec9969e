"""The guest's end of the channel: length-prefixed JSON headers, each followed by raw bytes.

Test data must not stay in this process: an answer is a fork of it and could search its
memory. So bytes go from the channel to a memory file, and from memory files to the channel,
through one buffer that forks do not inherit.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
from collections.abc import Sequence
from typing import Any

from cascade_rl.sandbox.guest.watch import leave

_SEALS = 1 | 2 | 4 | 8  # F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE
_ADD_SEALS = 1033
_MFD = 1 | 2  # MFD_CLOEXEC | MFD_ALLOW_SEALING
_MFD_EXEC = 0x10
_decoder: Any = json.JSONDecoder()
_scan = _decoder.scan_once  # what json.loads ends in, without the layers above it


class Channel:
    """Headers and blobs over one stream."""

    def __init__(self, source: int, sink: int) -> None:
        self.source, self.sink = source, sink
        self._buffer = mmap.mmap(-1, 1 << 18)
        self._buffer.madvise(mmap.MADV_DONTFORK)
        self.view = memoryview(self._buffer)

    def receive(self) -> dict[str, Any]:
        """The next header. The guest ends when the host has hung up."""
        size = int.from_bytes(self._exactly(4), "little")
        header: dict[str, Any] = _scan(self._exactly(size).decode(), 0)[0]
        return header

    def receive_file(self, size: int) -> int:
        """The next ``size`` bytes as a sealed memory file, at its start."""
        fd = memory_file()
        if size:
            self.receive_into(fd, size)
            os.lseek(fd, 0, os.SEEK_SET)
        fcntl.fcntl(fd, _ADD_SEALS, _SEALS)
        return fd

    def receive_into(self, fd: int, size: int) -> None:
        """Write the next ``size`` bytes to ``fd``."""
        while size:
            part = self.view[: min(size, len(self.view))]
            got = os.readv(self.source, [part])
            if not got:
                leave()
            write_all(fd, part[:got])
            size -= got

    def send(self, header: dict[str, Any], parts: Sequence[tuple[int, int, int]] = ()) -> None:
        """Write a header and a part of each file: (descriptor, offset, size)."""
        self.send_text(json.dumps({**header, "bytes": sum(size for _, _, size in parts)}), parts)

    def send_text(self, header: str, parts: Sequence[tuple[int, int, int]] = ()) -> None:
        """The same for a header that is JSON already and counts the bytes of the parts."""
        text = header.encode()
        message = len(text).to_bytes(4, "little") + text
        if sum(part[2] for part in parts) <= len(self.view):
            self._send_at_once(message, parts)
            return
        write_all(self.sink, message)
        for fd, offset, size in parts:
            end = offset + size
            while offset < end:
                sent = os.sendfile(self.sink, fd, offset, end - offset)
                if not sent:
                    raise OSError("a file shrank while it was being sent")
                offset += sent

    def _send_at_once(self, message: bytes, parts: Sequence[tuple[int, int, int]]) -> None:
        end = 0
        for fd, offset, size in parts:
            if size and os.preadv(fd, [self.view[end : end + size]], offset) != size:
                raise OSError("a file shrank while it was being sent")
            end += size
        sent = os.writev(self.sink, [message, self.view[:end]])
        if sent < len(message) + end:
            write_all(self.sink, message[sent:])
            write_all(self.sink, self.view[max(0, sent - len(message)) : end])

    def send_bytes(self, header: dict[str, Any], data: memoryview) -> None:
        """Write a header and the bytes of a buffer."""
        self.send_text(json.dumps({**header, "bytes": len(data)}))
        write_all(self.sink, data)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = os.read(self.source, size - len(data))
            if not part:
                leave()
            data += part
        return data


def memory_file(executable: bool = False) -> int:
    """An empty file in memory; ``executable`` where the kernel makes that a choice."""
    if executable:
        try:
            return os.memfd_create("", _MFD | _MFD_EXEC)
        except OSError:  # before Linux 6.3 every one is
            pass
    return os.memfd_create("", _MFD)


def read_only(fd: int) -> int:
    """Exchange a memory file for a sealed, read-only view of it: what can be executed."""
    fcntl.fcntl(fd, _ADD_SEALS, _SEALS)
    os.fchmod(fd, 0o555)
    view = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    os.close(fd)
    return view


def write_all(fd: int, data: Any) -> None:
    """Write everything; the guest ends when nobody reads any more."""
    written = os.write(fd, data)
    if written == len(data):
        return
    rest = memoryview(data)[written:]
    while rest:
        rest = rest[os.write(fd, rest) :]
