"""A run whose standard input and output are passed on to the host while it runs."""

from __future__ import annotations

import mmap
import os
import select
import signal
import time
from typing import Any

from cascade_rl.sandbox.guest.channel import Channel, memory_file
from cascade_rl.sandbox.guest.run import (
    WITHOUT_RESULT,
    Oom,
    Streams,
    receive_files,
    send_report,
    start,
)
from cascade_rl.sandbox.guest.watch import Watch, leave


class Talk:
    """Bytes from the host to the child's standard input, and from its output to the host.

    What the host says is kept in memory that forks do not inherit, like all test data.
    """

    def __init__(self, channel: Channel, stdin: int, stdout: int, limits: dict[str, Any]) -> None:
        self.channel, self.stdin, self.stdout = channel, stdin, stdout
        self.left = limits["output"]
        self.stopped = False
        self._ended = False
        self._buffer = mmap.mmap(-1, limits["input"])
        self._buffer.madvise(mmap.MADV_DONTFORK)
        self._view = memoryview(self._buffer)
        self._start = self._end = 0
        for fd in (stdin, stdout):
            os.set_blocking(fd, False)

    def pump(self, watch: Watch) -> None:
        """Pass bytes on until the child has ended or is over a limit."""
        due = time.monotonic() + watch.pause_s()
        while not watch.reason and watch.status is None and not self.stopped:
            ready = self._ready(watch.pidfd, max(0.0, due - time.monotonic()))
            if self.channel.source in ready:
                self._from_host()
            if self.stdin in ready:
                self._to_child(ready_to_write=True)
            if self.stdout in ready:
                self._from_child(watch)
            if watch.pidfd in ready:
                break
            if time.monotonic() >= due:
                watch.look()
                due = time.monotonic() + watch.pause_s()
        while self.stdout >= 0 and not watch.reason and self._from_child(watch):
            pass

    def close(self) -> None:
        """Close both pipes, and wait until the host has understood that the talk is over."""
        self._close_stdin()
        if self.stdout >= 0:
            os.close(self.stdout)
        while not self.stopped:
            self._from_host()
        self._view.release()
        self._buffer.close()

    def _ready(self, pidfd: int, timeout_s: float) -> set[int]:
        poll = select.poll()
        for fd in (pidfd, self.channel.source):
            poll.register(fd, select.POLLIN)
        if self.stdout >= 0:
            poll.register(self.stdout, select.POLLIN)
        if self.stdin >= 0:
            poll.register(self.stdin, select.POLLOUT if self._start < self._end else 0)
        return {fd for fd, _ in poll.poll(timeout_s * 1000)}

    def _from_host(self) -> None:
        message = self.channel.receive()
        end = self._end + message["bytes"]
        while self._end < end:
            got = os.readv(self.channel.source, [self._view[self._end : end]])
            if not got:
                leave()
            self._end += got
        self._ended = self._ended or "end" in message
        self.stopped = self.stopped or "stop" in message
        self._to_child()

    def _to_child(self, ready_to_write: bool = False) -> None:
        if ready_to_write and self._start == self._end:  # not asked for: nobody reads any more
            self._close_stdin()
        try:
            while self.stdin >= 0 and self._start < self._end:
                self._start += os.write(self.stdin, self._view[self._start : self._end])
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._ended = True
        if self._ended:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
        self.stdin = -1

    def _from_child(self, watch: Watch) -> bool:
        view = self.channel.view
        try:
            size = os.readv(self.stdout, [view])
        except BlockingIOError:
            return False
        if not size:
            os.close(self.stdout)
            self.stdout = -1
            self.channel.send({"end": True})
            return False
        self.left -= size
        if self.left < 0:
            watch.reason = "output"
            return False
        self.channel.send_bytes({"data": True}, view[:size])
        return True


def talk(channel: Channel, job: dict[str, Any], oom: Oom) -> None:
    """Handle one "talk" request."""
    files = receive_files(channel, job)
    child_in, ours_out = os.pipe2(os.O_CLOEXEC)
    ours_in, child_out = os.pipe2(os.O_CLOEXEC)
    prints = memory_file()
    result = -1 if job["role"] in WITHOUT_RESULT else prints
    streams = Streams(child_in, child_out, memory_file(), result)
    pid = start(job, streams, files)
    for fd in (child_in, child_out, *files):
        os.close(fd)
    watch = Watch(pid, job["limits"])
    pump = Talk(channel, ours_out, ours_in, job["limits"])
    pump.pump(watch)
    report = watch.finish()
    report["oom"] = oom.happened()
    # Only what our kill has ended: the word to stop may meet a program that is just ending itself.
    report["stopped"] = pump.stopped and report["signal"] == signal.SIGKILL
    left_over = Streams(-1, prints, streams.stderr, -1)
    send_report(channel, report, left_over, job["limits"]["output"])
    pump.close()
    os.close(prints)
    os.close(streams.stderr)
