"""Reading cascade files: YAML's traps, lines, and where a value came from."""

from __future__ import annotations

import pytest

from cascade_rl.config.source import MAX_BYTES, read_source
from cascade_rl.config.yaml_text import parse_yaml
from cascade_rl.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2e-3", 2e-3),
        ("1e-6", 1e-6),
        ("1.5E3", 1500.0),
        ("-.5", -0.5),
        ("3.", 3.0),
        ("80", 80),
        ("+7", 7),
        ("1_000", 1000),
        ("0x1f", 31),
        ("0o17", 15),
        ("010", 10),  # YAML 1.1 says 8
        ("no", "no"),
        ("on", "on"),
        ("True", True),
        ("false", False),
        ("1:30", "1:30"),  # YAML 1.1 says 90
        ("2024-01-31", "2024-01-31"),
        ("1.2.3", "1.2.3"),
        ("e5", "e5"),
        ("~", None),
        ("", None),
        ("'80'", "80"),
        ('"2e-3"', "2e-3"),
        ("!!str 80", "80"),
        ("!!float 80", 80.0),
        ("[1, {a: 2e1}]", [1, {"a": 20.0}]),
        ("runs/{name}", "runs/{name}"),
    ],
)
def test_plain_values(text, value):
    found, _ = parse_yaml(text, "x")
    assert found == value
    assert type(found) is type(value)


def test_lines_of_keys_and_items_with_anchors_and_merges():
    text = "base: &b\n  lr: 1\n  steps: 2\nstages:\n  - name: a\n    <<: *b\n    steps: 3\n  - *b\n"
    data, lines = parse_yaml(text, "x")
    assert data["stages"] == [{"name": "a", "steps": 3, "lr": 1}, {"lr": 1, "steps": 2}]
    assert lines[("stages", 0)] == 5
    assert lines[("stages", 0, "steps")] == 7
    assert lines[("stages", 0, "lr")] == 2  # the anchor's line: that is where to change it
    assert lines[("stages", 1, "steps")] == 3


def test_an_earlier_merge_wins_over_a_later_one():
    data, _ = parse_yaml("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc:\n  <<: [*a, *b]\n", "x")
    assert data["c"] == {"x": 1, "y": 2}


def test_an_anchor_used_twice_gives_two_values():
    data, _ = parse_yaml("a: &a {x: 1}\nb: *a\n", "x")
    data["b"]["x"] = 2
    assert data["a"] == {"x": 1}


NESTED = "nested deeper than 40 levels (an anchor that holds itself?)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "x:3: key 'a' is given twice, first on line 1; remove one"),
        ("{a: 1, a: 1}", "x:1: key 'a' is given twice, first on line 1; remove one"),
        ("\n3: x", "x:2: a key must be text, got 3; put it in quotes"),
        ("true: x", "x:1: a key must be text, got True; put it in quotes"),
        ("? [a]\n: x", "x:1: a key must be text, got a list or a mapping"),
        ("a: .nan", "x:1: '.nan': not a finite number"),
        ("a: -.inf", "x:1: '-.inf': not a finite number"),
        ("a: 1e999", "x:1: '1e999': not a finite number"),
        ("a: " + "9" * 5000, f"x:1: '{'9' * 40}': number too long"),
        ("a: !!int x", "x:1: 'x': invalid literal for int() with base 10: 'x'"),
        ("a: !!bool no", "x:1: 'no': not true or false"),
        ("a: !!python/name:os.system x", "x:1: tag !!python/name:os.system is not allowed"),
        ("a: !!python/object/apply:os.system ['true']", None),
        ("a: !mine {b: 1}", "x:1: tag !mine is not allowed"),
        ("a: &a [*a]", f"x:1: {NESTED}"),
        ("a: &a {b: *a}", f"x:1: {NESTED}"),
        ("a: &a {<<: *a}", f"x:1: {NESTED}"),
        ("a: {<<: 3}", "x:1: '<<' takes a mapping or a list of mappings"),
        ("[" * 1_000, "x: nested deeper than 40 levels"),
        ("a: *b", "x:1: not YAML at column 4: found undefined alias 'b'"),
        (
            "a: 1\n\tb: 2",
            (
                "x:2: not YAML at column 1: while scanning for the next token, found character "
                "'\\t' that cannot start any token; indent with spaces, not tabs"
            ),
        ),
        ("a: 1\nb: \x00", "x:2: character '\\x00' is not allowed"),
        ("a: [1,\nb: }", None),
        ("a: 1\n---\nb: 2", None),
    ],
)
def test_refused(text, message):
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "x")
    assert message is None or str(caught.value) == message
    assert str(caught.value).startswith("x:")


def test_a_lone_surrogate_fails_at_its_line_and_not_when_it_is_printed():
    with pytest.raises(ConfigError, match=r"^x:2: .*: holds half of a surrogate pair$"):
        parse_yaml('a: 1\nb: "\\ud800"', "x")
    assert parse_yaml('"\\ud83d\\ude00"', "x")[0] == "\N{GRINNING FACE}"


def test_anchors_cannot_blow_up_memory():
    rows = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    with pytest.raises(ConfigError, match="more than 100,000 values"):
        parse_yaml("\n".join(rows), "x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "c.yaml: the file is empty; a cascade needs name, model and stages"),
        (b"# nothing\n", "c.yaml: the file is empty; a cascade needs name, model and stages"),
        (b"- a\n", "c.yaml:1: the file must hold keys such as name, model and stages, got list"),
        (b"a: 1\nb: \xff\n", "c.yaml:2: not UTF-8 text: invalid start byte"),
        (b"x" * (MAX_BYTES + 1), "c.yaml: larger than 1,000,000 bytes; is it a cascade file?"),
        (None, "c.yaml: cannot be read: No such file or directory"),
    ],
)
def test_unreadable_files(tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "c.yaml").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_source("c.yaml")
    assert str(caught.value) == message


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_source(tmp_path)


def test_a_byte_order_mark_and_windows_lines_are_fine(tmp_path):
    (tmp_path / "c.yaml").write_bytes(b"\xef\xbb\xbfname: x\r\nseed: 3\r\n")
    source = read_source(tmp_path / "c.yaml")
    assert source.data == {"name": "x", "seed": 3}
    assert source.lines[("seed",)] == 2


def test_where_origin_and_label(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("name: x\nstages:\n  - name: a\n    optimizer: {betas: [0.9, 0.95]}\n  - {}\n")
    source = read_source(file)
    assert source.where(("stages", 0, "optimizer", "betas")) == f"{file}:4"
    assert source.where(("stages", 0, "missing")) == f"{file}:3"
    assert source.where(("model",)) == f"{file}:1"
    assert source.origin(("stages", 0, "name")) == "c.yaml:3"
    assert source.origin(("stages", 0, "missing")) is None
    assert source.label(("stages", 0, "optimizer", "betas", 1)) == "stages.a.optimizer.betas[1]"
    assert source.label(("stages", 1, "steps")) == "stages[1].steps"
