"""The Docker backend against a real engine: started by ``make test-docker``, else skipped."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cascade_rl.sandbox import Call, Limits, Program, Status, TestRun, open_sandbox

HOST = os.environ.get("CASCADE_TEST_DOCKER_HOST")
IMAGE = os.environ.get("CASCADE_TEST_DOCKER_IMAGE")
pytestmark = pytest.mark.skipif(not IMAGE, reason="needs a Docker engine: run `make test-docker`")

HOSTILE = Path(__file__).parents[3] / "shared" / "hostile"
ADD = Program("a, b = map(int, input().split())\nprint(a + b)\n")
ONE_TWO = TestRun(stdin=b"1 2\n")
LIMITS = Limits(cpu_s=1, wall_s=2, memory_mb=256, output_kb=1024, processes=32)

#: Given program -> the statuses that it may have here. None of them has a right answer.
ALLOWED = {
    "h01": {"TLE", "RE"},
    "h02": {"MLE"},
    "h03": {"MLE", "TLE", "RE"},
    "h04": {"OLE"},
    "h05": {"RE"},
    "h08": {"RE"},
    "h17": {"ILE"},
    "h18": {"TLE"},
    "h20": {"OLE", "MLE"},
    "h21": {"TLE", "RE", "OK"},
    "h22": {"RE"},
    "h24": {"ILE"},
    "h25": {"RE", "MLE", "TLE"},
    "h27": {"TLE"},
    "h40": {"TLE", "RE"},
    "h41": {"MLE", "RE"},
    "h42": {"CE"},
    "h44": {"CE"},
}


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox("docker", image=IMAGE, docker_host=HOST) as opened:
        yield opened


def run(sandbox, source, test=ONE_TWO, limits=LIMITS, language="python"):
    (outcome,) = sandbox.run(Program(source, language), [test], limits)
    return outcome


def containers():
    import docker

    client = docker.DockerClient(base_url=HOST)
    try:
        # Without ignore_removed the list fails when one goes while it is being made.
        found = client.containers.list(
            all=True, filters={"label": "cascade-rl-sandbox"}, ignore_removed=True
        )
        return {container.id for container in found}
    finally:
        client.close()


def test_runs_programs_calls_and_compilers(sandbox):
    assert [o.stdout for o in sandbox.run(ADD, [ONE_TWO] * 3)] == [b"3\n"] * 3
    call = TestRun(call=Call("f", ((1, 2),)))
    assert run(sandbox, "def f(x): return [x, {3}]", call).value == [(1, 2), {3}]
    source = "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }"
    assert "cpp17" in sandbox.languages()
    assert run(sandbox, source, language="cpp17").stdout == b"3"


def test_conversations_cross_containers(sandbox):
    examiner = Program("assert candidate(2) == 4")
    exchange = sandbox.examine(Program("def f(x): return 2 * x"), examiner, {"candidate": "f"})
    assert exchange.judge.ok, exchange.judge
    exchange = sandbox.examine(Program("def f(x): return 3 * x"), examiner, {"candidate": "f"})
    assert (exchange.judge.status, exchange.judge.message) == (Status.RE, "AssertionError")


@pytest.mark.skipif(not HOSTILE.is_dir(), reason="needs ../shared/hostile beside the repository")
@pytest.mark.parametrize("path", sorted(HOSTILE.glob("h*")), ids=lambda path: path.stem)
def test_the_given_hostile_programs_are_contained(sandbox, path):
    language = "python" if path.suffix == ".py" else "cpp17"
    outcome = run(sandbox, path.read_text(), language=language)
    assert outcome.status in ALLOWED.get(path.stem[:3], {"OK", "RE"}), outcome
    assert outcome.stdout.split() != [b"3"] or not outcome.ok, outcome
    (after,) = sandbox.run(ADD, [ONE_TWO])
    assert after.stdout == b"3\n"
    assert after.survivors == 0


def test_no_file_can_be_written(sandbox):
    source = """
import os
written = []
for folder, _, _ in os.walk("/"):
    for flags in (os.O_CREAT | os.O_RDWR,):
        try:
            os.open(folder + "/mark", flags, 0o600)
            written.append(folder)
        except OSError:
            pass
for path in ("/proc/self/oom_score_adj", "/proc/1/oom_score_adj", "/dev/shm/x", "/dev/mqueue/x"):
    try:
        os.open(path, os.O_CREAT | os.O_RDWR)
        written.append(path)
    except OSError:
        pass
print(written)
"""
    assert run(sandbox, source, limits=Limits(cpu_s=10)).stdout == b"[]\n"


def test_the_container_has_no_network_and_no_privileges(sandbox):
    source = """
print(sorted(line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(int(status["CapEff"], 16), status["NoNewPrivs"].strip(), status["Seccomp"].strip())
"""
    assert run(sandbox, source).stdout == b"['lo']\n0 1 2\n"


def test_containers_go_when_the_sandbox_closes():
    before = containers()
    with open_sandbox("docker", image=IMAGE, docker_host=HOST) as other:
        assert next(other.run(ADD, [ONE_TWO])).ok
        (own,) = containers() - before
    assert own not in containers()


def test_sigkill_of_the_parent_ends_its_containers():
    before = containers()
    source = (
        "from cascade_rl.sandbox import *\n"
        f"s = open_sandbox('docker', image={IMAGE!r}, docker_host={HOST!r})\n"
        "print('up', flush=True)\n"
        "list(s.run(Program('import os\\nos.fork()\\nwhile True: pass'), [TestRun()], "
        "Limits(cpu_s=600)))\n"
    )
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout.readline() == b"up\n"
            (own,) = containers() - before
            time.sleep(0.5)
        finally:
            child.kill()
    deadline = time.monotonic() + 30
    while own in containers():
        assert time.monotonic() < deadline, "a container outlived its parent"
        time.sleep(0.1)
