"""Programs that mean harm: each is contained, the next answer is judged right, nothing is left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sandbox_kit import (
    ADD,
    HAS_BUBBLEWRAP,
    LIMITS,
    NEEDS_BUBBLEWRAP,
    ONE_TWO,
    PATIENT,
    each_way,
    run,
    still_well,
)

from cascade_rl.sandbox import Call, Limits, Program, Status, TestRun, open_sandbox

if not HAS_BUBBLEWRAP:
    pytest.skip(NEEDS_BUBBLEWRAP, allow_module_level=True)

GIVEN = Path(__file__).parents[3] / "shared" / "hostile"
sandbox = each_way()


#: What the name of a given program begins with -> the statuses it may have.
GIVEN_STATUS = {
    "h01": {"TLE", "RE"},
    "h02": {"MLE"},
    "h03": {"MLE"},
    "h04": {"OLE"},
    "h05": {"RE"},
    "h08": {"RE"},
    "h17": {"ILE"},
    "h18": {"TLE"},
    "h20": {"OLE"},
    "h21": {"TLE", "RE", "OK"},
    "h22": {"RE"},
    "h24": {"ILE"},
    "h25": {"MLE", "TLE", "RE"},
    "h27": {"TLE"},
    "h40": {"TLE", "RE"},
    "h41": {"MLE"},
    "h42": {"CE"},
    "h44": {"CE"},
}


@pytest.mark.skipif(not GIVEN.is_dir(), reason="needs ../shared/hostile beside the repository")
@pytest.mark.parametrize("path", sorted(GIVEN.glob("h*")), ids=lambda path: path.stem)
def test_given(sandbox, path):
    language = "python" if path.suffix == ".py" else "cpp17"
    if language not in sandbox.languages():
        pytest.skip("g++ is not installed")
    allowed = GIVEN_STATUS.get(path.stem[:3], {"OK"})
    limits = PATIENT if "MLE" in allowed else LIMITS
    outcome = run(sandbox, path.read_text(), language=language, limits=limits)
    assert outcome.status in allowed, outcome
    assert not (outcome.ok and outcome.stdout.split() == [b"3"])
    assert still_well(sandbox)


_LIBC = "import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\n"

REFUSED = {
    "unshare": _LIBC + "print(c.unshare(0x10000000))",
    "clone with a user namespace": _LIBC + "print(c.syscall(56, 0x10000011, 0, 0, 0, 0))",
    "clone3": _LIBC + "print(c.syscall(435, 0, 0))",
    "mount": _LIBC + "print(c.mount(b'none', b'/', b'tmpfs', 0, None))",
    "ptrace of the guard": _LIBC + "print(c.ptrace(16, 1, 0, 0))",
    "limits of the guard": _LIBC + "print(c.prlimit(1, 7, ctypes.create_string_buffer(16), None))",
    "a socket": _LIBC + "print(c.socket(2, 1, 0))",
    "a netlink socket": _LIBC + "print(c.socket(16, 3, 0))",
    "shared memory": _LIBC + "print(c.shmget(1, 4096, 0o1600))",
    "a message queue": _LIBC + "print(c.mq_open(b'/x', 0o102, 0o600, None))",
    "io_uring": _LIBC + "print(c.syscall(425, 8, ctypes.create_string_buffer(120)))",
    "a key": _LIBC + "print(c.syscall(248, b'user', b'x', b'y', 1, -3))",
    "bpf": _LIBC + "print(c.syscall(321, 0, 0, 0))",
    "watching files": _LIBC + "print(c.inotify_init1(0))",
    "watching all files": _LIBC + "print(c.fanotify_init(0, 0))",
    "faults handled in user space": _LIBC + "print(c.syscall(323, 1))",
    "secret memory": _LIBC + "print(c.syscall(447, 0))",
    "performance counters": _LIBC
    + "print(c.syscall(298, ctypes.create_string_buffer(128), 0, -1, -1, 0))",
    "a session's keys": _LIBC + "print(c.syscall(250, 0, -3, 0))",
    "the guard's memory": _LIBC + "print(c.syscall(310, 1, 0, 0, 0, 0, 0))",
    "the guard's descriptors": _LIBC + "print(c.syscall(438, c.syscall(434, 1, 0), 0, 0))",
    "the guard's pages": _LIBC + "print(c.syscall(440, c.syscall(434, 1, 0), 0, 0, 21, 0))",
    "seizing the guard": _LIBC + "print(c.ptrace(0x4206, 1, 0, 0))",
    "an abstract socket": "import socket\ntry: socket.socket(socket.AF_UNIX).bind('\\0x')\n"
    "except OSError: print(-1)",
    "a socket to the host": _LIBC + "print(c.socket(40, 1, 0))",
    "the other system calls of x86": _LIBC + "print(c.syscall(0x40000000 + 41, 2, 1, 0))",
    "no seccomp": _LIBC + "print(c.prctl(22, 0, 0, 0, 0))",
    "privileges again": _LIBC + "print(c.prctl(38, 0, 0, 0, 0))",
    "another clock": _LIBC + "print(c.clock_settime(0, ctypes.create_string_buffer(16)))",
    "another priority": "import os\ntry: print(os.nice(-5))\nexcept OSError: print(-1)",
    "another processor": "import os\ntry: os.sched_setaffinity(0, {0}); print(0)\n"
    "except OSError: print(-1)",
    "memory that stays": _LIBC + "print(c.mlockall(3))",
    "a terminal": "import os\ntry: print(os.open('/dev/ptmx', os.O_RDWR))\n"
    "except OSError: print(-1)",
    "its own memory as a file": "try: open('/proc/self/mem', 'r+b')\n"
    "except OSError: print(-1)",
    "its input": "import os\ntry: os.write(os.open('/proc/self/fd/0', os.O_RDWR), b'9 9')\n"
    "except OSError: print(-1)",
    "a link into proc": "import os\ntry: os.symlink('/proc/1/mem', '/dev/shm/link')\n"
    "except OSError: print(-1)",
    "personality": _LIBC + "print(c.personality(0x0040000))",
    "more privileges": "import os\ntry: os.setuid(0); print(0)\nexcept OSError: print(-1)",
    "a higher limit": "import resource as r\ntry: r.setrlimit(r.RLIMIT_CPU, (99, 99)); print(0)\n"
    "except (OSError, ValueError): print(-1)",
}  # fmt: skip


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
@pytest.mark.parametrize("name", list(REFUSED))
def test_refused(sandbox, name):
    assert run(sandbox, REFUSED[name]).stdout == b"-1\n"
    assert still_well(sandbox)


def test_no_path_can_be_written(sandbox):
    source = """
