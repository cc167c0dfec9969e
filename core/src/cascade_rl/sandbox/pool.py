"""Guests that are lent one at a time: started when first needed, replaced when they die."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from cascade_rl.sandbox.errors import SandboxError
from cascade_rl.sandbox.guest_process import Guest
from cascade_rl.sandbox.link import GuestDied


class Slot:
    """The right to use one guest; the guest may be exchanged while it is held."""

    def __init__(self, start: Callable[[], Guest]) -> None:
        self._start = start
        self._guest: Guest | None = None
        self._closed = False

    def guest(self) -> Guest:
        """The guest, started now if there is none; raises ``GuestDied``."""
        if self._guest is None and not self._closed:
            self._guest = self._start()
        if self._guest is None or self._closed:
            raise GuestDied("this sandbox is closed")
        return self._guest

    def close(self) -> None:
        """Hang up, from any thread: whoever holds the slot finds its guest dead."""
        self._closed = True
        guest = self._guest
        if guest is not None:
            guest.hang_up()

    def discard(self) -> bool:
        """Kill the guest; returns whether the kernel had killed it for its runs' memory."""
        guest, self._guest = self._guest, None
        if guest is None:
            return False
        out_of_memory = guest.connection.ran_out_of_memory()
        guest.close()
        return out_of_memory


class GuestPool:
    """At most ``size`` slots. Thread-safe."""

    def __init__(self, start: Callable[[], Guest], size: int) -> None:
        self._free = threading.Semaphore(size)
        self._lock = threading.Lock()
        self._all = [Slot(start) for _ in range(size)]
        self._slots = list(self._all)
        self._closed = False

    @contextlib.contextmanager
    def slot(self) -> Iterator[Slot]:
        """Borrow a slot; blocks until one is free. Whatever escapes costs the guest its life."""
        with self._free:
            with self._lock:
                if self._closed:
                    raise SandboxError("this sandbox is closed")
                slot = self._slots.pop()  # the last one given back: its guest is warm
            try:
                yield slot
            except GeneratorExit:  # whoever reads the outcomes has had enough: all is well
                raise
            except BaseException:  # the guest may be in the middle of an answer
                slot.discard()
                raise
            finally:
                with self._lock:
                    self._slots.append(slot)
                    closed = self._closed
                if closed:
                    slot.discard()

    def close(self) -> None:
        """End all guests: the idle ones here, the others in the threads that hold them."""
        with self._lock:
            self._closed = True
            idle = list(self._slots)
        for slot in self._all:
            slot.close()
        for slot in idle:
            slot.discard()
