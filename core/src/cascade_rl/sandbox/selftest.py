"""A self-test: small hostile programs that show which limits and walls are real on this host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from cascade_rl.sandbox.base import Sandbox
from cascade_rl.sandbox.types import Limits, Outcome, Program, Status, TestRun

_LIMITS = Limits(cpu_s=0.5, wall_s=1.0, memory_mb=128, output_kb=256, processes=16)
#: Touching memory takes CPU time, on some virtual machines much of it.
_PATIENT = replace(_LIMITS, cpu_s=5.0, wall_s=5.0)
_SUM = "a, b = map(int, input().split())\nprint(a + b)\n"


@dataclass(frozen=True)
class Probe:
    """One program and what its outcome must be."""

    name: str
    source: str
    holds: Callable[[Outcome], bool]
    cure: str
    limits: Limits = _LIMITS


@dataclass(frozen=True)
class Finding:
    """What one probe found."""

    name: str
    ok: bool
    detail: str
    cure: str = ""


def _status(*allowed: Status) -> Callable[[Outcome], bool]:
    return lambda outcome: outcome.status in allowed


def _says(text: str) -> Callable[[Outcome], bool]:
    return lambda outcome: outcome.stdout.decode("utf-8", "replace").strip() == text


_NO_WALLS = "use the bubblewrap or docker backend"

PROBES = (
    Probe("runs a program", _SUM, _says("3"), "see the message"),
    Probe("CPU time", "while True: pass", _status(Status.TLE), "use Linux 5.3 or newer"),
    Probe(
        "idle time", "import time; time.sleep(60)", _status(Status.ILE), "use Linux 5.3 or newer"
    ),
    Probe(
        "memory",
        "kept = []\nwhile True: kept.append(bytearray(b'x') * (1 << 22))",
        _status(Status.MLE),
        "give this user a writable cgroup",
        _PATIENT,
    ),
    Probe(
        "memory of a process tree",
        "import os, time\n"
        "for _ in range(4):\n"
        "    if os.fork() == 0: break\n"
        "kept = bytearray(b'x') * (56 << 20)\n"
        "time.sleep(30)",
        _status(Status.MLE),
        "give this user a writable cgroup",
        _PATIENT,
    ),
    Probe("output", "while True: print('x' * 4096)", _status(Status.OLE), "see the message"),
    Probe(
        "processes",
        "import os, time\n"
        "made = 0\n"
        "try:\n"
        "    for _ in range(64):\n"
        "        if os.fork() == 0: time.sleep(30); os._exit(0)\n"
        "        made += 1\n"
        "except OSError: pass\n"
        "print('limited' if made <= 20 else made)",
        _says("limited"),
        "give this user a writable cgroup, or start as an ordinary user",
    ),
    Probe(
        "no network",
        "import socket\n"
        "try: socket.create_connection(('192.0.2.1', 9), 0.2); print('connected')\n"
        "except TimeoutError: print('reachable')\n"
        "except OSError: print('none')",
        _says("none"),
        _NO_WALLS,
    ),
    Probe(
        "no host files",
        "import os\n"
        f"home = {str(Path.home())!r}\n"
        "places = ['/etc/passwd', '/etc/shadow', '/etc/hostname', '/var/log', '/tmp', '/srv']\n"
        "places += [f'{home}/{name}' for name in ('.ssh', '.profile', '.bashrc', '.cache')]\n"
        "print([place for place in places if os.path.exists(place)])",
        _says("[]"),
        _NO_WALLS,
    ),
    Probe(
        "no writable files",
        "import os\n"
        "made = []\n"
        "for folder in ('/', '/tmp', '/dev', '/dev/shm', '/var/tmp', '/usr', '/proc'):\n"
        "    try: os.open(folder + '/cascade-probe', os.O_CREAT | os.O_RDWR); made += [folder]\n"
        "    except OSError: pass\n"
        "print(made)",
        _says("[]"),
        _NO_WALLS,
    ),
    Probe(
        "cannot kill its guard",
        "import os, signal\n"
        "for pid in (1, os.getppid()):\n"
        "    try: os.kill(pid, signal.SIGKILL)\n"
        "    except OSError: pass\n"
        "print('tried')",
        _says("tried"),
        _NO_WALLS,
    ),
    Probe(
        "nothing survives",
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0: time.sleep(600)\n"
        "    os._exit(0)\n"
        "os.wait()",
        lambda outcome: outcome.ok and outcome.survivors == 1,
        _NO_WALLS,
    ),
)


def self_test(sandbox: Sandbox) -> Iterator[Finding]:
    """Run every probe, each followed by a program that must still be judged right."""
    for probe in PROBES:
        (outcome,) = sandbox.run(Program(probe.source), [TestRun(stdin=b"1 2\n")], probe.limits)
        ok = probe.holds(outcome)
        detail = outcome.message or outcome.stdout[:200].decode("utf-8", "replace").strip()
        yield Finding(probe.name, ok, f"{outcome.status}: {detail}", "" if ok else probe.cure)
        (after,) = sandbox.run(Program(_SUM), [TestRun(stdin=b"1 2\n")])
        if after.stdout != b"3\n":
            yield Finding(f"the program after {probe.name!r}", False, after.message, _NO_WALLS)
    yield from _languages(sandbox)


def _languages(sandbox: Sandbox) -> Iterator[Finding]:
    for name, source in _HELLO.items():
        if name in sandbox.languages():
            (outcome,) = sandbox.run(Program(source, name), [TestRun()], Limits(cpu_s=10))
            yield Finding(name, outcome.stdout.strip() == b"hello", outcome.message or "runs")


_C = '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }'
_HELLO = {
    "c": _C,
    "cpp17": _C,
    "cpp20": _C,
    "java": 'class A { public static void main(String[] a) { System.out.println("hello"); } }',
    "rust": 'fn main() { println!("hello"); }',
    "go": 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello") }',
    "javascript": "console.log('hello')",
}
