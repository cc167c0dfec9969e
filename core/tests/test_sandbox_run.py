"""Running programs: what comes out, and which status it is when something goes wrong."""

from __future__ import annotations

import shutil

import pytest

from cascade_rl.sandbox import (
    LanguageMissing,
    Limits,
    Program,
    SandboxError,
    Status,
    TestRun,
    UnknownLanguage,
    open_sandbox,
)

if shutil.which("bwrap") is None:
    pytest.skip("needs bubblewrap: apt-get install bubblewrap", allow_module_level=True)

ONE_TWO = TestRun(stdin=b"1 2\n")
SMALL = Limits(cpu_s=0.4, wall_s=0.5, memory_mb=128, output_kb=64, processes=16)


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox("bubblewrap") as opened:
        yield opened


def run(sandbox, source, test=ONE_TWO, limits=SMALL, language="python"):
    (outcome,) = sandbox.run(Program(source, language), [test], limits)
    return outcome


def test_one_outcome_a_test_in_order(sandbox):
    program = Program("a, b = map(int, input().split())\nprint(a * b)")
    tests = [TestRun(stdin=f"{n} {n}\n".encode()) for n in range(5)]
    outcomes = list(sandbox.run(program, tests))
    assert [o.stdout for o in outcomes] == [b"0\n", b"1\n", b"4\n", b"9\n", b"16\n"]
    assert all(o.ok and o.exit_code == 0 and o.survivors == 0 for o in outcomes)


def test_stops_on_the_first_outcome_that_is_asked_for_and_reads_no_further(sandbox):
    read = []

    def tests():
        for n in range(5):
            read.append(n)
            yield TestRun(stdin=b"%d" % n)

    source = "n = int(input())\nassert n < 2"
    got = list(sandbox.run(Program(source), tests(), SMALL, stop_on=lambda o: not o.ok))
    assert [o.status for o in got] == [Status.OK, Status.OK, Status.RE]
    assert read == [0, 1, 2]


def test_a_reader_that_stops_early_costs_no_guest(sandbox):
    first = run(sandbox, "import os; print(os.getppid())")
    for outcome in sandbox.run(Program("print(1)"), [ONE_TWO] * 3):
        assert outcome.ok
        break
    guest = sandbox._answers._slots[-1]._guest
    assert guest is not None
    assert run(sandbox, "print(1)").ok
    assert sandbox._answers._slots[-1]._guest is guest
    assert first.stdout == b"1\n"


@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        ("while True: pass", Status.TLE, "CPU time"),
        ("import os\nos.fork()\nwhile True: pass", Status.TLE, "CPU time"),
        ("import time; time.sleep(60)", Status.ILE, "idle"),
        ("import time, sys; print(3, flush=True); time.sleep(60)", Status.ILE, "idle"),
        ("kept = bytearray(b'x') * (1 << 28)", Status.MLE, "128 MiB"),
        ("kept = [0] * (1 << 62)", Status.MLE, "128 MiB"),
        ("while True: print('x' * 999)", Status.OLE, "64 KiB"),
        ("import sys\nwhile True: sys.stderr.write('x' * 999)", Status.OLE, "64 KiB"),
        ("1 / 0", Status.RE, "ZeroDivisionError: division by zero"),
        ("raise SystemExit(7)", Status.RE, "exit code 7"),
        ("import sys; sys.exit('no good')", Status.RE, "no good"),
        ("import os; os.abort()", Status.RE, "SIGABRT"),
        ("import os; os.kill(os.getpid(), 9)", Status.RE, "SIGKILL"),
        ("print(1", Status.CE, "SyntaxError"),
        ("x = '\ud800'", Status.CE, "SyntaxError"),
        ("x = '\0'", Status.CE, "null bytes"),
        ("(" * 5000, Status.CE, "too many nested parentheses"),
    ],
)
def test_status_and_reason(sandbox, source, status, words):
    outcome = run(sandbox, source)
    assert outcome.status is status, outcome
    assert words in outcome.message


def test_exactly_the_allowed_output_is_allowed(sandbox):
    fits = run(sandbox, f"import os; os.write(1, b'x' * {64 * 1024})")
    assert (fits.status, len(fits.stdout)) == (Status.OK, 64 * 1024)
    over = run(sandbox, f"import os; os.write(1, b'x' * {64 * 1024 + 1})")
    assert (over.status, len(over.stdout)) == (Status.OLE, 64 * 1024)


