"""The table in docs/service.md of what a sample without a score becomes: each cell is a test."""

from __future__ import annotations

import asyncio
import re
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from cascade_rl.client import verl
from cascade_rl.client.trl import RemoteReward
from cascade_rl.service.embedded import running
from cascade_rl.service.settings import ServiceSettings
from cascade_rl.testing import write_pack

DOCUMENT = Path(__file__).parents[2] / "docs" / "service.md"
COMPLETIONS = {"abstained": "abstain", "bad_prompt": "bad", "timeout": "hang", "error": "raise"}
BUDGET = {"prompt_tokens": 9, "completion_tokens": 9, "overlong": "mask"}


def table():
    text = DOCUMENT.read_text()
    text = text[text.index("| dialect | abstained") :].partition("\n\n")[0]
    head, *rows = [row.split(" | ") for row in re.findall(r"^\| (.+) \|$", text, re.MULTILINE)]
    pairs = [(row[0], zip(head[1:], row[1:], strict=True)) for row in rows]
    return {(dialect, column): cell for dialect, cells in pairs for column, cell in cells}


CELLS = table()


def post(url, path, body):
    return httpx.post(url + path, json=body, timeout=60)


def native(url, text, truncated):
    item = {"ground_truth": "it", "completion": text}
    if truncated:
        item |= {"finish_reason": "length", "budget": BUDGET}
    reply = post(url, "/v1/rewards", {"domain": "obedient", "items": [item]})
    (record,) = reply.json()["rewards"]
    score = "null" if record["score"] is None else record["score"]
    return f"{reply.status_code} {score}" + (", truncated" if record["truncated"] else "")


def plain(reply, read):
    if reply.status_code == 200:
        return f"200 {read(reply.json())}"
    return f"{reply.status_code} {reply.json()['code']}"


def openrlhf(url, text, truncated):
    body = {"query": ["Q" + text], "prompts": ["Q"], "labels": ["it"]}
    return plain(post(url, "/get_reward", body), lambda reply: reply["rewards"][0])


def slime(url, text, truncated):
    body = {"prompt": "Q", "response": text, "label": "it"}
    return plain(post(url, "/slime", body), lambda reply: reply)


def nemo_gym(url, text, truncated):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    response = {"output": [{"type": "message", "role": "assistant", "content": content}]}
    if truncated:
        response["incomplete_details"] = {"reason": "max_output_tokens"}
    body = {
        "responses_create_params": {"input": "Q"},
        "response": response,
        "expected_answer": "it",
    }
    reply = post(url, "/verify", body)
    row = reply.json()
    if "_ng_failure_class" not in row:
        return f"{reply.status_code} {row['reward']}"
    assert row["reward"] == 0.0
    terminal = ", terminal" if row.get("_ng_failure_terminal") else ""
    return f"{reply.status_code} tagged {row['_ng_failure_class']}{terminal}"


def eval_protocol(url, text, truncated):
    body = {"messages": [{"role": "assistant", "content": text}], "ground_truth": "it"}
    if truncated:
        body["finish_reason"] = "length"
    return plain(post(url, "/evaluate", body), lambda reply: reply["score"])


def trl(url, text, truncated):
    reward = RemoteReward(url, "obedient")
    try:
        (value,) = asyncio.run(reward(prompts=["Q"], completions=[text], ground_truth=["it"]))
    finally:
        reward.close()
    return str(value)


def verl_function(url, text, truncated):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(verl.URL, url)
        try:
            return asyncio.run(verl.compute_score("obedient", text, "it"))["score"]
        except verl.Unscored:
            return "raises Unscored"
        finally:
            verl.close()


ASK = {
    "native": native,
    "OpenRLHF": openrlhf,
    "slime": slime,
    "NeMo Gym": nemo_gym,
    "eval-protocol": eval_protocol,
    "TRL": trl,
    "verl": verl_function,
}


@pytest.fixture(scope="module")
def urls(tmp_path_factory):
    """A service that gives errors, and one that gives a stand-in."""
    site = tmp_path_factory.mktemp("site-packages")
    source = (Path(__file__).parent / "packs" / "obedient.py").read_text()
    domains = {"obedient": {"timeout_s": 0.5, "budget": BUDGET}}
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(site))
        patch.setenv("XDG_CACHE_HOME", str(site / "cache"))
        write_pack(site, "obedient", source, distribution="fake-obedient")
        yield [
            stack.enter_context(running(ServiceSettings(domains=domains, unscored_as=number)))
            for number in (None, -1.0)
        ]


def test_the_table_is_complete():
    columns = [*COMPLETIONS, "masked", "with `--unscored-as -1`"]
    assert set(CELLS) == {(dialect, column) for dialect in ASK for column in columns}


@pytest.mark.parametrize(("dialect", "column"), CELLS, ids=lambda value: str(value))
def test_cell(urls, dialect, column):
    ask, cell = ASK[dialect], CELLS[dialect, column]
    if column in COMPLETIONS:
        assert ask(urls[0], COMPLETIONS[column], False) == cell
    elif column == "masked" and cell == "not in the format":
        assert "length" not in ask.__code__.co_consts  # the request has no place to say it
    elif column == "masked":
        assert ask(urls[0], "it", True) == cell
    else:
        for text in ("abstain", "raise"):
            assert ask(urls[1], text, False) == cell
        counted = httpx.get(urls[1] + "/metrics").text
        name = {"NeMo Gym": "nemo-gym"}.get(dialect, dialect.lower())
        there = f'cascade_stand_ins_total{{dialect="{name}",domain="obedient"}}' in counted
        assert there is cell.startswith("200 -1")


def test_stand_ins_are_used_for_no_sample_with_a_score(urls):
    for dialect in ("OpenRLHF", "slime", "NeMo Gym", "eval-protocol"):
        assert ASK[dialect](urls[1], "that", False) == "200 0.0"


GOLDEN = """

@hookimpl
def gold_completion(prompt):
    return prompt.ground_truth
"""
FAULTS = ("nan", "raise", "segfault", "die")


@pytest.mark.parametrize("blame", [False, True])
def test_a_fault_is_a_number_only_where_the_service_is_told_to_blame(serve, make_pack, blame):
    source = (Path(__file__).parent / "packs" / "obedient.py").read_text() + GOLDEN
    make_pack("obedient", source, distribution="fake-obedient")
    url = serve({"obedient": {"blame": blame}})
    items = [{"ground_truth": "it", "completion": text} for text in FAULTS]
    body = {"domain": "obedient", "items": items}
    found = httpx.post(url + "/v1/rewards", json=body, timeout=60).json()["rewards"]
    wanted = [0.0, 0.0, 0.0, None] if blame else [None] * 4  # who was killed is not to blame
    assert [r["score"] for r in found] == wanted
    counted = 'cascade_blamed_total{domain="obedient"} 3.0' in httpx.get(url + "/metrics").text
    assert counted is blame
