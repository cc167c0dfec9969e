"""Files to prompts, and what the hygiene report finds."""

from __future__ import annotations

import gzip
import json

import pytest

from cascade_rl.errors import DataError
from cascade_rl_code import Options
from cascade_rl_code.loading import demonstrate, load

TRUTH = {
    "language": "python",
    "tests": [{"stdin": "1", "stdout": "1"}, {"stdin": "2", "stdout": "2"}],
}
ROW = {"prompt": "Echo the line.", "ground_truth": TRUTH, "solution": "print(input())"}


def truth(*tests, **more):
    return ROW | {
        "prompt": str((tests, more)),
        "ground_truth": TRUTH | {"tests": list(tests)} | more,
    }


@pytest.fixture
def write(tmp_path):
    def write(*rows, name="data.jsonl"):
        path = tmp_path / name
        text = "\n".join(map(json.dumps, rows)) if "jsonl" in name else json.dumps(rows)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.mark.parametrize("name", ["data.jsonl", "data.jsonl.gz", "data.json"])
def test_files(write, name):
    (prompt,), report = load("train", Options(source="jsonl", path=write(ROW, name=name)))
    assert prompt.ground_truth == TRUTH
    assert prompt.id.startswith("code-")
    assert prompt.mode == "think"
    assert prompt.metadata == {"source": "jsonl", "solution": "print(input())"}
    assert prompt.text.startswith("Echo the line.\n\nWrite a program in Python 3 that reads")
    assert "```python" in prompt.text
    assert (report.rows, report.kept, list(report.lines())) == (
        1, 1, ["1 of 1 problems can be judged"],
    )  # fmt: skip


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    row = {"task_id": 1, "text": "Add.", "code": "x", "test_list": ["assert add(1, 2) == 3"]}
    path = tmp_path / "mbpp.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([row]), path)
    (prompt,), _ = load("train", Options(source="mbpp", path=path))
    assert prompt.ground_truth["tests"] == [{"assert": "assert add(1, 2) == 3"}]
    assert prompt.id == "MBPP/1"


def test_ids_do_not_depend_on_the_order_of_the_file(write):
    other = ROW | {"prompt": "Another."}
    options = Options(source="jsonl", path=write(ROW, other))
    turned = Options(source="jsonl", path=write(other, ROW, name="turned.jsonl"))
    assert {p.id for p in load("train", options)[0]} == {p.id for p in load("train", turned)[0]}


def test_splits_and_count(write):
    options = Options(
        source="jsonl", path=write(ROW), eval_path=write(ROW, name="e.jsonl"), count=1
    )
    assert len(load("eval", options)[0]) == 1
    assert load("eval", options.model_copy(update={"eval_path": None}))[0] == []
    assert load("eval", Options())[0] == []
    assert len(load("train", Options(count=3))[0]) == 3


STDIN = {"stdin": "1", "stdout": "1"}
MANY = "If there are several answers, print any of them."


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (truth(), "there are no tests"),
        (truth({"stdin": "1"}), "needs a checker"),
        (truth({"stdout": "1", "args": [1]}), "returns, not stdout"),
        (truth({"stdin": "1", "stdout": "1", "assert": "assert f()"}), "stdin and assert"),
        (truth({"args": [1], "returns": 1}), "args without function"),
        (truth({"args": [1]}, function="f"), "needs returns"),
        (truth({"assert": "assert f(1"}), "no Python"),
        (truth({"assert": "assert 1 == 1"}), "calls nothing"),
        (truth(STDIN, language="cobol"), "cobol"),
        (truth({"assert": "assert f()"}, language="cpp"), "for python"),
        (truth(STDIN, checker="wcpm"), "no checker is called 'wcpm'"),
        (truth(STDIN, subtasks=[{"points": 1, "tests": [1]}]), "names test 1, but there are 1"),
        (truth(STDIN, many_answers=True), "no checker"),
        (truth(STDIN, limit={"cpu_s": 1}), "limit"),
        (truth(STDIN, limits={"cpu_s": 0}), "cpu_s"),
        (truth(STDIN, {"stdin": "1", "stdout": "2"}), "input of an earlier test"),
        (ROW | {"prompt": f"Print a divisor. {MANY}"}, "several answers, print any"),
        (ROW | {"prompt": "Print any divisor of n other than 1."}, "Print any"),
        (ROW | {"prompt": "This is an interactive problem."}, "without an interactor"),
        ({"prompt": "x"}, "ground_truth"),
    ],
)
def test_problems_that_cannot_be_judged_are_left_out_and_named(write, row, why, caplog):
    path = write(ROW, row)
    prompts, report = load("train", Options(source="jsonl", path=path))
    assert len(prompts) == 1
    ((place, reason),) = report.bad
    assert place == f"{path}:2"
    assert why in reason
    assert f"1 left out: {path}:2: " in caplog.text
    with pytest.raises(DataError, match=r"data.jsonl:2: .*bad_rows: drop"):
        load("train", Options(source="jsonl", path=path, bad_rows="error"))


