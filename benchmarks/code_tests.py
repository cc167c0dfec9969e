"""Tests a second: the code pack's sandbox against what people use instead.

    python benchmarks/code_tests.py [--seconds 2] [--turns 3] [--rows "Python, pack" ...]

One answer with 10 trivial tests (read 20 numbers, print their sum), judged again and again by
two processes at once, each with a sandbox of its own. Rows:

    plain         one `python3 FILE` (or one run of the binary) a test, no sandbox, no limits
    bwrap         the same inside a fresh bubblewrap
    in-process    as the public HumanEval harness works: a Manager and a forked process an answer,
                  which runs the answer and its 10 asserts by `exec` (written anew for this)
    spawn, fork   `posix_spawn` of an empty static binary, `fork` of a bare interpreter: the floor

The rows take turns, so that other work on the machine meets all of them. For each: tests a
second of all its turns together, and the CPU time of the whole tree of processes a test, which
a busy machine changes less (of bwrap's inner processes nobody tells it, so theirs is missing).
A C++ answer is compiled once before its row begins; that time is in "first answer".
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from cascade_rl.sandbox import open_sandbox
from cascade_rl.types import Completion, Prompt
from cascade_rl_code import Options, close, open, reward  # noqa: A004 - the name of the hook

TESTS = 10
PROCESSES = 2
PYTHON = "import sys\ndata = sys.stdin.read().split()\nprint(sum(map(int, data[1:])))\n"
FUNCTION = "def total(numbers):\n    return sum(numbers)\n"
CPP = (
    "#include <iostream>\nint main() { long long n, s = 0, x; std::cin >> n;"
    ' while (n--) { std::cin >> x; s += x; } std::cout << s << "\\n"; }\n'
)
INPUTS = [[i * j for j in range(20)] for i in range(TESTS)]
STDIN = [f"{len(numbers)}\n{' '.join(map(str, numbers))}\n" for numbers in INPUTS]
WANTED = [f"{sum(numbers)}\n" for numbers in INPUTS]
ASSERTS = [f"assert total({numbers}) == {sum(numbers)}" for numbers in INPUTS]
BWRAP = [
    *("bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib"),
    *("--symlink", "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", "--proc", "/proc"),
    *("--dev", "/dev", "--die-with-parent", "--new-session"),
]

Row = Callable[[Path], Callable[[], int]]  # a folder to work in -> judge one answer, tests passed


def pack(truth: dict[str, Any], code: str, tag: str) -> Row:
    """The reward hook, as the engine calls it."""

    def prepare(_: Path) -> Callable[[], int]:
        options = Options()
        open(options)
        prompt = Prompt.from_text("p", "Sum.", ground_truth=truth)
        completion = Completion(text=f"```{tag}\n{code}```")
        return lambda: TESTS * int(reward(prompt, completion, options).score or 0)

    return prepare


def commands(words: Callable[[Path], list[str]], pass_stdin: bool = True) -> Row:
    """One subprocess a test; its output compared by text."""

    def prepare(folder: Path) -> Callable[[], int]:
        command = words(folder)

        def answer() -> int:
            passed = 0
            for given, wanted in zip(STDIN, WANTED, strict=True):
                ran = subprocess.run(command, input=given if pass_stdin else "", text=True,
                                     capture_output=True, timeout=30, check=False)  # fmt: skip
                passed += ran.stdout == wanted
            return passed

        return answer

    return prepare


def python_file(folder: Path) -> list[str]:
    """`python3 FILE`, as people write it."""
    path = folder / "answer.py"
    path.write_text(PYTHON)
    return ["/usr/bin/python3", str(path)]


def bwrapped_python(folder: Path) -> list[str]:
    """The same in bubblewrap."""
    path = python_file(folder)[1]
    return [*BWRAP, "--ro-bind", path, "/answer.py", "/usr/bin/python3", "/answer.py"]


def binary(folder: Path, source: str = CPP) -> str:
    """A static binary."""
    path = folder / "answer"
    (folder / "answer.cpp").write_text(source)
    subprocess.run(
        ["g++", "-O2", "-static", "-o", str(path), str(folder / "answer.cpp")], check=True
    )
    return str(path)


def bwrapped_binary(folder: Path) -> list[str]:
    """The binary in bubblewrap."""
    return [*BWRAP, "--ro-bind", binary(folder), "/answer", "/answer"]


def _execute(result: Any) -> None:
    namespace: dict[str, Any] = {}
    try:
        exec("\n".join([FUNCTION, *ASSERTS]), namespace)
        result.append("passed")
    except BaseException as error:
        result.append(f"failed: {error}")


def in_process(_: Path) -> Callable[[], int]:
    """A Manager and a forked process for every answer."""
    context = multiprocessing.get_context("fork")

    def answer() -> int:
        with context.Manager() as manager:
            result = manager.list()
            process = context.Process(target=_execute, args=(result,))
            process.start()
            process.join(timeout=4)
            return TESTS * int(list(result) == ["passed"])

    return answer


def spawns(folder: Path) -> Callable[[], int]:
    """The least that a test can cost: an empty static binary."""
    path = binary(folder, "int main() { return 0; }\n")

    def answer() -> int:
        for _ in range(TESTS):
            os.waitpid(os.posix_spawn(path, [path], {}), 0)
        return TESTS

    return answer


_FORKING = """
import os, sys
for line in sys.stdin:
    for _ in range(int(line)):
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
    print(flush=True)
