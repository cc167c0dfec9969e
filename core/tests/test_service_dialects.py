"""Peers' routes by the shapes that their sources document.

Not their real clients: those that can be installed are in tests/peers.
"""

from __future__ import annotations

import httpx
import pytest

from cascade_rl.service.dialects.openrlhf import reply_in
from cascade_rl.service.problems import Refusal
from cascade_rl.testing import BARE_PACK

CHAT = "<|im_start|>user\nSay it.<|im_end|>\n<|im_start|>assistant\n"


def post(url, path, body):
    return httpx.post(url + path, json=body, timeout=30)


def test_openrlhf_by_its_documented_shape(obedient_url):
    body = {
        "query": [CHAT + "it<|im_end|>", CHAT + "that</s></s>"],
        "prompts": [CHAT, CHAT],
        "labels": ["it", "it"],
    }
    assert post(obedient_url, "/get_reward", body).json() == {
        "rewards": [1.0, 0.0],
        "scores": [1.0, 0.0],
        "extra_logs": {"exact": [1.0, 0.0]},
    }


def test_openrlhf_scores_lie_between_0_and_1_where_rewards_may_not(serve, obedient):
    url = serve({obedient: {"options": {"bonus": 3}}})
    body = {"query": ["pit"], "prompts": ["p"], "labels": ["it"]}
    assert post(url, "/get_reward", body).json()["rewards"] == [4.0]
    assert post(url, "/get_reward", body).json()["scores"] == [1.0]


@pytest.mark.parametrize(
    ("query", "prompt", "reply"),
    [
        ("<s>Q: 1+1?A: 2</s>", "Q: 1+1?", "A: 2"),
        (CHAT + "<think>x</think>it<|im_end|>\n", CHAT, "<think>x</think>it"),
        ("Q it<|eot_id|><|end_of_text|>", "Q", " it"),
        ("Qit<pad><pad>", "Q", "it"),
        ("Q an <|im_end|> inside", "Q", " an <|im_end|> inside"),
        ("Q Q", "Q", " Q"),
        ("it", "", "it"),
        ("Q it \n", "Q", " it \n"),
        ("Q" + " " * 100_000 + "x" + "<pad> " * 100_000, "Q", " " * 100_000 + "x"),
    ],
)
def test_openrlhf_replies_are_cut_out_of_queries(query, prompt, reply):
    assert reply_in(query, prompt) == reply


def test_openrlhf_a_query_without_its_prompt_is_no_guess():
    with pytest.raises(Refusal, match="does not contain its prompt"):
        reply_in("something else", "Q")


def test_openrlhf_lists_of_unequal_length(obedient_url):
    reply = post(obedient_url, "/get_reward", {"query": ["ab"], "prompts": ["a"], "labels": []})
    assert reply.status_code == 422
    assert reply.json()["detail"] == "query, prompts and labels have 1, 1 and 0 elements"


def test_openrlhf_forks_that_send_no_labels(obedient_url):
    assert post(obedient_url, "/get_reward", {"query": ["ab"], "prompts": ["a"]}).json()[
        "rewards"
    ] == [0.0]


def test_slime_by_its_documented_shape(obedient_url):
    for prompt in ("Say it.", [{"role": "user", "content": "Say it."}]):
        body = {"prompt": prompt, "response": "it", "label": "it"}
        assert post(obedient_url, "/slime", body).json() == 1.0
    body = {"prompt": "Say it.", "response": "that", "label": "it"}
    assert post(obedient_url, "/slime?shape=dict", body).json() == {
        "score": 0.0,
        "correct": False,
        "reason": "not equal",
        "extracted": "that",
    }


def gym_row(text, **fields):
    message = {
        "id": "m", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }  # fmt: skip
    return {
        "responses_create_params": {"input": [{"role": "user", "content": "Say it."}]},
        "response": {
            "id": "r", "created_at": 1, "model": "m", "object": "response", "output": [message],
            "parallel_tool_calls": False, "tool_choice": "auto", "tools": [],
        },
        "_ng_task_index": 3,
        **fields,
    }  # fmt: skip


