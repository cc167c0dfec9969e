"""The service's routes that take programs, through the real application and this pack."""

from __future__ import annotations

import base64
import json

import pytest


def run(post, code, **more):
    reply = post("/run_code", code=code, **more).json()
    result = reply["run_result"] or {}
    return reply["status"], result.get("status"), result.get("return_code"), result.get("stdout")


def test_a_program_runs(post):
    reply = post("/run_code", code="print(input()[::-1])", stdin="abc\n", language="python").json()
    assert reply["run_result"].pop("execution_time") > 0
    assert reply == {
        "status": "Success",
        "message": "",
        "compile_result": None,
        "run_result": {"status": "Finished", "return_code": 0, "stdout": "cba\n", "stderr": ""},
        "executor_pod_name": None,
        "files": {},
    }


@pytest.mark.parametrize(
    ("code", "ended"),
    [
        ("raise SystemExit(3)", ("Failed", "Finished", 3, "")),
        ("print(1); 1 / 0", ("Failed", "Finished", 1, "1\n")),
        ("print(", ("Failed", "Finished", 1, "")),
        ("import os; os.abort()", ("Failed", "Finished", -6, "")),
        ("while True: pass", ("Failed", "TimeLimitExceeded", None, "")),
        ("import time; time.sleep(9)", ("Failed", "TimeLimitExceeded", None, "")),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", ("Success", "Finished", 0, "\ufffd")),
    ],
)
def test_how_python_ends(post, code, ended):
    assert run(post, code, run_timeout=0.5) == ended


def test_memory_is_the_requests_or_the_servers(post):
    hungry = "kept = bytearray(b'x') * (300 << 20)\nprint(1)"
    assert run(post, hungry)[0] == "Failed"
    assert run(post, hungry, memory_limit_MB=512) == ("Success", "Finished", 0, "1\n")


def test_a_compiled_language(post, cpp):
    source = '#include <cstdio>\nint main() { int n; scanf("%d", &n); printf("%d", n + 1); }'
    reply = post("/run_code", code=source, language="cpp", stdin="41").json()
    assert (reply["compile_result"]["status"], reply["run_result"]["stdout"]) == ("Finished", "42")
    reply = post("/run_code", code="int main( {", language="cpp").json()
    assert (reply["status"], reply["run_result"]) == ("Failed", None)
    assert (reply["compile_result"]["return_code"], reply["compile_result"]["stdout"]) == (1, "")
    assert "error" in reply["compile_result"]["stderr"]


def test_too_little_time_to_compile_is_not_remembered(post, cpp):
    source = "#include <iostream>\n#include <regex>\nint main() { std::cout << 7; }"
    reply = post("/run_code", code=source, language="cpp", compile_timeout=0.01).json()
    assert reply["compile_result"]["status"] == "TimeLimitExceeded"
    assert run(post, source, language="cpp", compile_timeout=60)[3] == "7"


def test_what_cannot_be_run_is_a_fault_that_says_why(post):
    reply = post("/run_code", code="x", language="cobol").json()
    assert reply["status"] == "SandboxError"
    assert "unknown language 'cobol'" in reply["message"]
    data = base64.b64encode(b"1").decode()
    reply = post("/run_code", code="x", files={"a.txt": data}).json()
    assert reply["status"] == "SandboxError"
    assert "send what it reads as stdin" in reply["message"]


def test_open_instructs_routes(post):
    program = "def double(n):\n    return 2 * n\n"
    tests = ["assert double(2) == 4", "assert double(2) == 5", "while True: pass"]
    reply = post("/test_program", program=program, tests=tests, max_execution_time=0.5).json()
    assert reply["results"] == [1, 0, 0]
    pairs = [{"input": "2", "output": "4"}, {"input": "3", "output": "7"}]
    reply = post("/test_program_stdio", program="print(2 * int(input()))", tests=pairs).json()
    assert reply["results"] == [1, 0]


def test_rewards_come_from_the_same_service(post):
    truth = {"language": "python", "tests": [{"stdin": "1 2", "stdout": "3"}]}
    text = "```python\nprint(sum(map(int, input().split())))\n```"
    body = {
        "query": ["Add two numbers." + text],
        "prompts": ["Add two numbers."],
        "labels": [json.dumps(truth)],
    }
    reply = post("/get_reward", **body).json()
    assert reply.get("rewards") == [1.0], reply
