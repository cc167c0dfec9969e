"""Problems from files: every layout, and every way a row can be wrong."""

from __future__ import annotations

import builtins
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from cascade_rl.errors import DataError
from cascade_rl.types import Completion
from cascade_rl_math import Options, gold_completion, load_demonstrations, load_prompts, reward

DATA = Path(__file__).parent / "data"


def options(source: str, name: str, **fields: Any) -> Options:
    return Options(source=source, path=str(DATA / name), **fields)


@pytest.mark.parametrize(
    ("source", "name", "golds"),
    [
        ("problem_answer", "problem_answer.jsonl", ["36", r"\frac{2}{3}", "x=2, x=-2"]),
        ("problem_answer", "problem_answer.parquet", ["36", r"\frac{2}{3}", "x=2, x=-2"]),
        ("gsm8k", "gsm8k.jsonl", ["21", "1250"]),
        ("math", "math.jsonl", [r"\frac{3}{4}", r"(-\infty, 5)"]),
    ],
)
def test_every_layout(source: str, name: str, golds: list[str]) -> None:
    chosen = options(source, name)
    prompts = load_prompts("train", chosen)
    assert [prompt.ground_truth for prompt in prompts] == golds
    assert all(prompt.text.endswith("\n\nGive the final answer inside \\boxed{}.")
               for prompt in prompts)  # fmt: skip
    assert all(prompt.mode == "think" for prompt in prompts)
    for prompt in prompts:
        gold = gold_completion(prompt)
        assert gold is not None
        assert reward(prompt, Completion(text=gold), chosen).score == 1.0


def test_ids_come_from_the_problem_alone() -> None:
    one = load_prompts("train", options("problem_answer", "problem_answer.jsonl"))
    two = load_prompts("train", options("problem_answer", "problem_answer.parquet", mode="none",
                                        prompt_suffix=""))  # fmt: skip
    assert [p.id for p in one] == [p.id for p in two]
    assert two[0].text == "What is 6 squared?"
    assert one[0].id == "math-feb89f143f0ee3ae"


def test_eval_has_a_file_of_its_own_or_is_empty() -> None:
    alone = options("problem_answer", "problem_answer.jsonl")
    assert load_prompts("eval", alone) == []
    paired = options("gsm8k", "gsm8k.jsonl", eval_path=str(DATA / "gsm8k.jsonl"))
    assert [p.ground_truth for p in load_prompts("eval", paired)] == ["21", "1250"]


def test_demonstrations_end_in_the_gold() -> None:
    first, _ = load_demonstrations("train", options("gsm8k", "gsm8k.jsonl"))
    assert first.completion == (
        "<think>\nMia buys 3 boxes of 7 pens.\nThat is 3 * 7 = 21 pens.\n</think>\n\n\\boxed{21}"
    )
    first, _ = load_demonstrations("train", options("math", "math.jsonl", mode="none"))
    assert first.completion == "Half of it and a quarter are $\\boxed{\\frac{3}{4}}$."
    first, _ = load_demonstrations("train", options("gsm8k", "gsm8k.jsonl", mode="none"))
    assert first.completion.endswith("21 pens.\n\n\\boxed{21}")


def test_answers_alone_cannot_be_demonstrated() -> None:
    with pytest.raises(DataError, match="has answers but no solutions to imitate"):
        load_demonstrations("train", options("problem_answer", "problem_answer.jsonl"))


def test_count() -> None:
    chosen = options("problem_answer", "problem_answer.jsonl", count=2)
    assert len(load_prompts("train", chosen)) == 2


def write(path: Path, *rows: object) -> str:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n"
                            for row in rows))  # fmt: skip
    return str(path)


def test_answers_that_cannot_be_verified_are_dropped_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write(
        tmp_path / "p.jsonl",
        {"problem": "1+1", "answer": "2"},
        {"problem": "prove it", "answer": "see the figure below"},
        {"problem": "how many", "answer": "(7-2"},
        {"problem": "how large", "answer": "9^{9^{9}}"},
        {"problem": "1+1", "answer": "2"},
    )
    with caplog.at_level(logging.WARNING, logger="cascade_rl_math"):
        prompts = load_prompts("train", Options(source="problem_answer", path=path))
    assert [prompt.ground_truth for prompt in prompts] == ["2"]
    bad, repeated = caplog.messages
    assert bad.startswith("dropped 3 rows, answers that cannot be verified: ")
    assert f"{path}:2: the ground truth 'see the figure below' is prose" in bad
    assert f"{path}:3: the ground truth '(7-2' cannot be read: a bracket never closes" in bad
    assert f"{path}:4: the answer is too large to evaluate" in bad
    assert repeated == f"dropped 1 rows, problems that came before: {path}:5"


