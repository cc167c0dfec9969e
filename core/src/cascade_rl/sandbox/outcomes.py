"""From what a guest reports to an ``Outcome``: which limit it was, in one line for a person."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

from cascade_rl.sandbox.guest import values
from cascade_rl.sandbox.types import Limits, Outcome, Status

#: What runtimes say on standard error when they are refused memory.
_OUT_OF_MEMORY = (
    b"MemoryError",
    b"std::bad_alloc",
    b"java.lang.OutOfMemoryError",
    b"JavaScript heap out of memory",
    b"fatal error: runtime: out of memory",
    b"memory allocation of ",
)
_MESSAGE = 300

Report = dict[str, Any]


def outcome_of(report: Report, payload: bytes, limits: Limits, memory_mb: int) -> Outcome:
    """Judge one report by ``limits``; ``memory_mb`` is the program's share and its language's."""
    out, err = report["stdout"], report["stdout"] + report["stderr"]
    stdout, stderr, result = payload[:out], payload[out:err], payload[err:]
    report = {**report, "limit_mb": memory_mb, "said": stderr, "limits": limits}
    status, message = next(
        (status, message(report)) for status, test, message in _RULES if test(report)
    )
    returned, value = False, None
    if status is Status.OK and result:
        try:
            returned, value = True, values.loads(result)
        except values.NotPlain as error:
            message = str(error)
    return Outcome(
        status=status,
        exit_code=report["exit"],
        signal=report["signal"],
        stdout=stdout[: limits.output_kb * 1024],
        stderr=stderr,
        returned=returned,
        value=value,
        cpu_s=report["cpu_s"],
        wall_s=report["wall_s"],
        memory_mb=round(report["peak_kb"] / 1024, 1),
        survivors=report["survivors"],
        message=message,
    )


def _starved(report: Report) -> bool:
    return bool(report["reason"] == "starved")


def _too_slow(report: Report) -> bool:
    late = report["reason"] == "cpu" or report["signal"] == signal.SIGXCPU
    return bool(late or report["cpu_s"] > report["limits"].cpu_s)


def _too_large(report: Report) -> bool:
    over = report["peak_kb"] > report["limit_mb"] * 1024
    return bool(report["reason"] == "memory" or report["oom"] or over)


def _refused_memory(report: Report) -> bool:
    return report["exit"] != 0 and any(words in report["said"] for words in _OUT_OF_MEMORY)


def _too_much_output(report: Report) -> bool:
    largest = max(report["stdout_size"], report["stderr_size"], report["result"])
    return bool(report["reason"] == "output" or largest > report["limits"].output_kb * 1024)


def _idle(report: Report) -> bool:
    return bool(report["reason"] == "idle")


def _dismissed(report: Report) -> bool:
    return bool(report.get("stopped"))


def _failed(report: Report) -> bool:
    return bool(report["exit"] != 0)


def _last_words(report: Report) -> str:
    said = last_line(report["said"])
    if report["signal"]:
        name = _signal_name(report["signal"])
        return f"killed by {name}" + (f": {said}" if said else "")
    return said or f"exit code {report['exit']}"


def _too_slow_words(report: Report) -> str:
    return f"used {report['cpu_s']:.2f} s of CPU time; the limit is {report['limits'].cpu_s:g} s"


def _too_large_words(report: Report) -> str:
    peak = f"peak of one process: {report['peak_kb'] / 1024:.0f} MiB"
    return f"used more memory than {report['limits'].memory_mb} MiB ({peak})"


# The first rule that fits decides.
_RULES: tuple[tuple[Status, Callable[[Report], bool], Callable[[Report], str]], ...] = (
    (Status.INFRA, _starved, lambda r: f"got no core for {r['wall_s']:.0f} s"),
    (Status.MLE, _too_large, _too_large_words),
    (Status.TLE, _too_slow, _too_slow_words),
    (Status.MLE, _refused_memory, _too_large_words),
    (Status.OLE, _too_much_output, lambda r: f"wrote more than {r['limits'].output_kb} KiB"),
    (Status.ILE, _idle, lambda r: f"idle for more than {r['limits'].wall_s:g} s"),
    (Status.OK, _dismissed, lambda _: "stopped: the other program had decided"),
    (Status.RE, _failed, _last_words),
    (Status.OK, lambda _: True, lambda r: "" if r["result"] else last_line(r["said"])),
)


def last_line(text: bytes) -> str:
    """The last line with something in it, shortened."""
    lines = [line.strip() for line in text.decode("utf-8", "replace").splitlines()]
    return next((line[:_MESSAGE] for line in reversed(lines) if line), "")


def compile_outcome(ran: Outcome) -> Outcome:
    """What a compiler's run says of the program: OK, CE or INFRA."""
    if ran.status in (Status.OK, Status.INFRA):
        return ran
    lines = ran.stderr.decode("utf-8", "replace").splitlines()
    error = next((line.strip() for line in lines if "rror" in line), "")
    message = error[:_MESSAGE] if ran.status is Status.RE and error else ran.message
    if ran.status is not Status.RE:
        message = f"compiling exceeds a limit: {message}"
    return Outcome(
        status=Status.CE,
        exit_code=ran.exit_code,
        signal=ran.signal,
        stderr=ran.stderr,
        cpu_s=ran.cpu_s,
        wall_s=ran.wall_s,
        memory_mb=ran.memory_mb,
        message=message,
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