import os
made = []
def attempt(path, flags):
    try:
        os.close(os.open(path, flags, 0o600))
        made.append(path)
    except OSError:
        pass
for folder, _, files in os.walk("/", onerror=None):
    if folder.count("/") > 3 and not folder.startswith(("/dev", "/proc/1/", "/proc/self/")):
        continue
    attempt(folder + "/mark", os.O_CREAT | os.O_RDWR)
    attempt(folder, os.O_TMPFILE | os.O_RDWR)
    for name in files:
        if not folder.startswith(("/proc", "/dev")):
            attempt(folder + "/" + name, os.O_WRONLY)
for path in ("/proc/self/oom_score_adj", "/proc/1/oom_score_adj", "/proc/sys/kernel/core_pattern",
             "/proc/self/uid_map", "/dev/full", "/dev/zero", "/dev/random", "/dev/tty"):
    attempt(path, os.O_WRONLY)
print(made)
"""
    outcome = run(sandbox, source, limits=Limits(cpu_s=20, wall_s=30))
    assert outcome.stdout == b"[]\n", outcome


def test_no_state_is_left_between_runs(sandbox):
    source = """
import ctypes, mmap, multiprocessing.shared_memory as shared, os
for path in ("/tmp/x", "/dev/shm/x", "/x", "/var/tmp/x"):
    try: os.mkdir(path)
    except OSError: pass
    try: os.symlink("/etc", path)
    except OSError: pass
try: shared.SharedMemory("x", create=True, size=4096); print("kept")
except OSError: pass
try: fd = os.memfd_create("x"); os.write(fd, b"x"); os.set_inheritable(fd, True)
except PermissionError: pass  # where no cgroup counts them
print([p for p in ("/tmp/x", "/dev/shm/x", "/x", "/var/tmp/x") if os.path.lexists(p)])
"""
    for _ in range(2):
        assert run(sandbox, source).stdout == b"[]\n"


def test_only_three_descriptors_are_open(sandbox):
    source = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1])"
    assert run(sandbox, source).stdout == b"[0, 1, 2]\n"
    native = (
        "#include <fcntl.h>\n#include <cstdio>\n"
        "int main() { for (int i = 3; i < 300; i++) if (fcntl(i, F_GETFD) != -1) puts(\"open\"); }"
    )  # fmt: skip
    if "cpp17" in sandbox.languages():
        outcome = run(sandbox, native, language="cpp17")
        assert (outcome.status, outcome.stdout) == (Status.OK, b"")


def test_the_guard_cannot_be_read(sandbox):
    source = """
import os
seen = []
for name in ("mem", "environ", "maps", "auxv", "fd/100", "cwd", "root/etc", "syscall", "stack"):
    try: open("/proc/1/" + name, "rb").read(1); seen.append(name)
    except OSError: pass
try: seen += os.listdir("/proc/1/fd")
except OSError: pass
print(seen)
"""
    assert run(sandbox, source).stdout == b"[]\n"


def test_what_earlier_runs_read_and_wrote_is_nowhere_in_memory(sandbox):
    secret = b"SECRET" + os.urandom(12).hex().encode()
    echo = "import sys; text = sys.stdin.read(); print(text); print(text, file=sys.stderr)"
    (first,) = sandbox.run(Program(echo), [TestRun(stdin=secret * 50)])
    assert first.stdout.count(secret) == 50
    called = TestRun(call=Call("f", (secret.decode() * 20,)))
    (second,) = sandbox.run(Program("def f(x): return x + x"), [called])
    assert second.value == secret.decode() * 40
    search = """