def test_cpu_time_is_that_of_all_threads_and_processes(sandbox):
    source = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        end = time.process_time() + 0.2
        while time.process_time() < end: pass
        os._exit(0)
for _ in range(3): os.wait()
"""
    assert run(sandbox, source).status is Status.TLE
    assert 0.6 < run(sandbox, source, limits=Limits(cpu_s=5)).cpu_s < 2


def test_a_compile_error_yields_one_outcome(sandbox):
    assert len(list(sandbox.run(Program("print("), [ONE_TWO] * 4))) == 1
    assert sandbox.compile(Program("print(")).status is Status.CE
    assert sandbox.compile(Program("print()")).ok


@pytest.mark.parametrize(
    ("source", "stdout"),
    [
        ("import sys; print(sys.stdin.buffer.read())", b"b'1 2\\n'\n"),
        ("import os; print(os.read(0, 99), os.fstat(0).st_size)", b"b'1 2\\n' 4\n"),
        ("print(open(0).read().split())", b"['1', '2']\n"),
        ("print(open('/dev/stdin').readline())", b"1 2\n\n"),
        ("for line in __import__('sys').stdin: print(line.split())", b"['1', '2']\n"),
        ("import sys; sys.stdin.seek(0, 2); print(sys.stdin.tell())", b"4\n"),
        ("open(1, 'w').write('never closed')", b"never closed"),
        ("out = open(1, 'wb', buffering=9999); out.write(b'kept')", b"kept"),
        ("import atexit, sys; atexit.register(lambda: sys.stdout.write('late'))", b"late"),
        ("import io, sys; sys.stdout = io.TextIOWrapper(sys.stdout.buffer); print(5)", b"5\n"),
        ("import threading; threading.Thread(target=lambda: print(6)).start()", b"6\n"),
        ("if __name__ == '__main__': print(__file__)", b"answer.py\n"),
        ("exit(0)", b""),
        ("import numpy_is_not_here", b""),
        ("print('\\u00e9', '\\udcff')", b"\xc3\xa9 \xff\n"),
        ("import asyncio\nasync def f(): return 7\nprint(asyncio.run(f()))", b"7\n"),
        ("import random, statistics, queue, uuid, tempfile, subprocess; print(8)", b"8\n"),
        ("import sys; print(sys.argv, [m for m in sys.modules if 'cascade' in m])",
         b"['answer.py'] []\n"),
    ],
)  # fmt: skip
def test_programs_find_an_ordinary_python(sandbox, source, stdout):
    assert run(sandbox, source, limits=Limits()).stdout == stdout


def test_the_recursion_idiom_works(sandbox):
    source = """
