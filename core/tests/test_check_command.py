"""`cascade check`: what it prints, its exit codes, and the verdict card."""

from __future__ import annotations

import json

import pytest

from cascade_rl.cli import main

PACK = """
from cascade_rl import Example, Completion, LengthBudget, Prompt, Reward, SamplingParams, hookimpl

def question(n): return Prompt.from_text(f"double-{n}", f"Double {n}.", ground_truth=2 * n)

@hookimpl
def load_prompts(): return [question(n) for n in range(1, 60)]

@hookimpl
def reward(prompt, completion):
    right = completion.answer == str(prompt.ground_truth)
    return Reward.verdict(right, extracted=completion.answer)

@hookimpl
def length_budget(): return LengthBudget(prompt_tokens=8, completion_tokens=8)

@hookimpl
def sampling_params(): return SamplingParams()

@hookimpl
def gold_completion(prompt): return str(prompt.ground_truth)

@hookimpl
def examples():
    wrong = Completion(text="5")
    return [Example(name="odd", kind="wrong", prompt=question(3), completion=wrong, expected=0)]
"""
BLIND = PACK.replace("completion.answer == str(prompt.ground_truth)", "True")


@pytest.fixture
def cascade(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return run


def test_a_good_pack_gets_exit_code_0_and_says_what_was_skipped_and_why(make_pack, cascade):
    make_pack("double", PACK)
    code, out, _ = cascade("check", "double")
    assert code == 0
    assert out.splitlines()[0] == "domain double  (fake-haiku 1.0)"
    assert "skipped demonstrations" in out
    assert "the pack has no load_demonstrations; only SFT stages need it" in out
    assert out.splitlines()[-1] == "29 ok, 0 failed, 2 skipped"


def test_a_failing_line_says_what_was_given_got_and_expected_and_how_to_run_it_again(
    make_pack, cascade
):
    make_pack("double", BLIND)
    code, out, _ = cascade("check", "double", "--only", "wrong")
    assert code == 1
    assert out.splitlines()[1:] == [
        "failed  wrong           wrong completions get less",
        "        given     example 'odd' (wrong): '5'",
        "        got       score 1, correct=True",
        "        expected  less than full reward, not correct",
        "        again     cascade check double --only wrong",
        "0 ok, 1 failed, 0 skipped",
    ]


def test_json_holds_the_same(make_pack, cascade):
    make_pack("double", BLIND)
    code, out, _ = cascade("check", "double", "--only", "wrong", "--json")
    report = json.loads(out)
    assert code == 1
    assert (report["kind"], report["name"]) == ("domain", "double")
    (result,) = report["results"]
    assert (result["check"], result["outcome"]) == ("wrong", "failed")
    assert result["findings"][0]["got"] == "score 1, correct=True"


def test_the_command_to_run_it_again_keeps_the_options(make_pack, cascade):
    source = PACK + (
        "\nfrom pydantic import BaseModel\n\nclass Options(BaseModel):\n    top: int\n"
    )
    make_pack("double", source)
    code, out, _ = cascade("check", "double", "--only", "options", "--option", "top=0.5")
    assert code == 1
    assert "again     cascade check double --option top=0.5 --only options" in out


def test_a_pack_that_does_not_load_fails_one_check_and_the_others_wait(make_pack, cascade):
    make_pack("double", PACK.replace("completion)", "completon)"))
    code, out, _ = cascade("check", "double")
    assert code == 1
    assert "hook 'reward' has no argument 'completon'; did you mean 'completion'?" in out
    assert "not run, because another check failed: options, import" in out
    assert out.splitlines()[-1] == "0 ok, 1 failed, 30 skipped"


def test_a_pack_that_hangs_while_it_loads_is_a_failing_line(make_pack, cascade, monkeypatch):
    monkeypatch.setattr("cascade_rl.testing.probe.START_S", 1.0)
    make_pack("double", "import time\ntime.sleep(60)")
    code, out, _ = cascade("check", "double", "--only", "hooks")
    assert code == 1
    assert "got       no answer within 1 s" in out


def test_unknown_names_are_errors_with_the_nearest_ones(make_pack, cascade):
    make_pack("double", PACK)
    code, _, err = cascade("check", "doubel")
    assert (code, "did you mean 'double'?" in err) == (2, True)
    code, _, err = cascade("check", "double", "--only", "golds")
    assert (code, "no check 'golds'; did you mean 'gold'?" in " ".join(err.split())) == (2, True)


def test_a_modifier_has_a_kit_of_its_own(make_pack, cascade):
    source = (
        "from cascade_rl import hookimpl\n@hookimpl\n"
        "def modify(completion): return 1 / len(completion.text)\n"
    )
    make_pack("short", source, group="cascade_rl.modifiers")
    code, out, _ = cascade("check", "short", "--modifier")
    assert code == 1
    assert "failed  raises" in out
    assert "got       ZeroDivisionError: division by zero" in out
    assert "again     cascade check short --modifier --only raises" in out


def test_the_card_counts_errors_and_is_kept_until_it_gets_worse(make_pack, cascade, tmp_path):
    folder = tmp_path / "pack"
    folder.mkdir()
    module = make_pack("double", PACK)
    card = ("check", "double", "--card-to", str(folder))
    assert cascade(*card)[0] == 0
    good = json.loads((folder / "card.json").read_text())
    assert (good["false_positives"], good["false_negatives"], good["unscored"]) == ([], [], [])
    assert (good["right"] > 20, good["wrong"]) == (True, 1)
    assert "| 1 wrong completions | 0 false positives |" in (folder / "CARD.md").read_text()
    (tmp_path / "site-packages" / f"{module}.py").write_text(BLIND)
    code, out, err = cascade(*card)
    assert code == 1
    assert "- false positives: example 'odd' (wrong)" in out
    assert "worse than" in err
    assert "false positives: 1 of 1, before 0 of 1; new: example 'odd' (wrong)" in err
    assert json.loads((folder / "card.json").read_text()) == good
    assert cascade(*card, "--accept")[0] == 0
    assert json.loads((folder / "card.json").read_text())["false_positives"] != []


def test_the_card_takes_labelled_completions_from_a_file(make_pack, cascade, tmp_path):
    make_pack("double", PACK)
    lines = [
        {"ground_truth": 4, "completion": "four", "label": True},
        {"ground_truth": 4, "completion": "4", "label": True},
    ]
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    code, out, _ = cascade(
        "check", "double", "--card-to", str(tmp_path), "--labelled", str(file), "--json"
    )
    assert code == 0
    assert json.loads(out)["false_negatives"] == ["labels.jsonl:1"]
    file.write_text('{"ground_truth": 4, "completion": "4"}')
    code, _, err = cascade("check", "double", "--card-to", str(tmp_path), "--labelled", str(file))
    assert (code, "labels.jsonl:1: not a line of `cascade score` with a label: 'label'" in err) == (
        2,
        True,
    )


def test_a_card_without_a_place_says_where_it_could_go(make_pack, cascade):
    make_pack("double", PACK)
    code, _, err = cascade("check", "double", "--card")
    assert code == 2
    assert "so its card has no place: give one with --card-to" in err
