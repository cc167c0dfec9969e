"""Loading real data: the two published formats, defects with their place, the hub."""

from __future__ import annotations

import gzip
import json
import logging
import sys

import pytest
from pydantic import ValidationError

from cascade_rl.errors import DataError
from cascade_rl.types import Message
from cascade_rl_ifeval import Options, load_demonstrations, load_prompts

WORDS = "length_constraints:number_words"


def row(key=1, prompt="Write at least 3 words.", num_words=3, **more):
    return {
        "key": key,
        "prompt": prompt,
        "instruction_id_list": [WORDS, "punctuation:no_comma"],
        "kwargs": [{"relation": "at least", "num_words": num_words}, {}],
        **more,
    }


def write(path, rows):
    lines = [line if isinstance(line, str) else json.dumps(line) for line in rows]
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "wt", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path


def jsonl(path, rows, **options):
    return list(
        load_prompts("train", Options(source="ifeval_jsonl", path=write(path, rows), **options))
    )


@pytest.mark.parametrize("name", ["data.jsonl", "data.jsonl.gz"])
def test_ifeval_jsonl(tmp_path, name):
    prompts = jsonl(tmp_path / name, [row(1000), "", row("b")])
    assert [prompt.id for prompt in prompts] == ["ifeval-1000", "ifeval-b"]
    assert prompts[0].text == "Write at least 3 words."
    assert prompts[0].mode == "no_think"
    assert prompts[0].ground_truth == {
        "instruction_id_list": [WORDS, "punctuation:no_comma"],
        "kwargs": [{"num_words": 3, "relation": "at least"}, {}],
    }
    assert prompts[0].metadata == {}


def test_mode_and_count(tmp_path):
    prompts = jsonl(tmp_path / "d.jsonl", [row(1), row(2), row(3)], mode="think", count=2)
    assert [(prompt.id, prompt.mode) for prompt in prompts] == [
        ("ifeval-1", "think"),
        ("ifeval-2", "think"),
    ]


def test_there_is_no_eval_split_without_a_file_for_it(tmp_path):
    path = write(tmp_path / "a.jsonl", [row(1)])
    options = Options(source="ifeval_jsonl", path=path)
    assert list(load_prompts("eval", options)) == []
    other = write(tmp_path / "b.jsonl", [row(2)])
    options = Options(source="ifeval_jsonl", path=path, eval_path=other)
    assert [prompt.id for prompt in load_prompts("eval", options)] == ["ifeval-2"]


DEFECTS = [
    ("{nonsense", "2: not JSON"),
    ("[1]", "2: a row must be an object, got list"),
    (row(1), r"2: id 'ifeval-1' is already at .*d\.jsonl:1"),
    (row(None), "2: key must be a number or a text, got None"),
    (row(2, prompt=" "), "2: prompt must be a text, got ' '"),
    (row(2, prompt=["a"]), "2: prompt must be a text"),
    (row(2, num_words="many"), "2: 0:length_constraints:number_words: num_words"),
    (row(2, instruction_id_list=["x:y", WORDS]), "2: unknown instruction id 'x:y'"),
    (row(2, kwargs="nonsense"), "2: kwargs: neither JSON nor a Python literal: 'nonsense'"),
    (row(2, kwargs=[{}]), r"2: kwargs must be a list of 2 \(one for each id\), got 1"),
]


@pytest.mark.parametrize(("defect", "said"), DEFECTS)
def test_a_defect_is_refused_with_file_and_line(tmp_path, defect, said):
    with pytest.raises(DataError, match=rf"1 rows cannot be used:\n.*d\.jsonl:{said}"):
        jsonl(tmp_path / "d.jsonl", [row(1), defect])


def test_defects_can_be_left_out_and_are_reported(tmp_path, caplog):
    rows = [row(1), *[row(k, prompt="") for k in range(2, 10)]]
    prompts = jsonl(tmp_path / "d.jsonl", rows, defects="skip")
    assert [prompt.id for prompt in prompts] == ["ifeval-1"]
    (record,) = caplog.records
    assert record.getMessage().startswith("left out: 8 rows cannot be used:")
    assert "d.jsonl:2: prompt must be a text" in record.getMessage()
    assert "... and 3 more" in record.getMessage()


def test_a_file_without_a_usable_row_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"d\.jsonl: no prompts \(1 defects\)"):
        jsonl(tmp_path / "d.jsonl", [row(1, prompt="")], defects="skip")
    with pytest.raises(DataError, match=r"d\.jsonl: no prompts \(0 defects\)"):
        jsonl(tmp_path / "d.jsonl", [""])


