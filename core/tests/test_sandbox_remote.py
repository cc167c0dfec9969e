"""The remote backend against a small real HTTP server that speaks SandboxFusion's /run_code.

The server is ours: it has the shape of SandboxFusion's requests and answers, and isolates nothing.
SandboxFusion itself is not run here.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from cascade_rl.sandbox import (
    Call,
    LanguageMissing,
    Limits,
    Program,
    SandboxError,
    SandboxUnavailable,
    Status,
    TestRun,
    open_sandbox,
)
from cascade_rl.sandbox.remote import NAMES, RemoteSandbox

httpx = pytest.importorskip("httpx", reason='needs pip install "cascade-rl[client]"')
ADD = Program("a, b = map(int, input().split())\nprint(a + b)\n")


def ran(status, code=None, stdout="", stderr=""):
    return {"status": status, "execution_time": 0.25, "return_code": code,
            "stdout": stdout, "stderr": stderr}  # fmt: skip


def answer(run_result=None, compile_result=None, status=None, message=""):
    ends = [result for result in (compile_result, run_result) if result is not None]
    good = all(end["status"] == "Finished" and end["return_code"] == 0 for end in ends)
    return {"status": status or ("Success" if good else "Failed"), "message": message,
            "compile_result": compile_result, "run_result": run_result,
            "executor_pod_name": None, "files": {}}  # fmt: skip


def run_python(body):
    with tempfile.TemporaryDirectory() as folder:
        for name, data in body["files"].items():
            Path(folder, name).write_bytes(base64.b64decode(data))
        Path(folder, "main.py").write_text(body["code"])
        try:
            done = subprocess.run(
                [sys.executable, "main.py"], input=body["stdin"], cwd=folder, text=True,
                capture_output=True, timeout=body["run_timeout"], check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return answer(ran("TimeLimitExceeded"))
    return answer(ran("Finished", done.returncode, done.stdout, done.stderr))


class LikeSandboxFusion(ThreadingHTTPServer):
    """Runs Python for real unless there is a prepared (status code, answer) to give."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.prepared, self.asked = [], []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        code, said = (404, {}) if self.path != "/run_code" else (200, None)
        if code == 200 and self.server.prepared:
            code, said = self.server.prepared.pop(0)
        text = (
            said
            if isinstance(said, bytes)
            else json.dumps(run_python(body) if said is None else said).encode()
        )
        self.send_response(code)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with LikeSandboxFusion() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def remote(server):
    server.prepared.clear()
    server.asked.clear()
    with open_sandbox("remote", url=server.url) as sandbox:
        yield sandbox


def run(sandbox, source, test=TestRun(), limits=Limits(wall_s=5), language="python"):  # noqa: B008 - frozen
    (outcome,) = sandbox.run(Program(source, language), [test], limits)
    return outcome


def test_runs_and_stops_as_every_backend(remote, server):
    tests = [TestRun(stdin=b"1 2\n"), TestRun(stdin=b"x"), TestRun(stdin=b"3 4\n")]
    outcomes = list(remote.run(ADD, tests))
    assert [(o.status, o.exit_code, o.stdout) for o in outcomes] == [
        (Status.OK, 0, b"3\n"), (Status.RE, 1, b""), (Status.OK, 0, b"7\n"),
    ]  # fmt: skip
    assert outcomes[1].message.startswith("ValueError: ")
    assert len(list(remote.run(ADD, tests, stop_on=lambda o: not o.ok))) == 2
    assert remote.compile(ADD).ok
    assert [o.stdout for o in remote.check(ADD, tests[:1])] == [b"3\n"]


def test_what_is_sent(remote, server):
    program = Program("print(open('x').read())", headers={"h": b"\xff"})
    test = TestRun(stdin="é".encode(), files={"x": b"y"})
    (outcome,) = remote.run(program, [test], Limits(wall_s=4, memory_mb=99))
    assert outcome.stdout == b"y\n"
    assert server.asked == [
        {"code": program.source, "language": "python", "stdin": "é", "compile_timeout": 20.0,
         "run_timeout": 4, "memory_limit_MB": 99, "files": {"h": "/w==", "x": "eQ=="}}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "function", "args", "value"),
    [
        ("def f(a, b): return [a, {b}]", "f", (1, 2), [1, {2}]),
        ("class S:\n  def f(self, x): return (x, None)", "S().f", (b"\xff",), (b"\xff", None)),
        ("def f(x): print('noise'); return 10 ** 50", "f", (1,), 10**50),
    ],
)
def test_calls_bring_back_values(remote, source, function, args, value):
    outcome = run(remote, source, TestRun(call=Call(function, args)))
    assert (outcome.status, outcome.returned, outcome.value) == (Status.OK, True, value)
    assert outcome.stdout in (b"", b"noise\n")


