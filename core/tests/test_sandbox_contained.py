"""More hostile programs: storms, floods, hidden CPU time, compilers as a way in. None gets out."""

from __future__ import annotations

import os
import shutil

import pytest
from sandbox_kit import (
    HAS_BUBBLEWRAP,
    LIMITS,
    NEEDS_BUBBLEWRAP,
    PATIENT,
    each_way,
    run,
    still_well,
)

from cascade_rl.sandbox import Limits, Program, Status
from cascade_rl.sandbox.bubblewrap import BubblewrapSandbox

if not HAS_BUBBLEWRAP:
    pytest.skip(NEEDS_BUBBLEWRAP, allow_module_level=True)

sandbox = each_way()


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", "import os; os.write(os.memfd_create('x'), b'x'); print('made')"),
        (
            "cpp17",
            "#include <sys/mman.h>\n#include <cstdio>\n"
            'int main() { if (memfd_create("x", 0) < 0) return 7; puts("made"); }',
        ),
    ],
)
def test_memory_files_are_refused_where_no_cgroup_counts_them(language, source):
    if language != "python" and shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    with BubblewrapSandbox(1, use_cgroups=False) as bare:
        refused = run(bare, source, language=language)
        assert (refused.status, refused.stdout) == (Status.RE, b"")
        assert still_well(bare)


