"""The command: what is listed, what is said when something is missing or broken."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest

from cascade_rl.cli import main

ONE = """
from cascade_rl import LengthBudget, SamplingParams, hookimpl

@hookimpl
def load_prompts(): return []

@hookimpl
def reward(completion, prompt): return completion.answer == prompt.ground_truth

@hookimpl
def length_budget(): return LengthBudget(prompt_tokens=1, completion_tokens=4, overlong="zero")

@hookimpl
def sampling_params(): return SamplingParams()
"""


@pytest.fixture
def cascade(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        captured = capsys.readouterr()
        return end.value.code, captured.out, captured.err

    return run


def test_domains_lists_without_importing_and_check_names_the_broken_one(make_pack, cascade):
    make_pack("one", ONE, distribution="pack-one")
    make_pack("two", "import no_such_mod_q", distribution="pack-two")
    code, out, _ = cascade("domains")
    assert code == 0
    assert ["domain", "one", "pack-one", "1.0"] in [line.split() for line in out.splitlines()]
    code, out, _ = cascade("domains", "--check", "--json")
    problems = {p["name"]: p["problem"] for p in json.loads(out)["packs"]}
    assert code == 1
    assert problems["one"] is None
    assert "pack-two 1.0" in problems["two"]


def test_two_packs_of_one_name_are_both_listed_as_a_problem(make_pack, cascade):
    make_pack("one", ONE, distribution="pack-one")
    make_pack("one", ONE, distribution="pack-two")
    code, out, _ = cascade("domains")
    assert code == 1
    assert out.count("broken: announced by") == 2


def test_a_verb_of_another_distribution_is_found(make_pack, cascade):
    source = "import typer\ndef hail(name: str):\n    'Greet.'\n    typer.echo(f'hail {name}')\n"
    make_pack("hail", source, group="cascade_rl.commands", attribute="hail")
    assert cascade("hail", "you")[:2] == (0, "hail you\n")
    assert "hail" in cascade("--help")[1]


def test_a_broken_verb_leaves_the_others_usable(make_pack, cascade):
    make_pack("hail", "import no_such_mod_q", group="cascade_rl.commands", attribute="hail")
    code, _, err = cascade("hail", "you", "--loud")
    assert code == 2
    assert "error: `cascade hail` cannot be used here: command 'hail' from fake-haiku 1.0" in err
    assert "score" in cascade("--help")[1]


def test_run_without_the_trainer_says_what_to_install(monkeypatch, cascade):
    from cascade_rl.registry import Registry

    monkeypatch.setattr("cascade_rl.cli.Registry", lambda: Registry([]))
    code, _, err = cascade("run", "cascade.yaml")
    assert code == 2
    assert err == ("error: `cascade run` cannot be used here: pip install cascade-rl-trainer\n")


@pytest.fixture
def scored(make_pack, tmp_path, cascade):
    make_pack("one", ONE, distribution="pack-one")

    def score(*lines, more=()):
        source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
        source.write_bytes(b"".join(line + b"\n" for line in lines))
        code, _, err = cascade("score", "one", str(source), "-o", str(target), *more)
        records = [json.loads(line) for line in target.read_text().splitlines()]
        return code, records, err

    return score


def line(**fields):
    return json.dumps({"ground_truth": "a", "completion": "a"} | fields).encode()


def test_score_answers_every_line_in_order(scored):
    code, records, err = scored(line(id="x"), line(completion="b"), line(id=7))
    assert code == 0
    assert [(r["id"], r["score"], r["correct"]) for r in records] == [
        ("x", 1.0, True),
        ("2", 0.0, False),
        (7, 1.0, True),
    ]
    keys = ["id", "score", "correct", "status", "reason", "extracted", "components", "ms"]
    assert all(list(r) == keys for r in records)
    assert err == "3 scored, 2 correct\n"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"nonsense", "line 2: not JSON: Expecting value: line 1 column 1 (char 0)"),
        (b'{"ground_truth": NaN, "completion": ""}', "line 2: not JSON: NaN is no JSON value"),
        (b'{"completion": "a"}', "line 2: key 'ground_truth' is missing"),
        (
            b'{"ground_truth": 1, "completion": "", "promt": ""}',
            "line 2: unknown key 'promt'; did you mean 'prompt'?",
        ),
        (b"[1]", "line 2: the line: Input should be a valid dictionary"),
        (b'{"ground_truth": 1, "completion": 5}', "line 2: completion: Input should be a valid st"),
        (b'{"ground_truth": 1, "completion": "\xff"}', "line 2: not JSON: 'utf-8' codec can't de"),
        (
            b'{"ground_truth": 1, "completion": "", "mode": "x"}',
            "line 2: mode: Input should be 'th",
        ),
        (b"[" * 100_000, "line 2: not JSON"),
    ],
)
def test_a_malformed_line_is_an_error_with_its_number_and_the_rest_is_scored(scored, bad, reason):
    code, records, err = scored(line(id="x"), bad, line(id="z"))
    assert code == 1
    assert [r["score"] for r in records] == [1.0, None, 1.0]
    assert records[1]["status"] == "error"
    assert records[1]["reason"].startswith(reason)
    assert err == "2 scored, 2 correct; 1 not scored: 1 error\n"


@pytest.mark.parametrize(
    ("mode", "completion", "score"),
    [
        ("none", "thoughts</think> a ", 1.0),
        ("none", "a", 1.0),
        ("think", "thoughts</think>a", 1.0),
        ("think", "b</think>c", 0.0),
    ],
)
def test_the_answer_is_what_follows_the_thoughts(scored, mode, completion, score):
    _, (record,), _ = scored(line(mode=mode, completion=completion))
    assert record["score"] == score


def test_a_truncated_completion_costs_what_its_budget_says(scored):
    budget = {"prompt_tokens": 1, "completion_tokens": 1, "overlong": "zero"}
    _, records, _ = scored(
        line(finish_reason="length"), line(finish_reason="length", budget=budget)
    )
    assert [r["score"] for r in records] == [1.0, 0.0]


def test_chat_messages_are_a_prompt_too(scored):
    _, (record,), _ = scored(line(prompt=[{"role": "user", "content": "?"}]))
    assert record["score"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("score", "one", "missing.jsonl"), "error: cannot open missing.jsonl: No such file"),
        (("score", "oen", "missing.jsonl"), "error: no domain 'oen' is installed; did you mean 'one'"),
        (("score", "one", "missing.jsonl", "--option", "x=1"), "x: this pack takes no options"),
        (("score", "one", "missing.jsonl", "--option", "x"), "--option takes key=value, got 'x'"),
    ],
)  # fmt: skip
def test_unusable_input_is_exit_code_2(
    make_pack, cascade, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    make_pack("one", ONE, distribution="pack-one")
    code, _, err = cascade(*arguments)
    assert code == 2
    assert message in err


def test_the_input_is_never_overwritten(make_pack, cascade, tmp_path):
    make_pack("one", ONE, distribution="pack-one")
    source = tmp_path / "in.jsonl"
    source.write_bytes(line())
    code, _, err = cascade("score", "one", str(source), "-o", str(source))
    assert code == 2
    assert "is the input itself" in err
    assert source.read_bytes() == line()


def test_the_version(cascade, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"cascade-rl {version('cascade-rl')}\n"