def test_nemo_gym_by_its_documented_shape(obedient_url):
    assert post(obedient_url, "/seed_session", {"anything": 1}).json() == {}
    row = gym_row("it", question="Say it.", expected_answer="it")
    reply = post(obedient_url, "/verify", row).json()
    assert {key: reply[key] for key in row} == row
    assert (reply["reward"], reply["extracted_answer"]) == (1.0, "it")
    assert reply["reward_components"] == {"exact": 1.0}
    assert httpx.get(obedient_url + "/reverify_mode").json() == "stateless"


def test_nemo_gym_components_that_do_not_add_up_are_no_reward_components(serve, obedient):
    url = serve({obedient: {"options": {"bonus": 0.5}}})
    reply = post(url, "/verify", gym_row("it", expected_answer="it")).json()
    assert reply["reward"] == 1.5
    assert "reward_components" not in reply
    assert reply["component/exact"] == 1.0


def test_nemo_gym_reasoning_and_tool_calls_are_no_part_of_the_completion(obedient_url):
    row = gym_row("it", ground_truth="it")
    row["response"]["output"] = [
        {"type": "reasoning", "id": "x", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "1"},
        *row["response"]["output"],
    ]
    row["responses_create_params"]["input"].append({"type": "function_call_output", "output": ""})
    assert post(obedient_url, "/verify", row).json()["reward"] == 1.0


def test_nemo_gym_where_a_row_keeps_its_ground_truth(serve, make_pack):
    make_pack("mirror", MIRROR, distribution="fake-mirror")
    url = serve("mirror")
    truth = {"instruction_id_list": ["a"], "kwargs": [{}]}
    for fields in (
        {"ground_truth": truth, "expected_answer": "no"},
        {"verifier_metadata": truth, "id": 1},
        {"id": 7, "prompt": "x", **truth},
    ):
        reply = post(url, "/verify", gym_row("x", **fields)).json()
        assert reply["reward_reason"] == repr(truth), fields


def test_nemo_gym_aggregate_metrics(obedient_url):
    rows = [
        {"_ng_task_index": 0, "reward": 1.0},
        {"_ng_task_index": 0, "reward": 0.0},
        {"_ng_task_index": 1, "reward": 0.5},
        {"_ng_task_index": 1, "reward": 0.0, "_ng_failure_class": "judge_failed"},
    ]
    reply = post(obedient_url, "/aggregate_metrics", {"verify_responses": rows}).json()
    assert reply["key_metrics"] == {"mean/reward": 0.5}
    assert reply["agent_metrics"]["median/reward"] == 0.5
    assert [(g["_ng_task_index"], g["mean/reward"]) for g in reply["group_level_metrics"]] == [
        (0, 0.5), (1, 0.5),
    ]  # fmt: skip
    assert post(obedient_url, "/aggregate_metrics", {"verify_responses": []}).json() == {
        "group_level_metrics": [],
        "agent_metrics": {},
        "key_metrics": {},
    }


@pytest.mark.parametrize("path", ["/evaluate", "/reward"])
def test_eval_protocol_by_its_documented_shape(obedient_url, path):
    turns = [{"role": "user", "content": "Say it."}, {"role": "assistant", "content": "it"}]
    for extra in ({"kwargs": {"mode": "think"}}, {"mode": "think"}, {"kwargs": None}, {}):
        body = {"messages": turns, "ground_truth": "it", **extra}
        assert post(obedient_url, path, body).json() == {
            "score": 1.0,
            "is_score_valid": True,
            "reason": "equal",
            "metrics": {
                "exact": {"score": 1.0, "is_score_valid": True, "reason": "", "success": True}
            },
        }


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"messages": []}, "the last message must be the assistant's"),
        ({"messages": [{"role": "user", "content": "x"}]}, "the last message must be"),
        ({"messages": [{"role": "robot", "content": "x"}, {"role": "assistant", "content": "x"}]},
         "role is 'robot'"),
        ({"messages": [{"role": "assistant", "content": 3}]}, "content is a int, not text"),
        ({"messages": [{"role": "assistant", "content": "x"}], "mode": "loud"}, "mode is 'loud'"),
        ({"messages": [{"role": "assistant", "content": "x"}], "kwargs": [1]}, "kwargs is a list"),
    ],
)  # fmt: skip
def test_eval_protocol_what_cannot_be_judged(obedient_url, body, said):
    reply = post(obedient_url, "/evaluate", {"ground_truth": "x", **body})
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid")
    assert said in reply.json()["detail"]