def test_a_call_that_returns_no_plain_data_has_no_value(remote):
    outcome = run(remote, "def f(): return f", TestRun(call=Call("f")))
    assert (outcome.status, outcome.returned) == (Status.OK, False)
    changed = TestRun(call=Call("f", ([2, 1],), return_args=True))
    assert run(remote, "def f(x): x.sort()", changed).value == [[1, 2]]


def test_limits(remote):
    assert run(remote, "while True: pass", limits=Limits(wall_s=0.3)).status is Status.TLE
    outcome = run(remote, "print('x' * 3000)", limits=Limits(output_kb=1, wall_s=5))
    assert (outcome.status, len(outcome.stdout)) == (Status.OLE, 1024)


COMPILED = ran("Finished", 0)


@pytest.mark.parametrize(
    ("said", "status", "message"),
    [
        (answer(ran("Finished", 0, "3"), COMPILED), "OK", ""),
        (answer(None, ran("Finished", 1, "", "a.cpp:1: error: x\n")), "CE", "a.cpp:1: error: x"),
        (answer(None, ran("TimeLimitExceeded")), "CE", ""),
        (answer(ran("TimeLimitExceeded"), COMPILED), "TLE", "TLE"),
        (answer(ran("Finished", -11, "", ""), COMPILED), "RE", "RE"),
        (answer(ran("Finished", 0, "\ud800\udcff")), "OK", ""),
    ],
)
def test_answers_that_judge_the_program(remote, server, said, status, message):
    server.prepared.append((200, said))
    outcome = run(remote, "int main() {}", language="cpp17")
    assert (outcome.status, outcome.message) == (status, message)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ((200, answer(status="SandboxError", message="no pods")), "SandboxError: no pods"),
        ((200, answer(None, ran("Error"))), "the server's compiler could not be run"),
        ((200, answer(ran("Error"), COMPILED)), "INFRA"),
        ((200, answer()), "AttributeError"),
        ((200, []), "TypeError"),
        ((200, {"detail": "?"}), "KeyError: 'status'"),
        ((200, b"<html>"), "JSONDecodeError"),
        ((503, {}), "503 Service Unavailable"),
        ((422, {}), "422 Unprocessable Entity"),
    ],
)
def test_a_fault_of_the_server_is_tried_again_and_then_judges_nothing(remote, server, fault, words):
    server.prepared[:] = [fault]
    assert run(remote, "print(3)").stdout == b"3\n"
    server.prepared[:] = [fault, fault]
    outcome = run(remote, "print(3)")
    assert outcome.status is Status.INFRA
    assert words in outcome.message
    assert len(server.asked) == 4


def test_a_server_that_is_not_there_is_no_verdict():
    with RemoteSandbox("http://127.0.0.1:9") as sandbox:
        outcome = run(sandbox, "print(3)")
    assert outcome.status is Status.INFRA
    assert re.search(r"http://127.0.0.1:9 failed: ConnectError: ", outcome.message)


def test_a_source_that_is_no_text_is_its_own_fault(remote, server):
    outcome = run(remote, "x = '\ud800'")
    assert (outcome.status, server.asked) == (Status.CE, [])


def test_what_it_cannot_do_is_refused(remote):
    with pytest.raises(SandboxError, match="passes no arguments"):
        run(remote, "", TestRun(argv=("x",)))
    with pytest.raises(SandboxError, match="takes UTF-8 as input only"):
        run(remote, "", TestRun(stdin=b"\xff"))
    with pytest.raises(LanguageMissing, match="c is not a language of SandboxFusion's"):
        run(remote, "", language="c")
    with pytest.raises(SandboxError, match="only Python functions can be called, not cpp17"):
        run(remote, "", TestRun(call=Call("f")), language="cpp17")
    with pytest.raises(SandboxError, match="cannot run interactive problems: use bubblewrap"):
        remote.interact(ADD, ADD)
    with pytest.raises(SandboxError, match="cannot run test code"):
        remote.examine(ADD, ADD, ["f"])
    with pytest.raises(SandboxError, match="wants url="):
        open_sandbox("remote")


def test_it_says_what_it_is(remote):
    assert (remote.isolation.backend, remote.isolation.level) == ("remote", "remote")
    assert "depends on its load" in remote.isolation.enforced["cpu"]
    assert remote.languages() == tuple(NAMES)


def test_without_httpx_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(SandboxUnavailable, match=re.escape('pip install "cascade-rl[client]"')):
        RemoteSandbox("http://127.0.0.1:9")
