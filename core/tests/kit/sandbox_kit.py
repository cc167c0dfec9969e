"""What the tests of the sandbox share: a small program, small limits, both ways to limit memory."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from cascade_rl.sandbox import Limits, Program, Status, TestRun
from cascade_rl.sandbox.bubblewrap import BubblewrapSandbox
from cascade_rl.sandbox.cgroups import find_hierarchy

HAS_BUBBLEWRAP = shutil.which("bwrap") is not None
NEEDS_BUBBLEWRAP = "needs bubblewrap: apt-get install bubblewrap"
needs_bubblewrap = pytest.mark.skipif(not HAS_BUBBLEWRAP, reason=NEEDS_BUBBLEWRAP)

ADD = Program("a, b = map(int, input().split())\nprint(a + b)\n")
ONE_TWO = TestRun(stdin=b"1 2\n")
LIMITS = Limits(cpu_s=0.5, wall_s=1, memory_mb=128, output_kb=256, processes=32)
#: For what fills the memory: touching it takes CPU time, on some virtual machines much of it.
PATIENT = replace(LIMITS, cpu_s=5, wall_s=10)


def each_way():
    """A fixture: a bubblewrap sandbox with cgroups and one without.

    An ordinary user has no cgroup to make, as a rule: then there is one way only.
    """
    ways = ["cgroups", "no cgroups"] if find_hierarchy() else ["no cgroups"]

    @pytest.fixture(scope="module", params=ways)
    def sandbox(request):
        with BubblewrapSandbox(1, use_cgroups=request.param == "cgroups") as opened:
            yield opened

    return sandbox


def run(sandbox, source, test=ONE_TWO, limits=LIMITS, language="python"):
    """How one program ends."""
    (outcome,) = sandbox.run(Program(source, language), [test], limits)
    return outcome


def still_well(sandbox):
    """Whether the next answer is judged right, and leaves nothing."""
    (after,) = sandbox.run(ADD, [ONE_TWO])
    return (after.status, after.stdout, after.survivors) == (Status.OK, b"3\n", 0)
