"""Two guests in conversation: what one program writes, the other reads."""

from __future__ import annotations

import select
import time
from typing import Any

from cascade_rl.sandbox.guest_process import Guest
from cascade_rl.sandbox.link import GuestDied, pack

Report = tuple[dict[str, Any], bytes]


class Side:
    """One of the two: what is still to be sent to it, and its report once it has ended."""

    def __init__(self, guest: Guest) -> None:
        self.link = guest.link
        self.outbox = bytearray()
        self.said = bytearray()
        self.report: Report | None = None
        self._dismissed = False

    @property
    def fd(self) -> int:
        """Its descriptor."""
        return self.link.stream.fileno()

    def hear(self, other: Side) -> None:
        """Take in what has arrived and pass it on to the other side."""
        self.link.fill()
        while self.report is None and (message := self.link.next_message()) is not None:
            header, payload = message
            if "data" in header:
                self.said += payload
                other.tell({"data": True}, payload)
            elif "end" in header:
                other.tell({"end": True})
            else:
                self.report = (header, payload)
                self.dismiss()
                self.flush(len(self.outbox))  # it does nothing but read now
                other.tell({"end": True})

    def dismiss(self) -> None:
        """Queue, once, that the conversation is over; a program that still runs is killed."""
        if not self._dismissed:
            self._dismissed = True
            self.outbox += pack({"stop": True})

    def tell(self, header: dict[str, Any], payload: bytes = b"") -> None:
        """Queue a message; after the last one nothing more is heard."""
        if not self._dismissed:
            self.outbox += pack(header, payload)

    def flush(self, most: int = 4096) -> None:
        """Send some of what is queued: a writable socket takes so much without blocking."""
        part = bytes(self.outbox[:most])
        try:
            self.link.stream.sendall(part)
        except OSError as error:
            raise GuestDied(f"the channel is broken: {error}") from error
        del self.outbox[: len(part)]


def relay(program: Guest, judge: Guest, timeout_s: float) -> tuple[Side, Side]:
    """Pass bytes on both ways until both have ended; raises ``GuestDied``."""
    sides = (Side(program), Side(judge))
    deadline = time.monotonic() + timeout_s
    while any(side.report is None for side in sides):
        poll = select.poll()
        for side in sides:
            if side.report is None:
                poll.register(side.fd, select.POLLIN | (select.POLLOUT if side.outbox else 0))
        ready = dict(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))
        if not ready:
            raise GuestDied(f"no end of the conversation within {timeout_s:g} s")
        for side, other in (sides, sides[::-1]):
            event = ready.get(side.fd, 0)
            if event & ~select.POLLOUT:
                side.hear(other)
            if event & select.POLLOUT and side.outbox and side.report is None:
                side.flush()
        if sides[1].report is not None and sides[1].report[0]["exit"] != 0:
            sides[0].dismiss()  # it has failed: what else it does makes no difference
    return sides
