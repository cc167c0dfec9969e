"""Stored rollouts judged again: `cascade rescore` and `cascade why`, on a run made by hand."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from cascade_rl.cli import main
from cascade_rl.replay.advantages import group_advantages, ranks

PACK = """
from pydantic import BaseModel
from cascade_rl import LengthBudget, Prompt, Reward, SamplingParams, hookimpl

class Options(BaseModel):
    strict: bool = False

@hookimpl
def load_prompts():
    return [Prompt.from_text(f"p{n}", f"Say {n}.", ground_truth=str(n), metadata={"unit": "cm"})
            for n in range(40)]

@hookimpl
def reward(prompt, completion, options):
    said = completion.answer
    if said == "crash":
        raise RuntimeError("the verifier's own fault")
    if not options.strict:
        said = said.strip().removesuffix(prompt.metadata.get("unit", "!")).strip()
    right = said == prompt.ground_truth
    return Reward.verdict(right, "exact" if options.strict else "loose", extracted=said)

@hookimpl
def length_budget(): return LengthBudget(prompt_tokens=8, completion_tokens=8, overlong="mask")

@hookimpl
def sampling_params(): return SamplingParams(n=4)
"""
#: prompt: the completions of a group, and what each got (loose).
GROUPS = {
    "p1": [("1", 1.0), ("1 cm", 1.0), ("2", 0.0), ("3", 0.0)],
    "p2": [("2 cm", 1.0), ("2", 1.0), (" 2", 1.0), ("2  cm", 1.0)],
    "p3": [("3 cm", 1.0), ("4", 0.0), ("5", 0.0), ("6", 0.0)],
}


def advantages(scores):
    mean = sum(scores) / len(scores)
    deviation = math.sqrt(sum((s - mean) ** 2 for s in scores) / (len(scores) - 1))
    flat = min(scores) == max(scores)
    return [0.0 if flat else (s - mean) / (deviation + 1e-6) for s in scores]


def write_run(folder, groups=None, rewards=None, components=None, **fields):
    stage = {
        "name": "say",
        "kind": "grpo",
        "domain": "speak",
        "rewards": rewards,
        "masked_in_group": False,
        "resolved": {
            "speak": {
                "options": {},
                "budget": {"prompt_tokens": 8, "completion_tokens": 8, "overlong": "mask"},
            }
        },
    }
    target = folder / "stages" / "say"
    target.mkdir(parents=True)
    (folder / "run.json").write_text(
        json.dumps({"fingerprint": {"cascade": {"stages": [{"kind": "sft"}, stage]}}})
    )
    lines = []
    for prompt, samples in (groups or GROUPS).items():
        gained = advantages([score for _, score in samples])
        for number, (text, score) in enumerate(samples):
            lines.append(
                {
                    "step": 1,
                    "sample": number,
                    "advantage": gained[number],
                    "prompt_id": prompt,
                    "prompt": f"Say {prompt[1:]}.",
                    "mode": "none",
                    "ground_truth": prompt[1:],
                    "completion": text,
                    "finish_reason": "stop",
                    "tokens": 3,
                    "reward": score,
                    "correct": score == 1.0,
                    "status": "scored",
                    "reason": "loose",
                    "truncated": False,
                    "components": components or {},
                    "ms": 0.2,
                    **fields,
                }
            )
    (target / "rollouts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture
def run(tmp_path, make_pack):
    make_pack("speak", PACK)
    return write_run(tmp_path / "run")


@pytest.fixture
def cascade(capsys):
    def call(*arguments):
        try:
            main([str(a) for a in arguments])
        except SystemExit as end:
            captured = capsys.readouterr()
            return end.code, captured.out, captured.err
        raise AssertionError

    return call


def rescored(cascade, run, *arguments):
    code, out, err = cascade("rescore", run, "--domain", "speak", "--json", *arguments)
    assert code == 0, err
    (found,) = json.loads(out)
    return found


HALF, TWO = math.sqrt(0.5), math.sqrt(2)  # the sample deviations of 1, 0 and of 3, 1


@pytest.mark.parametrize(
    ("scores", "part", "in_group", "expected"),
    [
        ([1, 0], [True, True], False, [0.5 / (HALF + 1e-6), -0.5 / (HALF + 1e-6)]),
        ([0.1, 0.1, 0.1], [True] * 3, False, [0, 0, 0]),
        ([1, None, 1], [True, False, True], False, [0, 0, 0]),
        ([3, 1, 9], [True, True, False], False, [1 / (TWO + 1e-6), -1 / (TWO + 1e-6), 0]),
        ([3, 1, 2], [True, True, False], True, [1 / (1 + 1e-6), -1 / (1 + 1e-6), 0]),
        ([5], [True], False, [0]),
    ],
)  # fmt: skip
def test_advantages_worked_by_hand(scores, part, in_group, expected):
    assert group_advantages(scores, part, masked_in_group=in_group) == pytest.approx(expected)


def test_equal_scores_share_a_rank_and_the_unscored_have_none():
    assert ranks([0.5, None, 1.0, 0.5]) == [2, None, 1, 2]


def test_the_same_options_change_nothing(cascade, run):
    found = rescored(cascade, run)
    assert (found["samples"], found["groups"]) == (12, 3)
    assert (found["flips"], found["groups_reranked"], found["largest_shift"]) == ({}, 0, 0.0)


def test_stricter_options_flip_verdicts_ranks_variance_and_advantages(cascade, run, tmp_path):
    (tmp_path / "other.yaml").write_text("options: {strict: true}\n")
    found = rescored(cascade, run, "--with", tmp_path / "other.yaml")
    assert found["flips"] == {"right to wrong": 5}  # 1 cm, 2 cm, " 2", 2  cm, 3 cm
    assert [f["id"] for f in found["first_flips"]][:2] == ["say:1:p1:1", "say:1:p2:0"]
    assert found["groups_reranked"] == 3
    assert found["groups_lost_variance"] == 1  # p3 is all wrong now
    assert found["groups_gained_variance"] == 1  # p2 was all right
    assert (found["mean_before"], found["mean_after"]) == pytest.approx((7 / 12, 2 / 12))
    before = [a for g in GROUPS.values() for a in advantages([s for _, s in g])]
    strict = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    after = [a for g in strict for a in advantages(g)]
    moved = [abs(a - b) for a, b in zip(after, before, strict=True)]
    assert found["mean_shift"] == pytest.approx(sum(moved) / 12)
    assert found["largest_shift"] == pytest.approx(max(moved))
    assert found["signs_changed"] == 1  # 1 cm: +, now -


def test_other_weights_are_combined_as_in_training(cascade, tmp_path, make_pack):
    make_pack("speak", PACK)
    terms = [{"domain": "speak", "weight": 1.0}]
    run = write_run(tmp_path / "run", rewards=terms)
    change = tmp_path / "w.yaml"
    change.write_text(
        "rewards:\n  - {domain: speak, weight: 2}\n"
        "  - {modifier: length, weight: -0.5, options: {unit: characters, scale: 10}}\n"
    )
    out = tmp_path / "out.jsonl"
    rescored(cascade, run, "--with", change, "-o", out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert lines[0]["id"] == "say:1:p1:0"
    assert lines[0]["reward"] == [1.0, pytest.approx(2 - 0.5 * 0.1)]
    assert lines[1]["reward"] == [1.0, pytest.approx(2 - 0.5 * 0.4)]


def test_truncated_samples_follow_the_rule_that_is_asked_for(cascade, tmp_path, make_pack):
    make_pack("speak", PACK)
    cut = {"finish_reason": "length", "truncated": True, "advantage": 0.0}
    run = write_run(tmp_path / "run", {"p1": [("1", 1.0), ("2", 0.0)]}, **cut)
    assert rescored(cascade, run)["largest_shift"] == 0.0
    (tmp_path / "keep.yaml").write_text("overlong: keep\n")
    kept = rescored(cascade, run, "--with", tmp_path / "keep.yaml")
    assert kept["largest_shift"] == pytest.approx(advantages([1.0, 0.0])[0])
    (tmp_path / "zero.yaml").write_text("overlong: zero\n")
    zeroed = rescored(cascade, run, "--with", tmp_path / "zero.yaml")
    assert (zeroed["flips"], zeroed["largest_shift"]) == ({"right to wrong": 1}, 0.0)


def test_what_cannot_be_judged_again_is_counted_and_never_a_zero(cascade, tmp_path, make_pack):
    make_pack("speak", PACK)
    run = write_run(tmp_path / "run", {"p1": [("1", 1.0), ("crash", 0.0), ("1", 1.0)]})
    found = rescored(cascade, run, "--workers", "0")
    assert (found["unscored_before"], found["unscored_after"]) == (0, 1)
    assert found["flips"] == {"wrong to unscored": 1}
    assert found["groups_lost_variance"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("strict: true", "unknown key 'strict'; the pack's options go under `options:`"),
        ("option: {strict: true}", "unknown key 'option'; did you mean 'options'?"),
        ("overlong: maks", "overlong: Input should be 'mask', 'zero' or 'keep'"),
        ("options: [", "is not YAML"),
        ("options: {strikt: true}", "strikt: no such option; did you mean 'strict'?"),
    ],
)
def test_a_bad_file_is_named_with_what_is_allowed(cascade, run, tmp_path, text, said):
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    code, _, err = cascade("rescore", run, "--domain", "speak", "--with", file)
    assert code == 2
    assert said in err


def test_a_folder_that_is_no_run_and_a_domain_without_a_stage_are_errors(cascade, run, tmp_path):
    code, _, err = cascade("rescore", tmp_path, "--domain", "speak")
    assert (code, "is no run folder: it has no readable run.json" in err) == (2, True)
    code, _, err = cascade("rescore", run, "--domain", "maths")
    assert (code, "no RL stage of domain 'maths'; it has stages of: speak" in err) == (2, True)
    code, _, err = cascade("rescore", run, "--domain", "speak", "--stage", "x")
    assert (code, "no stage 'x' of domain 'speak'; it has: say" in err) == (2, True)
    with (run / "stages" / "say" / "rollouts.jsonl").open("a") as file:
        file.write('{"step": 1}\n')
    code, _, err = cascade("rescore", run, "--domain", "speak")
    assert (code, "rollouts.jsonl:13: not a rollout" in err) == (2, True)


def test_why_tells_the_whole_story(cascade, run):
    code, out, _ = cascade("why", "say:1:p1:1", "--run", run)
    assert code == 0
    told = {line[:14].strip(): line[14:] for line in out.splitlines() if line[:14].strip()}
    assert told["sample"] == "say:1:p1:1"
    assert told["ground truth"] == '"1"'
    assert told["completion"] == "'1 cm'"
    assert told["stored"] == "score 1, right; loose; 0.2 ms"
    assert told["advantage"] == "+0.8660"
    assert told["group"] == "0: 1  1: 1  2: 0  3: 0"
    assert told["judged now"].startswith("score 1, right; loose; ")
    assert told["extracted"] == "'1'"
    assert told["cache"] == "not asked (--cache DIR)"


def test_the_command_that_why_gives_replays_the_verdict(cascade, run, tmp_path):
    _, out, _ = cascade("why", "say:1:p1:1", "--run", run)
    command = out.splitlines()[-1].removeprefix("again").strip()
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True,
        env={
            "PYTHONPATH": str(tmp_path / "site-packages"),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    verdict = json.loads(done.stdout)
    assert (verdict["score"], verdict["extracted"]) == (1.0, "1")


def test_why_looks_into_the_cache(cascade, run, tmp_path):
    story = ("why", "say:1:p1:1", "--run", run, "--cache", tmp_path / "cache", "--json")
    assert json.loads(cascade(*story)[1])["cache"] == "miss"
    assert json.loads(cascade(*story)[1])["cache"] == "hit"


def test_part_of_an_id_lists_what_fits_and_the_last_run_is_the_default(
    cascade, run, tmp_path, monkeypatch
):
    (tmp_path / "runs").mkdir()
    run.rename(tmp_path / "runs" / "one")
    monkeypatch.chdir(tmp_path)
    code, out, _ = cascade("why", "p3")
    assert code == 1
    assert out.splitlines()[:2] == ["4 samples fit:", "  say:1:p3:0  score 1  loose"]
    code, _, err = cascade("why", "p9")
    assert (code, "no sample 'p9' in runs/one" in err) == (2, True)
    monkeypatch.chdir(tmp_path / "site-packages")
    code, _, err = cascade("why", "p3")
    assert (code, "there is no run in runs/; name one with --run" in err) == (2, True)
