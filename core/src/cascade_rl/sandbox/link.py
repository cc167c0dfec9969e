"""The host's end of a channel to a guest: JSON headers, each followed by raw bytes.

Nothing that arrives here is trusted more than an answer is: lengths are bounded, headers are
plain JSON, and anything odd ends the guest.
"""

from __future__ import annotations

import json
import select
import struct
import time
from typing import Any, Protocol

MAX_HEADER = 1 << 20
MAX_PAYLOAD = 1 << 30
_READ = 1 << 16  # larger buffers are mapped anew for every read


class GuestDied(Exception):
    """The guest ended, hung or talked nonsense; its text says what is known."""


class Stream(Protocol):
    """What a link needs of a connection; a socket has it."""

    def fileno(self) -> int:
        """The descriptor to wait on."""
        ...

    def recv(self, size: int, /) -> bytes:
        """Some bytes, none at the end."""
        ...

    def sendall(self, data: bytes, /) -> None:
        """Write everything."""
        ...

    def shutdown(self, how: int, /) -> None:
        """Hang up, from any thread; whoever waits for data finds the end."""
        ...

    def close(self) -> None:
        """Hang up, and let go of the descriptor."""
        ...


class Link:
    """Messages over one stream."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._buffer = bytearray()

    def send(self, header: dict[str, Any], payload: bytes = b"") -> None:
        """Write one message; raises ``GuestDied``."""
        try:
            self.stream.sendall(pack(header, payload))
        except OSError as error:
            raise GuestDied(f"the channel is broken: {error}") from error

    def receive(self, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Wait for one message; raises ``GuestDied``, also when it takes too long."""
        deadline = time.monotonic() + timeout_s
        while (message := self.next_message()) is None:
            left = deadline - time.monotonic()
            if left <= 0 or not wait_readable(self.stream, left):
                raise GuestDied(f"no answer within {timeout_s:g} s")
            self.fill()
        return message

    def fill(self) -> None:
        """Read what has arrived; raises ``GuestDied`` at the end of the stream."""
        try:
            data = self.stream.recv(_READ)
        except OSError as error:
            raise GuestDied(f"the channel is broken: {error}") from error
        if not data:
            raise GuestDied("it hung up")
        self._buffer += data

    def next_message(self) -> tuple[dict[str, Any], bytes] | None:
        """The first whole message that has arrived, if there is one."""
        buffer = self._buffer
        if len(buffer) < 4:
            return None
        (size,) = struct.unpack_from("<I", buffer)
        if size > MAX_HEADER:
            raise GuestDied(f"a header of {size} bytes")
        if len(buffer) < 4 + size:
            return None
        header = _parse(buffer[4 : 4 + size])
        end = 4 + size + header["bytes"]
        if len(buffer) < end:
            return None
        payload = bytes(memoryview(buffer)[4 + size : end])
        del buffer[:end]
        return header, payload


def pack(header: dict[str, Any], payload: bytes = b"") -> bytes:
    """One message as bytes."""
    text = json.dumps({**header, "bytes": len(payload)}).encode()
    return struct.pack("<I", len(text)) + text + payload


def wait_readable(stream: Stream, timeout_s: float) -> bool:
    """Whether there is something to read within ``timeout_s``."""
    poll = select.poll()  # not select(): descriptors may be above 1,023
    poll.register(stream.fileno(), select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))


def _parse(text: bytearray) -> dict[str, Any]:
    try:
        header = json.loads(text)
        size = header["bytes"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise GuestDied(f"a header that is none: {error!r}") from error
    if not (isinstance(size, int) and 0 <= size <= MAX_PAYLOAD):
        raise GuestDied(f"a payload of {size!r} bytes")
    parsed: dict[str, Any] = header
    return parsed
