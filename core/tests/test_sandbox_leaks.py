"""What a long life costs, and what is left when a parent is killed: nothing."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cascade_rl.sandbox import Limits, Program, Status, TestRun, open_sandbox
from cascade_rl.sandbox.cgroups import find_hierarchy

if shutil.which("bwrap") is None:
    pytest.skip("needs bubblewrap: apt-get install bubblewrap", allow_module_level=True)

SOAK = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "sandbox_soak.py"))
descendants = SOAK["descendants"]


def cgroups(pid):
    hierarchy = find_hierarchy()
    if hierarchy is None:
        return []
    return sorted(str(p) for p in hierarchy.memory.glob(f"cascade-rl-{pid}-*"))


@pytest.mark.slow
def test_a_hundred_answers_with_twenty_tests_each_leave_nothing():
    """benchmarks/sandbox_soak.py does the same with a thousand."""
    before = set(descendants(os.getpid())), cgroups(os.getpid()), SOAK["descriptors"](os.getpid())
    rows = list(SOAK["soak"](100, 20))
    print(*rows, sep="\n")
    assert [row["answers"] for row in rows] == [0, 25, 50, 75, 100, 100]
    assert SOAK["piled_up"](rows) == []
    assert (rows[-1]["files"], rows[-1]["zombies"]) == (rows[0]["files"], 0)
    after = set(descendants(os.getpid())), cgroups(os.getpid()), SOAK["descriptors"](os.getpid())
    assert after == before


def test_what_has_piled_up_is_found():
    flat = {"parent MB": 9.0, "cache MB": 1.0, "guests": 2, "largest MB": 9.0, "parent fds": 5,
            "guest fds": 5, "processes": 4, "zombies": 0, "cgroups": 2, "files": 0}  # fmt: skip
    closed = {**flat, "guests": 0, "processes": 0, "cgroups": 0}
    assert SOAK["piled_up"]([flat, flat, flat, closed]) == []
    for name in ("guests", "parent fds", "guest fds", "processes", "cgroups", "files"):
        late = {**flat, name: flat[name] + 1}
        assert SOAK["piled_up"]([flat, flat, late, closed]) == [name]
    late = {**flat, "parent MB": 99.0, "cache MB": 90.0, "largest MB": 12.0}
    assert SOAK["piled_up"]([flat, flat, late, closed]) == ["largest MB"]
    late = {**flat, "parent MB": 99.0}
    assert SOAK["piled_up"]([flat, flat, late, {**closed, "zombies": 1}]) == [
        "parent MB beyond the cache", "zombies after closing",
    ]  # fmt: skip


PARENT = """
import sys, threading
from cascade_rl.sandbox import *
sandbox = open_sandbox(sys.argv[1], workers=2)
source = sys.argv[2]
def go():
    for outcome in sandbox.run(Program(source), [TestRun()], Limits(cpu_s=600, wall_s=600)): pass
threads = [threading.Thread(target=go) for _ in range(2)]
for thread in threads: thread.start()
print("running", flush=True)
"""
BUSY = """
import os, time, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.setsid() if os.fork() == 0 else None
if os.fork() == 0: time.sleep(500)
while True: pass
"""


# Both guests, and four processes of BUSY in each; bubblewrap itself has two more.
@pytest.mark.parametrize(("kind", "wanted"), [("bubblewrap", 12), ("none", 10)])
def test_sigkill_of_the_parent_leaves_nothing(kind, wanted):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, kind, BUSY], stdout=subprocess.PIPE, start_new_session=True
    ) as parent:
        try:
            assert parent.stdout.readline() == b"running\n"
            deadline = time.monotonic() + 60
            while len(descendants(parent.pid)) < wanted:
                assert time.monotonic() < deadline, descendants(parent.pid)
                time.sleep(0.05)
            ours = set(descendants(parent.pid))
        finally:
            parent.kill()
    deadline = time.monotonic() + 20
    while alive := [pid for pid in ours if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.05)
    if find_hierarchy() is not None:  # its cgroups, empty now, go with the next sandbox
        source = "from cascade_rl.sandbox import *; open_sandbox().close()"
        subprocess.run([sys.executable, "-c", source], check=True, timeout=60)
        assert cgroups(parent.pid) == []


def test_closing_ends_runs_that_are_going_on():
    import threading

    sandbox = open_sandbox("bubblewrap")
    before = set(descendants(os.getpid()))
    outcomes = []
    limits = Limits(cpu_s=600, wall_s=600)
    program = Program("while True: pass")
    thread = threading.Thread(
        target=lambda: outcomes.extend(sandbox.run(program, [TestRun()], limits))
    )
    thread.start()
    time.sleep(0.5)
    sandbox.close()
    thread.join(20)
    assert not thread.is_alive()
    assert outcomes[0].status is Status.INFRA, outcomes
    assert not set(descendants(os.getpid())) & before


@pytest.mark.slow
def test_a_busy_machine_changes_no_verdict():
    burn = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(3 * (os.cpu_count() or 1))
    ]
    source = """
import time
end = time.process_time() + 0.3
while time.process_time() < end: pass
print(input())
"""
    try:
        with open_sandbox("bubblewrap", workers=2) as sandbox:
            tests = [TestRun(stdin=b"%d\n" % n) for n in range(3)]
            limits = Limits(cpu_s=0.5, wall_s=0.3)
            for _ in range(3):
                outcomes = list(sandbox.run(Program(source), tests, limits))
                assert [(o.status, o.stdout) for o in outcomes] == [
                    (Status.OK, b"%d\n" % n) for n in range(3)
                ], outcomes
                assert max(o.wall_s for o in outcomes) > 0.3
    finally:
        for process in burn:
            process.kill()
            process.wait()
