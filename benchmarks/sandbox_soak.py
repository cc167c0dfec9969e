"""A long life of one sandbox: 1,000 answers with 20 tests each, and what has piled up by then.

    python benchmarks/sandbox_soak.py [answers, default 1000] [tests each, default 20]

Two threads share two guests. Answers are right, wrong, crashing, forking processes that outlive
them, filling memory, writing too much, and (four programs again and again) C++. A row each
quarter: resident memory, descriptors, processes, control groups and temporary files. What the
parent keeps on purpose is the cache of compiled programs, up to 256 MiB: its size is a column.
Exits with 1 when something has piled up.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cascade_rl.sandbox import Limits, Program, Sandbox, Status, TestRun, open_sandbox
from cascade_rl.sandbox.cgroups import find_hierarchy

WORKERS = 2
LIMITS = Limits(memory_mb=128, output_kb=256, processes=16)
READ = "a, b = map(int, input().split())\n"
RIGHT, WRONG = READ + "print(a + b)", READ + "print(a - b)"
DAEMON = "import os, time\nif os.fork() == 0:\n  os.setsid()\n  time.sleep(99)\nprint(0)"
#: What an answer does, and the status that each of its tests must have; twenty in turn.
KINDS = [
    *[(RIGHT, Status.OK), (WRONG, Status.OK)] * 5,
    *[(READ + "print(a // 0)", Status.RE)] * 2,
    *[(DAEMON, Status.OK)] * 2,
    *[("kept = [bytes(1000) for _ in range(20_000)]\nprint(len(kept))", Status.OK)] * 2,
    ("kept = bytearray(b'x') * (1 << 28)", Status.MLE),
    ("while True: print('x' * 999)", Status.OLE),
    *[("", Status.OK)] * 2,  # C++
]
CPP = (
    '#include <cstdio>\nint main() {{ int a, b; if (scanf("%d%d", &a, &b) != 2) return 1;\n'
    'printf("%d\\n", a * {}); }}\n'
)
Row = dict[str, float]


def descendants(root: int) -> dict[int, tuple[int, str]]:
    """Process id -> (parent, state) of everything that descends from a process."""
    found: dict[int, tuple[int, str]] = {}
    everything = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        everything[int(folder.name)] = (int(fields[1]), fields[0])
    fresh = {root}
    while fresh:
        fresh = {pid for pid, (parent, _) in everything.items() if parent in fresh} - set(found)
        found |= {pid: everything[pid] for pid in fresh}
    return found


def resident_mb(pid: int) -> float:
    """Resident memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def descriptors(pid: int) -> int:
    """Open descriptors; -1 where only root may count them."""
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except PermissionError:
        return -1


def cgroups() -> int:
    """Control groups of this process' sandboxes."""
    hierarchy = find_hierarchy()
    parents = {hierarchy.memory, hierarchy.pids} - {None} if hierarchy else set()
    return sum(len(list(p.glob(f"cascade-rl-{os.getpid()}-*"))) for p in parents if p is not None)


def temporary_files() -> int:
    """Of anybody, in the places where a sandbox or an answer could leave some."""
    places = {tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"}
    return sum(len(list(Path(p).glob("*cascade-rl*"))) for p in places)


def measure(sandbox: Sandbox | None) -> Row:
    """One row of figures, all but the times."""
    gc.collect()
    me = os.getpid()
    tree = descendants(me)
    # A guest is the child of a bubblewrap, which is a child of ours.
    guests = [pid for pid, (parent, _) in tree.items() if tree.get(parent, (0, ""))[0] == me]
    return {
        "parent MB": resident_mb(me),
        "cache MB": getattr(sandbox, "_artifacts")._bytes / (1 << 20) if sandbox else 0,  # noqa: B009
        "guests": len(guests),
        "largest MB": max(map(resident_mb, guests), default=0),
        "parent fds": descriptors(me),
        "guest fds": max(map(descriptors, guests), default=0),
        "processes": len(tree),
        "zombies": sum(state == "Z" for _, state in tree.values()),
        "cgroups": cgroups(),
        "files": temporary_files(),
    }


def judge(sandbox: Sandbox, number: int, tests: int) -> float:
    """Run one answer on its tests; returns the slowest in seconds; an unexpected status raises."""
    runs = [TestRun(stdin=b"%d %d\n" % (n, n)) for n in range(tests)]
    source, wanted = KINDS[number % len(KINDS)]
    program = Program(f"{source}\n# {number} {'x' * 2000}")
    if not source:
        program = Program(CPP.format(number // len(KINDS) % 4), "cpp17")
    slowest = 0.0
    for outcome in sandbox.run(program, runs, LIMITS):
        if outcome.status is not wanted:
            raise AssertionError(f"answer {number}: {outcome}, not {wanted}: {outcome.stderr!r}")
        slowest = max(slowest, outcome.wall_s)
    return slowest


def soak(answers: int, tests: int, quarters: int = 4) -> Iterator[Row]:
    """A row before the first answer and after each quarter, then one with all closed."""
    started = time.monotonic()
    with open_sandbox("bubblewrap", workers=WORKERS) as sandbox:
        list(sandbox.run(Program(CPP.format(0), "cpp17"), [TestRun(stdin=b"1 1")]))
        yield {"answers": 0, "s": 0, "worst test s": 0, **measure(sandbox)}
        with ThreadPoolExecutor(WORKERS) as threads:
            for quarter in range(quarters):
                numbers = range(quarter * answers // quarters, (quarter + 1) * answers // quarters)
                worst = max(threads.map(lambda n: judge(sandbox, n, tests), numbers))
                row = {"answers": numbers.stop, "s": time.monotonic() - started}
                yield {**row, "worst test s": worst, **measure(sandbox)}
    yield {"answers": answers, "s": time.monotonic() - started, "worst test s": 0, **measure(None)}


def piled_up(rows: list[Row]) -> list[str]:
    """What grew from the first quarter's end to the last one's."""
    early, late, closed = rows[1], rows[-2], rows[-1]
    exact = ("guests", "parent fds", "guest fds", "processes", "cgroups", "files")
    grown = [name for name in exact if late[name] > early[name]]
    grown += [name for name in ("largest MB",) if late[name] > early[name] + 1]
    kept = late["parent MB"] - late["cache MB"] - early["parent MB"] + early["cache MB"]
    grown += ["parent MB beyond the cache"] if kept > 8 else []
    left = ("guests", "processes", "zombies", "cgroups")
    return grown + [f"{name} after closing" for name in left if closed[name]]


def main() -> int:
    """Print the table."""
    answers, tests = (int(word) for word in [*sys.argv[1:], *("1000", "20")[len(sys.argv) - 1 :]])
    rows: list[Row] = []
    for row in soak(answers, tests):
        if not rows:
            print(" ".join(f"{name:>12}" for name in row))
        rows.append(row)
        print(" ".join(f"{value:12.{0 if value == int(value) else 1}f}" for value in row.values()))
    grown = piled_up(rows)
    print(f"piled up: {', '.join(grown) or 'nothing'}")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