@pytest.mark.parametrize(
    "row",
    [
        ROW | {"prompt": MANY, "ground_truth": TRUTH | {"checker": "uncmp", "many_answers": True}},
        truth({"assert": "assert f(1) == 1"}) | {"prompt": f"Write f. {MANY}"},
        ROW | {"prompt": "It can be done in any way, with any of the tools."},
        truth({"stdout": "1"}),
    ],
)
def test_problems_that_can(write, row):
    assert len(load("train", Options(source="jsonl", path=write(row)))[0]) == 1


def test_many_answers_may_be_kept(write):
    path = write(ROW | {"prompt": MANY})
    with pytest.raises(DataError, match="no problem can be used"):
        load("train", Options(source="jsonl", path=path))
    assert load("train", Options(source="jsonl", path=path, many_answers="keep"))[1].kept == 1


def test_repeated_tests_and_problems(write, caplog):
    repeated = truth(STDIN, STDIN, {"stdin": "2", "stdout": "2"}, STDIN)
    path = write(repeated, repeated)
    (prompt,), report = load("train", Options(source="jsonl", path=path))
    assert prompt.ground_truth["tests"] == [STDIN, {"stdin": "2", "stdout": "2"}]
    assert report.duplicate_tests == {f"{path}:1": 2}
    assert report.duplicate_problems == [f"{path}:2 (as {path}:1)"]
    assert "1 problems with repeated tests (removed)" in caplog.text


def test_numbers_of_tests(write):
    tests = [{"stdin": "x" * n, "stdout": "1"} for n in (1, 9, 3, 7)]
    path = write(truth(*tests), ROW)
    (prompt, _), _ = load("train", Options(source="jsonl", path=path, max_tests=2))
    assert prompt.ground_truth["tests"] == [tests[1], tests[3]]
    _, report = load("train", Options(source="jsonl", path=path, min_tests=3))
    assert report.bad == [(f"{path}:2", "2 tests, fewer than min_tests (3)")]


def test_reference_solutions_are_run_on_demand(sandbox, write):
    path = write(ROW, ROW | {"prompt": "Other.", "solution": "print(1)"})
    _, report = load("train", Options(source="jsonl", path=path, check_solutions=True))
    assert report.failing_solutions == [(f"{path}:2", "WA on test 2 of 2: token 1 differs")]
    assert report.kept == 1


def test_demonstrations(write):
    path = write(ROW, {k: v for k, v in ROW.items() if k != "solution"} | {"prompt": "Other."})
    (shown,) = demonstrate("train", Options(source="jsonl", path=path))
    assert shown.completion == "<think>\n\n</think>\n\n```python\nprint(input())\n```"
    (shown,) = demonstrate("train", Options(source="jsonl", path=path, mode="no_think"))
    assert shown.completion == "```python\nprint(input())\n```"
    bare = write({k: v for k, v in ROW.items() if k != "solution"}, name="bare.jsonl")
    with pytest.raises(DataError, match="no solutions to imitate"):
        demonstrate("train", Options(source="jsonl", path=bare))


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.jsonl", "{", "a.jsonl:1: not JSON"),
        ("a.jsonl", "\n[1]", "a.jsonl:2: not a JSON object but a list"),
        ("a.json", "{}", "a list of objects is read"),
        ("a.csv", "", "allowed: .jsonl"),
        ("a.parquet", "x", "not a readable parquet file"),
        ("a.jsonl.gz", "x", "cannot be read"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, text, why):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError, match=why):
        load("train", Options(source="jsonl", path=path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        load("train", Options(source="jsonl", path=tmp_path / "none.jsonl"))


@pytest.mark.parametrize(
    ("source", "name", "kept"),
    [("deepcoder", "code_stdin_problems", 61), ("leetcode", "code_leetcode", 40)],
)
def test_samples_of_public_data(shared, source, name, kept):
    """The rest asks for any of several answers, or is cut off in the middle of a test."""
    _, report = load("train", Options(source=source, path=shared / "corpora" / f"{name}.jsonl.gz"))
    assert report.kept == kept
    allowed = ("many answers", "no Python program", "calls nothing")
    assert [why for _, why in report.bad if not any(text in why for text in allowed)] == []
