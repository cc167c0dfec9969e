"""Compiled programs are spawned through the starter: the same for them as after a fork."""

from __future__ import annotations

import shutil

import pytest

from cascade_rl.sandbox import Limits, Program, Status, TestRun
from cascade_rl.sandbox.bubblewrap import BubblewrapSandbox

if shutil.which("bwrap") is None or shutil.which("gcc") is None:
    pytest.skip("needs bubblewrap and gcc: apt-get install bubblewrap gcc", allow_module_level=True)

LOOK = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
extern char **environ;
int main(int count, char **words) {
    for (int fd = 0; fd < 1024; fd++) if (fcntl(fd, F_GETFD) >= 0) printf("fd %d\n", fd);
    for (int number = 0; number < 16; number++) {
        struct rlimit limit;
        getrlimit(number, &limit);
        printf("limit %d %lu %lu\n", number, limit.rlim_cur, limit.rlim_max);
    }
    for (int number = 1; number < 65; number++) {
        struct sigaction action;
        if (!sigaction(number, 0, &action) && action.sa_handler == SIG_IGN) printf("ignored %d\n", number);
    }
    for (char **word = environ; *word; word++) printf("%s\n", *word);
    for (int i = 1; i < count; i++) printf("word %s\n", words[i]);
    struct rlimit more = {1 << 30, 1 << 30};
    printf("%d %s", setrlimit(RLIMIT_FSIZE, &more), words[0][0] == '/' ? "path" : words[0]);
    return 0;
}
"""
LIMITS = Limits(cpu_s=1, memory_mb=64, output_kb=16, processes=4)


@pytest.fixture(scope="module", params=["spawned", "forked"])
def sandbox(request):
    with BubblewrapSandbox() as opened:
        if request.param == "forked":
            opened._starter = b""  # as where there is no C compiler
        yield opened


def look(sandbox):
    test = TestRun(argv=("one", "two words", ""), stdin=b"x")
    (outcome,) = sandbox.run(Program(LOOK, "c"), [test], LIMITS)
    return outcome


def test_the_same_descriptors_limits_signals_and_words(sandbox):
    outcome = look(sandbox)
    assert outcome.ok, outcome
    lines = outcome.stdout.decode().splitlines()
    assert [line for line in lines if line.startswith("fd ")] == ["fd 0", "fd 1", "fd 2"]
    limits = {int(n): (soft, hard) for _, n, soft, hard in map(str.split, lines[3:19])}
    assert limits[0] == ("3", "4")  # CPU seconds, for a watch that is late
    assert limits[1] == (str(16 * 1024 + 1),) * 2
    assert limits[3] == (str(64 << 20),) * 2
    assert limits[4] == ("0", "0")
    assert limits[6] == ("5", "5")
    assert limits[7] == ("64", "64")
    assert limits[9] == (str((64 + 4096 if sandbox.traits.cgroup else 64 + 1024) << 20),) * 2
    assert not [line for line in lines if line.startswith("ignored")]
    assert lines[-6:-1] == [
        "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "word one", "word two words", "word "
    ]  # fmt: skip
    assert lines[-1] == "-1 path"  # none can be raised again


def test_which_way_it_was(sandbox, request):
    look(sandbox)
    guest = sandbox._answers._slots[-1]._guest
    assert guest._equipped == (sandbox._starter != b"")
    assert len(sandbox._starter) < 20_000


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("for (;;);", Status.TLE),
        ("for (;;) if (!fork()) for (;;);", Status.TLE),
        ("pause();", Status.ILE),
        ("for (;;) puts(\"many words\");", Status.OLE),
        ("volatile char *all = malloc(1 << 28); for (long i = 0; i < 1 << 28; i += 4096) all[i] = 1; pause();", Status.MLE),
        ("*(volatile int *)0 = 1;", Status.RE),
        ("return 7;", Status.RE),
    ],
)  # fmt: skip
def test_limits_of_a_compiled_program(sandbox, body, status):
    heads = "".join(f"#include <{h}.h>\n" for h in ("stdio", "stdlib", "string", "unistd"))
    source = f"{heads}int main() {{ {body} }}"
    limits = Limits(cpu_s=0.3, wall_s=0.5, memory_mb=64, output_kb=16, processes=8)
    (outcome,) = sandbox.run(Program(source, "c"), [TestRun()], limits)
    assert outcome.status is status, outcome
    assert look(sandbox).ok


def test_a_long_conversation_before_is_not_charged_to_the_next_program(sandbox):
    talker = Program("print('x' * (40 << 20), flush=True)")
    listener = Program("import sys\nwhile sys.stdin.read(1 << 20): pass")
    large = Limits(cpu_s=10, memory_mb=256, output_kb=64 * 1024)
    for pair in ((talker, listener), (listener, talker)):
        sandbox.interact(*pair, limits=large, interactor_limits=large)
    (outcome,) = sandbox.run(Program("int main() { return 0; }", "c"), [TestRun()], LIMITS)
    assert outcome.ok
    assert outcome.memory_mb < 32