import sys, threading
sys.setrecursionlimit(10**6)
threading.stack_size(256 << 20)
def depth(n): return 0 if n == 0 else 1 + depth(n - 1)
thread = threading.Thread(target=lambda: print(depth(100_000)))
thread.start()
thread.join()
"""
    assert run(sandbox, source, limits=Limits(cpu_s=10)).stdout == b"100000\n"


def test_numpy_is_there_when_the_host_has_it(sandbox):
    pytest.importorskip("numpy")
    if sandbox._runtime.packages is None:
        pytest.skip("this host's numpy is for another Python than the sandbox's")
    assert run(sandbox, "import numpy; print(numpy.arange(4).sum())", limits=Limits(cpu_s=10)).ok


def test_files_and_arguments(sandbox):
    source = "import sys; print(sys.argv[1], [open(p).read() for p in sys.argv[2:]])"
    test = TestRun(argv=("-v", "{a}", "{b}"), files={"a": b"one", "b": b"two"})
    assert run(sandbox, source, test).stdout == b"-v ['one', 'two']\n"
    (outcome,) = sandbox.check(Program(source), [test])
    assert outcome.stdout == b"-v ['one', 'two']\n"


ADD = {
    "c": "#include <stdio.h>\nint main(void) { int a, b; scanf(\"%d%d\", &a, &b); "
    'printf("%d\\n", a + b); return 0; }',
    "cpp17": "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; "
    "std::cout << a + b << std::endl; }",
    "cpp20": "#include <iostream>\n#include <span>\n#include <concepts>\nint main() { int x[2]; "
    "for (int& each : std::span(x)) std::cin >> each; std::cout << x[0] + x[1] << '\\n'; }",
    "java": "import java.util.Scanner;\npublic class Solution { static class Other {} "
    "public static void main(String[] args) { Scanner in = new Scanner(System.in); "
    "System.out.println(in.nextInt() + in.nextInt()); } }",
    "rust": "use std::io::*;\nfn main() { let mut text = String::new(); "
    "stdin().read_to_string(&mut text).unwrap(); println!(\"{}\", "
    "text.split_whitespace().map(|w| w.parse::<i64>().unwrap()).sum::<i64>()); }",
    "go": 'package main\nimport "fmt"\nfunc main() { var a, b int; fmt.Scan(&a, &b); '
    "fmt.Println(a + b) }",
    "javascript": "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);"
    "console.log(a + b)",
}  # fmt: skip
BROKEN = {"javascript": "const = 3", "java": "class A {"}


@pytest.mark.parametrize("language", list(ADD))
def test_languages(sandbox, language):
    if language not in sandbox.languages():
        pytest.skip(f"no compiler for {language} is installed")
    outcomes = list(sandbox.run(Program(ADD[language], language), [ONE_TWO] * 2, Limits(cpu_s=5)))
    assert [o.stdout for o in outcomes] == [b"3\n", b"3\n"], outcomes
    broken = run(sandbox, BROKEN.get(language, "int main( {"), language=language)
    assert (broken.status, broken.exit_code) == (Status.CE, 1)
    assert "rror" in broken.message


def cpp(sandbox, source, limits=SMALL, **options):
    if "cpp17" not in sandbox.languages():
        pytest.skip("g++ is not installed")
    return run(sandbox, source, limits=limits, language="cpp17", **options)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("for (;;);", Status.TLE),
        ("pause();", Status.ILE),
        ("for (;;) memset(malloc(1 << 20), 1, 1 << 20);", Status.MLE),
        ("std::vector<char> v(1ull << 40);", Status.MLE),
        ("for (;;) puts(\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\");", Status.OLE),
        ("return 3;", Status.RE),
        ("*(volatile int*)0 = 1;", Status.RE),
        ("abort();", Status.RE),
        ("throw 1;", Status.RE),
    ],
)  # fmt: skip
def test_status_of_native_programs(sandbox, body, status):
    heads = "".join(f"#include <{h}>\n" for h in ("cstdio", "cstdlib", "cstring", "vector"))
    source = f"{heads}#include <unistd.h>\nint main() {{ {body} return 0; }}"
    assert cpp(sandbox, source).status is status


def test_deep_recursion_in_native_programs(sandbox):
    source = (
        "#include <cstdio>\nint f(volatile int n) { return n ? 1 + f(n - 1) : 0; }\n"
        'int main() { printf("%d", f(1000000)); }'
    )
    assert cpp(sandbox, source, Limits()).stdout == b"1000000"


def test_headers_are_for_compiling_only(sandbox):
    source = (
        '#include "judge.h"\n#include <cstdio>\n'
        'int main() { printf("%d %d", VALUE, fopen("judge.h", "r") == nullptr); }'
    )
    program = Program(source, "cpp17", headers={"judge.h": b"#define VALUE 42\n"})
    if "cpp17" in sandbox.languages():
        assert next(sandbox.run(program, [TestRun()])).stdout == b"42 1"
    with pytest.raises(SandboxError, match="plain file name"):
        next(sandbox.run(Program("", "cpp17", headers={"../x": b""}), [TestRun()]))


def test_programs_are_compiled_once(sandbox):
    if "cpp17" not in sandbox.languages():
        pytest.skip("g++ is not installed")
    program = Program(ADD["cpp17"], "cpp17")
    assert sandbox.compile(program).ok
    built = sandbox._build
    try:
        sandbox._build = None
        assert next(sandbox.run(program, [ONE_TWO])).ok
    finally:
        sandbox._build = built


def test_wrong_requests(sandbox):
    with pytest.raises(UnknownLanguage, match=r"'cobol'; known: python, c, cpp17"):
        next(sandbox.run(Program("", "cobol"), [ONE_TWO]))
    with pytest.raises(ValueError, match="cpu_s must be greater than 0, got 0"):
        Limits(cpu_s=0)
    missing = [name for name in ADD if name not in sandbox.languages()]
    if missing:
        with pytest.raises(LanguageMissing, match="is not installed"):
            next(sandbox.run(Program(ADD[missing[0]], missing[0]), [ONE_TWO]))


def test_a_closed_sandbox_says_so():
    opened = open_sandbox("bubblewrap")
    opened.close()
    opened.close()
    with pytest.raises(SandboxError, match="closed"):
        next(opened.run(Program("print()"), [ONE_TWO]))