import ctypes, re
wanted = input().encode()[::-1]
hits = 0
for line in open("/proc/self/maps").readlines():
    first, last, kind = re.match(r"(\\w+)-(\\w+) (\\S+)", line).groups()
    if "r" in kind and "[v" not in line:
        memory = ctypes.string_at(int(first, 16), int(last, 16) - int(first, 16))
        hits += memory.count(wanted)
        del memory
print(hits)
"""
    (third,) = sandbox.run(Program(search), [TestRun(stdin=secret[::-1])], Limits(cpu_s=10))
    assert int(third.stdout) <= 4, third  # its own copies of what it looks for
    control = search.replace(
        "hits = 0", "hits = 0; mine = [bytes(wanted) + b'!' for _ in range(9)]"
    )
    (fourth,) = sandbox.run(Program(control), [TestRun(stdin=secret[::-1])], Limits(cpu_s=10))
    assert int(fourth.stdout) >= int(third.stdout) + 9, fourth


def test_the_stack_holds_nothing_of_other_tests(sandbox):
    source = """
import sys, gc
frame, words = sys._getframe(), []
while frame:
    words += [repr(frame.f_locals), repr(list(frame.f_globals))]
    frame = frame.f_back
words += [repr(o) for o in gc.get_objects() if isinstance(o, (dict, list, tuple, bytes, str))]
print(any("".join(["OTH", "ER1"]) in word for word in words))
"""
    tests = [TestRun(stdin=b"OTHER1"), TestRun(stdin=b"OTHER2")]
    outcomes = list(sandbox.run(Program(source), tests, Limits(cpu_s=20)))
    assert [o.stdout for o in outcomes] == [b"False\n", b"False\n"]


DAEMON = """
import os, signal, time
for number in range(1, 65):
    try: number == signal.SIGCHLD or signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(1)
    os._exit(0)
os.wait()
print("3")
"""


def test_a_daemon_is_killed_and_counted(sandbox):
    outcome = run(sandbox, DAEMON)
    assert (outcome.status, outcome.survivors) == (Status.OK, 1)
    alone = run(sandbox, "import os; print([p for p in os.listdir('/proc') if p.isdigit()])")
    assert alone.stdout.count(b"'") == 4  # process 1 and itself


@pytest.mark.parametrize(
    "source",
    [
        "import os, json\ndef f(x):\n  for fd in range(99):\n    try: os.write(fd, b'[1, 2]')\n"
        "    except OSError: pass\n  os._exit(0)",
        "import os\ndef f(x):\n  os.write(3, b'[' * 200_000)\n  os._exit(0)",
        "import os\ndef f(x):\n  os.write(3, b'9' * 200_000)\n  os._exit(0)",
        "import os\ndef f(x):\n  os.write(3, b'{\"s\": [[1]]}')\n  os._exit(0)",
        'import os\ndef f(x):\n  os.write(3, b\'{"i": "0x1", "t": []}\')\n  os._exit(0)',
        "import os\ndef f(x): os._exit(0)",
        "import sys\ndef f(x): sys.exit(0)",
        "class E:\n  def __eq__(s, o): return True\ndef f(x): return E()",
        "def f(x):\n  x = []\n  x.append(x)\n  return x",
        "def f(x): return f",
    ],
)
def test_forged_values_are_no_values(sandbox, source):
    outcome = run(sandbox, source, TestRun(call=Call("f", (1,))))
    assert outcome.status is not Status.INFRA
    assert not outcome.returned or type(outcome.value) is not int
    assert still_well(sandbox)


def test_subclasses_arrive_as_what_they_hold(sandbox):
    source = """
class L(list):
    def __eq__(self, other): return True
    def __iter__(self): return iter([3])
class I(int):
    def __eq__(self, other): return True
    def __index__(self): return 3
    def __int__(self): return 3
class S(str):
    def __str__(self): return "3"
class F(float):
    def __float__(self): return 3.0
def f(): return [L([1]), I(5), S("x"), F(0.5), True]
"""
    outcome = run(sandbox, source, TestRun(call=Call("f")))
    assert outcome.value == [[1], 5, "x", 0.5, True]
    assert [type(each) for each in outcome.value] == [list, int, str, float, bool]


def test_killing_the_guest_itself_is_no_way_to_stay_unscored(sandbox, monkeypatch):
    """No program can kill its guest; were one to find a way, it would still be its own doing."""
    real = sandbox._run_one.__func__.__globals__["run_request"]

    def deadly(*arguments):
        header, payload = real(*arguments)
        return {**header, "role": "no such role"}, payload

    monkeypatch.setitem(sandbox._run_one.__func__.__globals__, "run_request", deadly)
    outcome = run(sandbox, "print('never')")
    monkeypatch.undo()
    assert outcome.status is Status.RE
    assert still_well(sandbox)


def test_answers_and_checkers_never_share_a_guest():
    with open_sandbox("bubblewrap") as sandbox:
        (checked,) = sandbox.check(ADD, [ONE_TWO])
        assert checked.stdout == b"3\n"
        assert sandbox._answers._slots[0]._guest is not sandbox._judges._slots[0]._guest
