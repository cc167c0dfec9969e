"""What a long life costs, and what is left when a parent is killed: nothing."""

from __future__ import annotations

import gc
import os
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

TESTS = [TestRun(stdin=b"%d %d\n" % (n, n)) for n in range(20)]


def descendants(root):
    """Process id -> state of everything that descends from a process."""
    states, parents = {}, {}
    for name in os.listdir("/proc"):  # noqa: PTH208
        try:
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            states[int(name)], parents[int(name)] = fields[0], int(fields[1])
        except (OSError, ValueError):
            continue
    found, fresh = set(), {root}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return {pid: states[pid] for pid in found}


def cgroups(pid):
    hierarchy = find_hierarchy()
    if hierarchy is None:
        return []
    return sorted(str(p) for p in hierarchy.memory.glob(f"cascade-rl-{pid}-*"))


def temporary():
    return sorted(str(p) for p in Path("/tmp").glob("cascade-rl*"))


def resident_kb(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("no VmRSS")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208


def answers(sandbox, first, last):
    for number in range(first, last):
        kinds = (
            "a, b = map(int, input().split())\nprint(a + b)",
            "a, b = map(int, input().split())\nprint(a - b)",
            "import os\nif os.fork() == 0:\n  import time; time.sleep(99)\nprint(0)",
            "kept = [bytes(1000) for _ in range(1000)]\nprint(len(kept))",
        )
        source = f"{kinds[number % len(kinds)]}\n# {number} {'x' * 2000}"
        for outcome in sandbox.run(Program(source), TESTS):
            assert outcome.status is Status.OK, outcome


def measure(sandbox):
    gc.collect()
    guest = sandbox._answers._slots[0]._guest
    (inside,) = descendants(guest.connection._process.pid)
    return {
        "host_kb": resident_kb("self"),
        "guest_kb": resident_kb(inside),
        "host_fds": descriptors("self"),
        "guest_fds": descriptors(inside) if os.geteuid() == 0 else 0,
        "processes": sorted(descendants(os.getpid()).values()),
        "cgroups": len(cgroups(os.getpid())),
        "temporary": temporary(),
    }


#: 20 tests each; the full run is CASCADE_TEST_ANSWERS=1000.
ANSWERS = int(os.environ.get("CASCADE_TEST_ANSWERS", "60"))


@pytest.mark.slow
def test_many_answers_with_twenty_tests_each_leave_nothing():
    before = set(descendants(os.getpid())), cgroups(os.getpid()), descriptors("self")
    with open_sandbox("bubblewrap") as sandbox:
        answers(sandbox, 0, ANSWERS // 4)
        early = measure(sandbox)
        answers(sandbox, ANSWERS // 4, ANSWERS)
        late = measure(sandbox)
    print(early, late, sep="\n")
    assert late["processes"] == early["processes"]
    assert "Z" not in late["processes"]
    for name in ("host_fds", "guest_fds", "cgroups", "temporary"):
        assert late[name] == early[name], name
    assert late["guest_kb"] - early["guest_kb"] < 512, (early, late)
    # What the host keeps is the compile cache, 5 KiB or so an answer, up to its bound.
    assert late["host_kb"] - early["host_kb"] < 2048 + 10 * ANSWERS, (early, late)
    assert (set(descendants(os.getpid())), cgroups(os.getpid()), descriptors("self")) == before


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


@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
def test_sigkill_of_the_parent_leaves_nothing(kind):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, kind, BUSY], stdout=subprocess.PIPE, start_new_session=True
    ) as parent:
        assert parent.stdout.readline() == b"running\n"
        deadline = time.monotonic() + 20
        while len(descendants(parent.pid)) < (8 if kind == "bubblewrap" else 6):
            assert time.monotonic() < deadline, descendants(parent.pid)
            time.sleep(0.05)
        ours = set(descendants(parent.pid))
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
