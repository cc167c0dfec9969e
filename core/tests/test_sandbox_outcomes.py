"""From a guest's report to an outcome: which rule decides, in which order, in which words."""

from __future__ import annotations

import signal

import pytest

from cascade_rl.sandbox import Limits, Outcome, Status
from cascade_rl.sandbox.outcomes import compile_outcome, last_line, outcome_of

LIMITS = Limits(cpu_s=2, wall_s=3, memory_mb=100, output_kb=4)
WELL = {
    "exit": 0, "signal": 0, "reason": "", "cpu_s": 0.25, "wall_s": 0.5, "peak_kb": 10 * 1024,
    "survivors": 0, "oom": False,
}  # fmt: skip


def judged(stdout=b"", stderr=b"", result=b"", memory_mb=100, **changes):
    sizes = {"stdout": len(stdout), "stderr": len(stderr), "result": len(result)}
    written = {"stdout_size": len(stdout), "stderr_size": len(stderr)}
    report = {**WELL, **sizes, **written, **changes}
    return outcome_of(report, stdout + stderr + result, LIMITS, memory_mb)


def test_everything_of_the_report_is_in_the_outcome():
    assert judged(b"out", b"err", b"[1]", survivors=2) == Outcome(
        status=Status.OK, exit_code=0, signal=0, stdout=b"out", stderr=b"err", returned=True,
        value=[1], cpu_s=0.25, wall_s=0.5, memory_mb=10.0, survivors=2, message="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"exit": 3}, "RE", "exit code 3"),
        ({"exit": 1, "stderr": b"Traceback\nKeyError: 5\n\n"}, "RE", "KeyError: 5"),
        ({"exit": None, "signal": signal.SIGSEGV}, "RE", "killed by SIGSEGV"),
        ({"exit": None, "signal": 40}, "RE", "killed by signal 40"),
        ({"exit": None, "signal": signal.SIGABRT, "stderr": b"free(): invalid\n"}, "RE",
         "killed by SIGABRT: free(): invalid"),
        ({"cpu_s": 2.5}, "TLE", "used 2.50 s of CPU time; the limit is 2 s"),
        ({"reason": "cpu", "exit": None, "signal": 9}, "TLE",
         "used 0.25 s of CPU time; the limit is 2 s"),
        ({"exit": None, "signal": signal.SIGXCPU, "cpu_s": 2.0}, "TLE",
         "used 2.00 s of CPU time; the limit is 2 s"),
        ({"reason": "idle", "exit": None, "signal": 9}, "ILE", "idle for more than 3 s"),
        ({"reason": "memory", "exit": None, "signal": 9}, "MLE",
         "used more memory than 100 MiB (peak of one process: 10 MiB)"),
        ({"oom": True, "exit": None, "signal": 9}, "MLE",
         "used more memory than 100 MiB (peak of one process: 10 MiB)"),
        ({"peak_kb": 100 * 1024 + 1}, "MLE",
         "used more memory than 100 MiB (peak of one process: 100 MiB)"),
        ({"exit": 1, "stderr": b"MemoryError\n"}, "MLE",
         "used more memory than 100 MiB (peak of one process: 10 MiB)"),
        ({"exit": None, "signal": 6, "stderr": b"what():  std::bad_alloc\n"}, "MLE",
         "used more memory than 100 MiB (peak of one process: 10 MiB)"),
        ({"stdout_size": 4097}, "OLE", "wrote more than 4 KiB"),
        ({"stderr_size": 4097, "exit": None, "signal": signal.SIGXFSZ}, "OLE",
         "wrote more than 4 KiB"),
        ({"reason": "output", "exit": None, "signal": 9}, "OLE", "wrote more than 4 KiB"),
        ({"reason": "starved", "wall_s": 99.0, "exit": None, "signal": 9}, "INFRA",
         "got no core for 99 s"),
        ({"stopped": True, "exit": None, "signal": 9}, "OK",
         "stopped: the other program had decided"),
        ({"stderr": b"a warning\n"}, "OK", "a warning"),
    ],
)  # fmt: skip
def test_the_rule_that_decides(changes, status, message):
    outcome = judged(**changes)
    assert (outcome.status, outcome.message) == (status, message)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        # A starved machine is at fault whatever else the numbers say.
        ({"reason": "starved", "cpu_s": 9.0, "oom": True}, "INFRA"),
        # What was killed for memory had often used too much time or output as well.
        ({"oom": True, "cpu_s": 9.0, "stdout_size": 9999}, "MLE"),
        # Words on standard error are the program's own: they are no excuse for slowness ...
        ({"cpu_s": 9.0, "exit": 1, "stderr": b"MemoryError\n"}, "TLE"),
        # ... and make nothing worse of a program that ends well.
        ({"stderr": b"MemoryError\n"}, "OK"),
        ({"stdout_size": 9999, "reason": "idle"}, "OLE"),
        ({"reason": "idle", "stopped": True}, "ILE"),
    ],
)
def test_the_first_rule_that_fits_decides(changes, status):
    assert judged(**changes).status == status


def test_the_language_has_its_own_share_of_memory():
    assert judged(peak_kb=150 * 1024, memory_mb=100).status is Status.MLE
    assert judged(peak_kb=150 * 1024, memory_mb=228).status is Status.OK


def test_output_is_cut_at_the_limit():
    outcome = judged(b"x" * 4097)
    assert (outcome.status, outcome.stdout) == (Status.OLE, b"x" * 4096)


def test_a_value_that_is_none_is_said_to_be_none():
    outcome = judged(result=b'{"i": "0x1", "x": 1}')
    assert (outcome.status, outcome.returned, outcome.value) == (Status.OK, False, None)
    assert outcome.message.startswith("not a value: ")
    failed = judged(result=b"[1]", exit=1)
    assert (failed.status, failed.returned) == (Status.RE, False)


@pytest.mark.parametrize(
    ("text", "line"),
    [(b"", ""), (b"a\n b \n\n", "b"), (b"\xff\n", "\N{REPLACEMENT CHARACTER}"), (b"y" * 999, "y" * 300)],
)  # fmt: skip
def test_last_line(text, line):
    assert last_line(text) == line


def test_what_a_compiler_did_is_ok_a_compile_error_or_nobodys_fault():
    assert compile_outcome(Outcome(Status.OK)).status is Status.OK
    assert compile_outcome(Outcome(Status.INFRA, message="x")).status is Status.INFRA
    said = b"a.cpp: In function\na.cpp:1:2: error: no such thing\nnote\n"
    failed = compile_outcome(Outcome(Status.RE, exit_code=1, stderr=said, message="note"))
    assert (failed.status, failed.message) == (Status.CE, "a.cpp:1:2: error: no such thing")
    assert failed.stdout == b""
    silent = compile_outcome(Outcome(Status.RE, exit_code=1, message="exit code 1"))
    assert (silent.status, silent.message) == (Status.CE, "exit code 1")
    slow = compile_outcome(Outcome(Status.TLE, message="used 9 s"))
    assert (slow.status, slow.message) == (Status.CE, "compiling exceeds a limit: used 9 s")