def test_a_prompt_that_disagrees_with_its_label_is_reported_and_kept(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        (prompt,) = jsonl(tmp_path / "d.jsonl", [row(1, prompt="Write at least 50 words.")])
    said = "0:length_constraints:number_words: the prompt says 50 words, kwargs say 3"
    assert prompt.metadata == {"lint": [said]}
    assert caplog.messages == [f"{tmp_path / 'd.jsonl'}:1: {said} (ifeval-1)"]


@pytest.mark.parametrize("name", ["absent.jsonl", "absent.parquet"])
def test_a_missing_file(tmp_path, name):
    source = "ifeval_jsonl" if name.endswith("jsonl") else "ifrl_parquet"
    with pytest.raises(DataError, match=rf"{name}.*(No such file|no such file)"):
        list(load_prompts("train", Options(source=source, path=tmp_path / name)))


@pytest.mark.parametrize("source", ["ifeval_jsonl", "ifrl_parquet"])
def test_a_file_of_another_kind(tmp_path, source):
    path = tmp_path / "d"
    path.write_bytes(b"\xff\xfe\x00rubbish")
    with pytest.raises(DataError, match="cannot be read as"):
        list(load_prompts("train", Options(source=source, path=path)))


def parquet(path, rows):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return Options(source="ifrl_parquet", path=path)


IFRL = {
    "prompt": [{"role": "user", "content": "Write less than 9 words, no comma."}],
    "instruction_id_list": [WORDS, "keywords:existence", "punctuation:no_comma"],
    "kwargs": [
        {"num_words": 9.0, "relation": "less than", "keywords": None, "frequency": float("nan")},
        {"num_words": None, "relation": None, "keywords": ["tea"], "frequency": None},
        {"num_words": None, "relation": None, "keywords": None, "frequency": None},
    ],
}


def test_ifrl_parquet_with_filler_and_floats(tmp_path):
    rows = [
        {**IFRL, "index": 7},
        {**IFRL, "index": 8, "prompt": [{"role": "system", "content": "Hi"}, *IFRL["prompt"]]},
    ]
    prompts = list(load_prompts("train", parquet(tmp_path / "d.parquet", rows)))
    assert [prompt.id for prompt in prompts] == ["ifeval-7", "ifeval-8"]
    assert prompts[1].messages[0] == Message(role="system", content="Hi")
    assert prompts[0].ground_truth == {
        "instruction_id_list": IFRL["instruction_id_list"],
        "kwargs": [{"num_words": 9, "relation": "less than"}, {"keywords": ["tea"]}, {}],
    }
    assert isinstance(prompts[0].ground_truth["kwargs"][0]["num_words"], int)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"index": None}, "row 1: index must be a number or a text, got None"),
        ({"prompt": []}, r"row 1: prompt must be a list of chat messages, got \[\]"),
        ({"prompt": [{"role": "boss", "content": "x"}]}, "row 1: a chat message needs role and"),
        ({"prompt": [{"role": "system", "content": "x"}]}, "row 1: prompt has no user turn"),
        ({"kwargs": IFRL["kwargs"][:2]}, "row 1: kwargs must be a list of 3"),
    ],
)
def test_defects_of_parquet_rows(tmp_path, change, said):
    options = parquet(tmp_path / "d.parquet", [{**IFRL, "index": 1, **change}])
    with pytest.raises(DataError, match=said):
        list(load_prompts("train", options))


def test_labels_stored_as_text(tmp_path):
    text = {"prompt": json.dumps(IFRL["prompt"]), "instruction_id_list": f"['{WORDS}']"}
    labels = ["[{'num_words': 9.0, 'relation': 'less than', 'N': None}]"]
    labels.append('[{"num_words": 9, "relation": "less than", "N": null}]')
    rows = [{**text, "kwargs": label, "index": k} for k, label in enumerate(labels)]
    prompts = list(load_prompts("train", parquet(tmp_path / "d.parquet", rows)))
    assert prompts[0].ground_truth == prompts[1].ground_truth
    assert prompts[0].ground_truth["kwargs"] == [{"num_words": 9, "relation": "less than"}]


HUB = Options(source="ifrl_parquet", hub="someone/somewhere")


class FakeHub:
    @staticmethod
    def load_dataset(name, split):
        assert (name, split) == ("someone/somewhere", "train")
        return [{**IFRL, "index": 3}]


def test_hub(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", FakeHub)
    assert [prompt.id for prompt in load_prompts("train", HUB)] == ["ifeval-3"]
    assert list(load_prompts("eval", HUB)) == []


def test_hub_out_of_reach(monkeypatch):
    class Unreachable:
        @staticmethod
        def load_dataset(name, split):
            raise ConnectionError("no route")

    monkeypatch.setitem(sys.modules, "datasets", Unreachable)
    with pytest.raises(DataError, match=r"'someone/somewhere'.*ConnectionError: no route.*`path`"):
        list(load_prompts("train", HUB))


@pytest.mark.parametrize(
    ("options", "module", "said"),
    [
        (HUB, "datasets", r"pip install 'cascade-rl-ifeval\[hub\]'"),
        (
            Options(source="ifrl_parquet", path="x.parquet"),
            "pyarrow.parquet",
            r"pip install 'cascade-rl-ifeval\[parquet\]'",
        ),
    ],
)
def test_a_missing_extra_is_named(monkeypatch, options, module, said):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DataError, match=said):
        list(load_prompts("train", options))


def test_real_data_has_no_demonstrations():
    with pytest.raises(DataError, match="prompts without replies"):
        load_demonstrations("train", HUB)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"source": "ifeval_jsonl"}, "needs exactly one of path and hub, got neither"),
        ({"source": "ifrl_parquet", "path": "a", "hub": "b"}, "got path and hub"),
        ({"path": "a"}, "source 'builtin' reads no file, but path is set"),
        ({"eval_path": "a"}, "but eval_path is set"),
        ({"source": "csv"}, "source"),
        ({"demonstration_noise": 1.5}, "demonstration_noise"),
        ({"count": 0}, "count"),
        ({"sead": 1}, "Extra inputs"),
    ],
)
def test_options_are_checked(options, said):
    with pytest.raises(ValidationError, match=said):
        Options(**options)