LASTING = {
    "stops itself": ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", {Status.ILE}),
    "interrupts the guard": (
        "import os, signal\nfor n in range(1, 65):\n  try: os.kill(1, n)\n  except OSError: pass\n"
        "print(os.getppid())",
        {Status.OK},
    ),
    "many threads": (
        "import threading, time\n"
        "for _ in range(999): threading.Thread(target=time.sleep, args=(99,)).start()",
        {Status.RE, Status.ILE},
    ),
    "a tree of forks": ("import os\nfor _ in range(99): os.fork()\nwhile True: pass", None),
    "fork and exit for ever": ("import os\nwhile True:\n  if os.fork(): os._exit(0)", None),
    "memory in files": (
        "import os\nkept = []\nwhile True:\n  fd = os.memfd_create('x'); kept.append(fd)\n"
        "  os.write(fd, b'x' * 200_000)",
        {Status.RE, Status.MLE},
    ),
    "shared memory": (
        "import mmap\nkept = []\nwhile True:\n"
        "  m = mmap.mmap(-1, 1 << 22); m.write(b'x' * (1 << 22)); kept.append(m)",
        {Status.MLE},
    ),
    "a sparse output": ("import os; os.ftruncate(1, 1 << 40); print(3)", {Status.RE, Status.OLE}),
    "output beyond the end": (
        "import os; os.lseek(1, 1 << 40, 0); os.write(1, b'3')",
        {Status.RE, Status.OLE},
    ),
    "closes everything": ("import os; os.closerange(0, 99)", {Status.OK, Status.RE}),
    "seals its output": (
        "import fcntl; print(fcntl.fcntl(1, 1033, 15)); print(3)",
        {Status.OK, Status.RE},
    ),
    "swallows everything": (
        "import sys, os\nos.register_at_fork(after_in_child=lambda: 1 / 0)\n"
        "sys.settrace(lambda *a: 1 / 0)\nsys.excepthook = None\n1 / 0",
        {Status.RE},
    ),
    "breaks the end": (
        "import sys, atexit, gc, os\nsys.stdout = sys.__stdout__ = sys.stderr = 5\n"
        "gc.get_objects = None\nos._exit = None",
        None,
    ),
    "an endless end": ("class A:\n  closed = property(lambda s: exec('while 1: pass'))\n"
                       "import io\nB = type('B', (A, io.StringIO), {})\nb = B()", None),
    "reads a device": ("open('/dev/zero', 'rb').read(-1)", {Status.MLE, Status.RE}),
    "a storm of sessions": (
        "import os, time\nwhile True:\n  try:\n    if os.fork() == 0: os.setsid(); time.sleep(9)\n"
        "  except OSError: pass",
        {Status.TLE},
    ),
    "stops everything": (
        "import os, signal, time\nif os.fork() == 0: time.sleep(9)\n"
        "os.kill(-1, signal.SIGSTOP); os.kill(0, signal.SIGSTOP)",
        {Status.ILE},
    ),
    "a sparse memory file": (
        "import os; os.ftruncate(os.memfd_create('x'), 1 << 40)",
        {Status.RE},
    ),
    "a sparse mapping": (
        "import mmap\nm = mmap.mmap(-1, 1 << 32)\nfor n in range(0, 1 << 32, 4096): m[n] = 1",
        {Status.MLE, Status.RE},
    ),
    "output through many descriptors": (
        "import os\nkept = [os.open('/proc/self/fd/1', os.O_WRONLY | os.O_APPEND) for _ in range(40)]"
        "\nwhile True:\n  for fd in kept: os.write(fd, b'x' * 10_000)",
        {Status.OLE},
    ),
    "output without writing": (
        "import os\nfd = os.open('/usr/bin/python3', os.O_RDONLY)\n"
        "while True: os.sendfile(1, fd, 0, 1 << 20)",
        {Status.OLE},
    ),
    "output allocated": ("import os; os.posix_fallocate(1, 0, 1 << 30)", {Status.RE, Status.OLE}),
    "a core dump": (
        "import os, resource as r, signal\ntry: r.setrlimit(r.RLIMIT_CORE, (1 << 30, 1 << 30))\n"
        "except (OSError, ValueError): os.kill(os.getpid(), signal.SIGSEGV)",
        {Status.RE},
    ),
    "many timers": (
        "import signal\nsignal.signal(signal.SIGALRM, lambda *a: None)\n"
        "signal.setitimer(signal.ITIMER_REAL, 1e-6, 1e-6)\nwhile True: pass",
        {Status.TLE},
    ),
    "an owner's signal to the guard": (
        "import fcntl, os\nr, w = os.pipe()\ntry:\n  fcntl.fcntl(r, 8, 1); fcntl.fcntl(r, 10, 9)\n"
        "  fcntl.fcntl(r, 4, os.O_ASYNC); os.write(w, b'x')\nexcept OSError: pass\n"
        "print(os.getppid())",
        {Status.OK},
    ),
    "descriptors in flight": (
        "import array, socket\na, b = socket.socketpair(); a.setblocking(False)\nwhile True:\n"
        "  x, y = socket.socketpair()\n  a.sendmsg([b'x'], [(1, 1, array.array('i', [x.fileno()]))])",
        {Status.RE},
    ),
    "full pipes": (
        "import fcntl, os\nwhile True:\n  r, w = os.pipe(); os.set_blocking(w, False)\n"
        "  try: fcntl.fcntl(w, 1031, 1 << 20)\n  except OSError: pass\n"
        "  try: os.write(w, b'x' * (1 << 20))\n  except BlockingIOError: pass",
        {Status.RE, Status.MLE},
    ),
    "becoming another program for ever": (
        "import os\nsource = 'import os, sys; os.execv(sys.executable, "
        "[sys.executable, chr(45) + chr(99), os.environ[chr(88)]])'\nos.environ['X'] = source\n"
        "import sys\nos.execv(sys.executable, [sys.executable, '-c', source])",
        {Status.TLE},
    ),
    "a deep value": ("exec('x=' + '[' * 90 + ']' * 90)\nprint(3.5)", {Status.OK}),
}  # fmt: skip


@pytest.mark.parametrize("name", list(LASTING))
def test_contained(sandbox, name):
    source, allowed = LASTING[name]
    patient = allowed is not None and Status.MLE in allowed
    outcome = run(sandbox, source, limits=PATIENT if patient else LIMITS)
    assert outcome.status is not Status.INFRA
    if allowed is not None:
        assert outcome.status in allowed, outcome
    assert still_well(sandbox)