def test_the_domain_is_in_the_path_or_the_query_and_never_guessed(serve, obedient, make_pack):
    make_pack("mirror", MIRROR, distribution="fake-mirror")
    url = serve({obedient: {}, "mirror": {}})
    body = {"prompt": "Say it.", "response": "it", "label": "it"}
    assert post(url, "/for/obedient/slime", body).json() == 1.0
    assert post(url, "/slime?domain=obedient", body).json() == 1.0
    assert post(url, "/for/mirror/slime", body).json() == 0.25
    reply = post(url, "/slime", body)
    assert reply.status_code == 422
    assert reply.json()["detail"].endswith("?domain=…; served: obedient, mirror")
    assert post(url, "/for/nobody/slime", body).status_code == 404


def test_programs_run_where_a_domain_can_and_nowhere_else(serve, make_pack, obedient):
    make_pack("runner", RUNNER, distribution="fake-runner")
    url = serve({obedient: {}, "runner": {}})
    for path in ("/run_code", "/for/runner/run_code", "/run_code?domain=runner"):
        assert post(url, path, {"code": "print(3)"}).json()["run_result"]["stdout"] == "3\n"
    refused = post(url, "/for/obedient/run_code", {"code": "print(3)"})
    assert refused.status_code == 404
    assert refused.json()["detail"] == ("domain 'obedient' runs no programs; these do: runner")


def test_a_label_that_must_be_an_object_is_parsed_and_one_that_may_be_text_is_not(
    serve, make_pack, obedient_url
):
    make_pack("mirror", MIRROR, distribution="fake-mirror")
    url = serve("mirror")
    for label in ('{"instruction_id_list": []}', {"instruction_id_list": []}):
        body = {"prompt": "x", "response": "x", "label": label}
        reply = post(url, "/slime?shape=dict", body).json()
        assert reply["reason"] == "{'instruction_id_list': []}"
    body = {"prompt": "x", "response": "[1, 2]", "label": "[1, 2]"}
    assert post(obedient_url, "/slime", body).json() == 1.0


def test_mode_and_budget_of_the_settings_reach_the_verifier(serve, make_pack):
    make_pack("mirror", MIRROR, distribution="fake-mirror")
    budget = {"prompt_tokens": 5, "completion_tokens": 6, "overlong": "zero"}
    url = serve({"mirror": {"mode": "think", "budget": budget}})
    body = {"prompt": "x", "response": "<think>a</think>b", "label": "tell"}
    assert post(url, "/slime?shape=dict", body).json()["reason"] == "think 6 zero"
    turns = [{"role": "assistant", "content": "x"}]
    body = {"messages": turns, "ground_truth": "tell", "finish_reason": "length"}
    assert post(url, "/evaluate", body).json()["score"] == 0.0


def test_without_a_pack_that_runs_programs_there_are_no_program_routes(obedient_url):
    for path in ("/run_code", "/test_program", "/test_program_stdio"):
        assert post(obedient_url, path, {}).status_code == 404


def test_sandbox_fusion_by_its_documented_shape(runner_url):
    body = {"code": "print(input())", "language": "python", "stdin": "hello", "compile_timeout": 10,
            "run_timeout": 10, "memory_limit_MB": 1024, "files": {}, "fetch_files": []}  # fmt: skip
    reply = post(runner_url, "/run_code", body).json()
    seconds = reply["run_result"].pop("execution_time")
    assert seconds > 0
    assert reply == {
        "status": "Success",
        "message": "",
        "compile_result": None,
        "run_result": {"status": "Finished", "return_code": 0, "stdout": "hello\n", "stderr": ""},
        "executor_pod_name": None,
        "files": {},
    }


