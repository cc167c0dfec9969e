"""Logs: positions, cutting back, half-written lines, hostile text."""

import json

import pytest

from cascade_rl.errors import DataError, RunError
from cascade_rl_trainer.state.log import JsonLog, read_log


@pytest.fixture
def log(tmp_path):
    opened = JsonLog(tmp_path / "stages" / "metrics.jsonl")
    yield opened
    opened.close()


def test_a_cut_log_goes_on_as_if_nothing_had_followed(log):
    log.append({"step": 0})
    log.append({"step": 1})
    position = log.position()
    assert position == len(b'{"step":0}\n{"step":1}\n')
    log.append({"step": 2})
    log.flush()
    log.cut(position)
    log.append({"step": 2, "again": True})
    assert log.position() == log.path.stat().st_size
    assert list(read_log(log.path)) == [{"step": 0}, {"step": 1}, {"step": 2, "again": True}]


def test_cut_to_nothing(log):
    log.append({"step": 0})
    log.cut(0)
    assert log.path.read_bytes() == b""
    assert log.position() == 0


def test_a_half_written_last_line_is_neither_read_nor_kept(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(b'{"a":1}\n{"b":' + b"2" * 200_000)
    assert list(read_log(path)) == [{"a": 1}]
    log = JsonLog(path)
    log.append({"c": 3})
    log.close()
    assert path.read_bytes() == b'{"a":1}\n{"c":3}\n'


def test_a_log_of_one_half_line_becomes_empty(tmp_path):
    path = tmp_path / "rollouts.jsonl"
    path.write_bytes(b'{"a"')
    JsonLog(path).close()
    assert path.read_bytes() == b""


@pytest.mark.parametrize("position", [100, 5])
def test_a_position_that_does_not_fit_is_an_error_with_the_file(log, position):
    log.append({"step": 0})
    with pytest.raises(RunError, match=rf"metrics\.jsonl: .*had {position} bytes.*it has 11 now"):
        log.cut(position)
    assert list(read_log(log.path)) == [{"step": 0}]


def test_hostile_text_and_odd_numbers_come_back(log):
    text = "a\nb\u2028c\x00\x85\ud800</script>é"
    log.append({"completion": text, "loss": float("nan"), "grad": [float("inf"), -1e400]})
    log.position()
    assert log.path.read_bytes().count(b"\n") == 1
    assert list(read_log(log.path)) == [
        {"completion": text, "loss": "NaN", "grad": ["Infinity", "-Infinity"]}
    ]


@pytest.mark.parametrize(("line", "what"), [("{]", "not JSON"), ("[1]", "expected a JSON object")])
def test_a_bad_line_is_named(tmp_path, line, what):
    path = tmp_path / "metrics.jsonl"
    path.write_text(json.dumps({"step": 0}) + "\n" + line + "\n" + "{}\n")
    with pytest.raises(DataError, match=rf"metrics\.jsonl, line 2: {what}"):
        list(read_log(path))


def test_an_absent_log_is_empty(tmp_path):
    assert list(read_log(tmp_path / "none.jsonl")) == []