#: Ways to spend 2.4 s of CPU time in processes and threads that are gone when it is counted.
HIDDEN = {
    "children that are waited for": "  if os.fork() == 0: burn(); os._exit(0)\n  os.wait()",
    "children that nobody waits for": "  signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    "  if os.fork() == 0: burn(); os._exit(0)\n  try: os.wait()\n  except OSError: pass",
    "orphans": "  if os.fork() == 0:\n    if os.fork() == 0: burn()\n    os._exit(0)\n"
    "  os.wait(); time.sleep(0.3)",
    "children without a signal": "  if c.syscall(56, 0, 0, 0, 0, 0) == 0: burn(); os._exit(0)\n"
    "  time.sleep(0.3)",
    "threads": "  t = threading.Thread(target=burn); t.start(); t.join()",
}
BURN = """
import ctypes, os, signal, threading, time
c = ctypes.CDLL(None)
def burn():
    end = time.thread_time() + 0.2
    while time.thread_time() < end: pass
for _ in range(12):
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
@pytest.mark.parametrize("name", list(HIDDEN))
def test_no_cpu_time_can_be_hidden(sandbox, name):
    outcome = run(sandbox, f"{BURN}{HIDDEN[name]}\nprint(3)", limits=Limits(cpu_s=0.5, wall_s=9))
    assert outcome.status is Status.TLE, outcome
    assert still_well(sandbox)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="machine code of x86_64")
def test_the_system_calls_of_32_bits_kill(sandbox):
    source = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex("b814000000cd80c3"))  # getpid of i386
ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
"""
    outcome = run(sandbox, source)
    assert (outcome.status, outcome.message) == (Status.RE, "killed by SIGSYS")


NATIVE = {
    "an endless object file": ('__asm__(".space 0x7fffffffff");\nint main() {}', Status.CE),
    "the kernel's files": ('__asm__(".incbin \\"/proc/kallsyms\\"");\nint main() {}', None),
    "the guard, from the compiler": ('__asm__(".incbin \\"/proc/1/environ\\"");\nint main() {}',
                                     Status.CE),
    "constants without end": ("constexpr long f(long n) { return n ? f(n + 1) : 0; }\n"
                              "static_assert(f(1));\nint main() {}", Status.CE),
    "a storm of children": ("#include <unistd.h>\n#include <csignal>\nint main() { "
                            "signal(SIGCHLD, SIG_IGN); for (;;) if (!fork()) { setsid(); "
                            "for (int i = 0; i < 1000000; i++) getppid(); _exit(0); } }", Status.TLE),
    "an assembler include": ('__asm__(".incbin \\"/etc/shadow\\"");\nint main() {}', Status.CE),
    "the compiler's environment": ('#include "/proc/self/environ"\nint main() {}', None),
    "a shell": ('#include <cstdlib>\nint main() { return system("echo 3; cat /etc/shadow"); }',
                None),
    "overwrites itself": (
        "#include <fcntl.h>\n#include <unistd.h>\nint main() { int fd = open(\"/proc/self/exe\", "
        'O_WRONLY); return fd < 0 ? 7 : write(fd, "x", 1); }',
        Status.RE,
    ),
    "a fork bomb that ends": (
        "#include <unistd.h>\nint main() { for (int i = 0; i < 99; i++) if (fork() < 0) break; }",
        None,
    ),
}  # fmt: skip


def test_the_compiler_has_limits_too(sandbox):
    if "cpp17" not in sandbox.languages():
        pytest.skip("g++ is not installed")
    source = '#include "answer.cpp"\n#include "answer.cpp"\nint main() {}'
    outcome = sandbox.compile(Program(source, "cpp17"), Limits(cpu_s=0.5))
    assert (outcome.status, outcome.message[:34]) == (
        Status.CE,
        "compiling exceeds a limit: used 0.",
    )
    assert still_well(sandbox)


@pytest.mark.parametrize("name", list(NATIVE))
def test_contained_native(sandbox, name):
    if "cpp17" not in sandbox.languages():
        pytest.skip("g++ is not installed")
    source, status = NATIVE[name]
    outcome = run(sandbox, source, language="cpp17")
    assert status is None or outcome.status is status, outcome
    assert outcome.status is not Status.INFRA
    assert b"root:" not in outcome.stdout + outcome.stderr
    assert still_well(sandbox)