def test_bad_rows_can_be_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", {"problem": "1+1", "answer": "see the figure below"})
    chosen = Options(source="problem_answer", path=path, bad_rows="error")
    with pytest.raises(DataError, match=rf"{path}:1: .* is prose"):
        load_prompts("train", chosen)


@pytest.mark.parametrize(
    ("source", "row", "message"),
    [
        ("problem_answer", "{", ":1: not a JSON object"),
        ("problem_answer", "[1]", ":1: not a JSON object but a list"),
        ("problem_answer", {"problem": "1+1"},
         ":1: field 'answer' is missing; the row has the fields problem"),
        ("problem_answer", {"problem": "1+1", "answer": " "}, ":1: field 'answer' is empty"),
        ("problem_answer", {"problem": "1+1", "answer": None}, ":1: field 'answer' is empty or no"),
        ("problem_answer", {"problem": ["1"], "answer": "2"}, ":1: field 'problem' is empty or no"),
        ("gsm8k", {"question": "1+1", "answer": "it is 2"}, ":1: field 'answer' has no '#### n"),
        ("math", {"problem": "1+1", "solution": "it is 2"}, ":1: field 'solution' has no answer"),
    ],
)  # fmt: skip
def test_a_malformed_row_is_named(tmp_path: Path, source: str, row: object, message: str) -> None:
    path = write(tmp_path / "p.jsonl", row)
    with pytest.raises(DataError) as caught:
        load_prompts("train", Options(source=source, path=path))
    assert str(caught.value).startswith(path + message)


def test_numbers_are_answers_too(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", {"problem": "1+1", "answer": 2})
    (prompt,) = load_prompts("train", Options(source="problem_answer", path=path))
    assert prompt.ground_truth == "2"


def test_a_file_that_is_not_there_or_no_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere\.jsonl: no such file; check the option `path`"):
        load_prompts("train", Options(source="gsm8k", path=str(tmp_path / "nowhere.jsonl")))
    with pytest.raises(DataError, match=r"cannot read files of type '\.csv'; allowed: \.jsonl, "):
        load_prompts("train", Options(source="gsm8k", path=str(tmp_path / "p.csv")))
    broken = tmp_path / "p.parquet"
    broken.write_bytes(b"PAR1 no")
    with pytest.raises(DataError, match=r"p\.parquet: not a readable parquet file"):
        load_prompts("train", Options(source="gsm8k", path=str(broken)))


def forbid(monkeypatch: pytest.MonkeyPatch, forbidden: str) -> None:
    found = builtins.__import__

    def guarded(name: str, *rest: Any) -> Any:
        if name.split(".")[0] == forbidden:
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", guarded)


def test_a_missing_extra_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid(monkeypatch, "datasets")
    with pytest.raises(DataError, match=r"pip install 'cascade-rl-math\[hub\]', or give a local"):
        load_prompts("train", Options(source="gsm8k", hub="somebody/sums"))
    forbid(monkeypatch, "pyarrow")
    with pytest.raises(DataError, match=r"pip install 'cascade-rl-math\[parquet\]'"):
        load_prompts("train", options("problem_answer", "problem_answer.parquet"))


class FakeHub:
    """Stands for the package ``datasets``."""

    def __init__(self, tables: dict[str, list[dict[str, Any]]]) -> None:
        self.tables = tables

    def get_dataset_split_names(self, name: str, config: str | None) -> list[str]:
        if name != "somebody/sums":
            raise ConnectionError("no route")
        return list(self.tables)

    def load_dataset(self, name: str, config: str | None, split: str) -> list[dict[str, Any]]:
        return self.tables[split]


def test_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"question": "1+1", "answer": "#### 2"}
    hub = FakeHub({"train": [row], "test": [{**row, "question": "2+0"}]})
    monkeypatch.setitem(__import__("sys").modules, "datasets", hub)
    chosen = Options(source="gsm8k", hub="somebody/sums", prompt_suffix="")
    assert [p.text for p in load_prompts("train", chosen)] == ["1+1"]
    assert [p.text for p in load_prompts("eval", chosen)] == ["2+0"]
    with pytest.raises(DataError, match=r"'else/where' cannot be loaded \(ConnectionError: no ro"):
        load_prompts("train", Options(source="gsm8k", hub="else/where"))
    hub.tables = {"test": []}
    with pytest.raises(DataError, match=r"has no split 'train', only \['test'\]"):
        load_prompts("train", chosen)
    hub.tables = {"train": [{"question": "1+1"}]}
    with pytest.raises(DataError, match=r"somebody/sums\[train\]:1: field 'answer' is missing"):
        load_prompts("train", chosen)