@pytest.mark.parametrize(
    ("code", "status", "run_status", "return_code"),
    [("raise SystemExit(3)", "Failed", "Finished", 3), ("while True: pass", "Failed",
     "TimeLimitExceeded", None), ("#fault", "SandboxError", None, None)],
)  # fmt: skip
def test_sandbox_fusion_failures(runner_url, code, status, run_status, return_code):
    reply = post(runner_url, "/run_code", {"code": code, "run_timeout": 0.5}).json()
    run = reply["run_result"] or {"status": None, "return_code": None}
    assert (reply["status"], run["status"], run["return_code"]) == (status, run_status, return_code)
    assert reply["message"] == ("RuntimeError: no sandbox" if code == "#fault" else "")


def test_open_instruct_by_its_documented_shape(runner_url):
    program = "def double(n):\n    return 2 * n"
    tests = ["assert double(2) == 4", "assert double(2) == 5", "while True: pass"]
    body = {"program": program, "tests": tests, "max_execution_time": 0.5}
    reply = post(runner_url, "/test_program", body).json()
    assert reply["results"] == [1, 0, 0]
    assert len(reply["runtimes"]) == 3
    pairs = [{"input": "2", "output": "4"}, {"input": "3", "output": "7"}]
    body = {"program": "print(2 * int(input()))", "tests": pairs, "max_execution_time": 5}
    assert post(runner_url, "/test_program_stdio", body).json()["results"] == [1, 0]
    assert httpx.get(runner_url + "/health").json() == {"status": "healthy"}


def test_open_instruct_pickled_tests_and_a_broken_sandbox(runner_url):
    reply = post(runner_url, "/test_program", {"program": "", "tests": "gAN9"})
    assert (reply.status_code, reply.json()["code"]) == (422, "encoded")
    reply = post(runner_url, "/test_program", {"program": "#fault", "tests": ["assert 1"]})
    assert (reply.status_code, reply.json()["code"]) == (502, "verifier_error")


def test_open_instruct_too_many_tests(runner_url):
    reply = post(runner_url, "/test_program", {"program": "", "tests": ["assert 1"] * 257})
    assert (reply.status_code, reply.json()["code"]) == (413, "batch_too_large")


@pytest.fixture
def runner_url(serve, make_pack):
    make_pack("runner", RUNNER, distribution="fake-runner")
    return serve("runner")


HEAD = (
    """
import subprocess, sys, time
"""
    + BARE_PACK
    + """
"""
)
MIRROR = (
    HEAD
    + """
@hookimpl
def reward(prompt, completion, budget):
    if prompt.ground_truth == "tell":
        reason = f"{prompt.mode} {budget.completion_tokens} {budget.overlong}"
    else:
        reason = repr(prompt.ground_truth)
    return Reward(score=0.25, reason=reason)
@hookimpl
def examples():
    prompt = Prompt.from_text("e", "x", ground_truth={"instruction_id_list": []})
    yield Example(name="e", kind="right", prompt=prompt, completion=Completion(text="x"), expected=0.25)
"""
)
RUNNER = (
    HEAD
    + """
from cascade_rl.service.programs import Program, ProgramRun, Step
@hookimpl
def reward(completion):
    return 1.0
def run_code(program: Program) -> ProgramRun:
    if program.code.startswith("#fault"):
        raise RuntimeError("no sandbox")
    started = time.monotonic()
    try:
        done = subprocess.run([sys.executable, "-I", "-S", "-c", program.code], input=program.stdin,
                              capture_output=True, text=True, timeout=program.run_timeout_s)
    except subprocess.TimeoutExpired:
        return ProgramRun(run=Step(status="time_limit", seconds=program.run_timeout_s))
    return ProgramRun(run=Step(status="finished", seconds=time.monotonic() - started,
                               return_code=done.returncode, stdout=done.stdout, stderr=done.stderr))
"""
)