"""


def forks(_: Path) -> Callable[[], int]:
    """The same for a warm interpreter that has imported nothing."""
    command = ["/usr/bin/python3", "-I", "-S", "-c", _FORKING]
    warm = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert warm.stdin is not None
    assert warm.stdout is not None
    given, done = warm.stdin, warm.stdout

    def answer() -> int:
        given.write(f"{TESTS}\n")
        given.flush()
        done.readline()
        return TESTS

    return answer


def _programs(language: str) -> dict[str, Any]:
    tests = [{"stdin": i, "stdout": o} for i, o in zip(STDIN, WANTED, strict=True)]
    return {"language": language, "tests": tests}


CALLS = {
    "language": "python",
    "function": "total",
    "tests": [{"args": [numbers], "returns": sum(numbers)} for numbers in INPUTS],
}
ASSERTED = {"language": "python", "tests": [{"assert": text} for text in ASSERTS]}

ROWS: dict[str, Row] = {
    "Python, pack": pack(_programs("python"), PYTHON, "python"),
    "Python, plain": commands(python_file),
    "Python, bwrap": commands(bwrapped_python),
    "Python calls, pack": pack(CALLS, FUNCTION, "python"),
    "Python asserts, pack": pack(ASSERTED, FUNCTION, "python"),
    "Python asserts, in-process": in_process,
    "Python, fork": forks,
    "C++, pack": pack(_programs("cpp"), CPP, "cpp"),
    "C++, plain": commands(lambda folder: [binary(folder)]),
    "C++, bwrap": commands(bwrapped_binary),
    "C++, spawn": spawns,
}


class Turn(NamedTuple):
    """What one process did in one turn, or several turns together."""

    tests: int
    wall_s: float
    cpu_s: float
    first_s: float


def tree_cpu_s(process: int) -> float:
    """CPU seconds of a process, of all that descend from it, and of those that it has reaped."""
    total, found = 0, [process]
    for pid in found:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            for task in Path(f"/proc/{pid}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:  # ended meanwhile: then its parent has its time
            continue
        total += sum(map(int, stat[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def work(name: str, seconds: float, results: Any) -> None:
    """One process: warm up, then judge answers until the time is over."""
    with tempfile.TemporaryDirectory() as folder:
        answer = ROWS[name](Path(folder))
        began = time.perf_counter()
        assert answer() == TESTS, name
        first = time.perf_counter() - began
        tests, cpu, began = 0, tree_cpu_s(os.getpid()), time.perf_counter()
        while time.perf_counter() - began < seconds:
            passed = answer()
            assert passed == TESTS, name
            tests += passed
        wall = time.perf_counter() - began
        results.put(Turn(tests, wall, tree_cpu_s(os.getpid()) - cpu, first))
    close()


def measure(name: str, seconds: float) -> list[Turn]:
    """One turn of a row: what each of its processes did."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [
        context.Process(target=work, args=(name, seconds, results)) for _ in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    turns = [results.get(timeout=60 + 5 * seconds) for _ in workers]
    for worker in workers:
        worker.join()
    return turns


def together(turns: list[Turn]) -> tuple[float, float, float]:
    """Tests a second, CPU seconds a test, seconds of the quickest first answer."""
    tests = sum(turn.tests for turn in turns)
    rate = PROCESSES * tests / sum(turn.wall_s for turn in turns)
    return rate, sum(turn.cpu_s for turn in turns) / tests, min(turn.first_s for turn in turns)


RATIOS = (
    ("Python, pack", "Python, plain"),
    ("Python, pack", "Python, bwrap"),
    ("Python asserts, pack", "Python asserts, in-process"),
    ("Python, pack", "Python, fork"),
    ("C++, pack", "C++, plain"),
    ("C++, pack", "C++, bwrap"),
    ("C++, pack", "C++, spawn"),
)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Tests a second of the code pack and of others.")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each turn (default 2)")
    parser.add_argument("--turns", type=int, default=3, help="of each row (default 3)")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS), metavar="ROW",
                        help=f"any of: {'; '.join(ROWS)}")  # fmt: skip
    return parser.parse_args()


def main() -> None:
    """Print every row and the ratios."""
    options = arguments()
    if shutil.which("bwrap") is None:
        raise SystemExit("bwrap is missing: apt-get install bubblewrap")
    with open_sandbox() as sandbox:
        print(sandbox.isolation)
    print(f"load before: {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs, {PROCESSES} processes")
    turns: dict[str, list[Turn]] = {name: [] for name in options.rows}
    for _ in range(options.turns):
        for name, done in turns.items():
            done += measure(name, options.seconds)
    rows = {name: together(done) for name, done in turns.items()}
    for name, (rate, cpu_s, first_s) in rows.items():
        print(f"{name:28} {rate:8.0f} tests/s  {cpu_s * 1e3:7.2f} ms of CPU a test"
              f"  first answer {first_s * 1e3:6.0f} ms")  # fmt: skip
    for one, other in RATIOS:
        if one in rows and other in rows:
            rate, cpu = rows[one][0] / rows[other][0], rows[other][1] / rows[one][1]
            known = "" if "bwrap" in other else f", {cpu:.2f} in CPU time"
            print(f"{one} / {other}: {rate:.2f} in tests/s{known}")
    print(f"load after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
