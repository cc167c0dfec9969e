"""The forgetting matrix and its gates, by hand; its text and Markdown."""

import io
import math

import pytest
from rich.console import Console

from cascade_rl.config.schema import GateConfig
from cascade_rl.errors import RunError
from cascade_rl.types import Reward
from cascade_rl_trainer.report import matrix as matrix_file
from cascade_rl_trainer.report.cells import cells
from cascade_rl_trainer.report.gates import check_gates
from cascade_rl_trainer.report.matrix import EvalSample, Matrix, clustered_mean, value_of
from cascade_rl_trainer.report.text import to_markdown, to_rich, to_text


def samples(domain, prompts, mode="none", greedy=False):
    """Samples from a list of lists: values by prompt."""
    return [
        EvalSample(domain, f"p{i}", value, mode, greedy)
        for i, values in enumerate(prompts)
        for value in values
    ]


def row(math_values, ifeval_values, greedy=1.0):
    return [
        *samples("math", math_values),
        *samples("ifeval", ifeval_values),
        *samples("math", [[greedy]] * len(math_values), greedy=True),
    ]


@pytest.fixture
def matrix():
    """Maths 25 -> 75 -> 50 %, ifeval 50 -> 50 -> 100 %; two prompts, two samples."""
    return (
        Matrix.empty(["math", "ifeval"], samples=2)
        .with_row("before", [], row([[0, 0], [1, 0]], [[0, 1], [1, 0]], greedy=0.0))
        .with_row("math", ["math"], row([[1, 1], [1, 0]], [[0, 1], [1, 0]]))
        .with_row("ifeval", ["ifeval"], row([[1, 1], [0, 0]], [[1, 1], [1, 1]]))
    )


def test_values_by_hand(matrix):
    assert matrix.model_dump() == {
        "stages": ("before", "math", "ifeval"),
        "domains": ("math", "ifeval"),
        "trained": ((), ("math",), ("ifeval",)),
        "scores": ((0.25, 0.5), (0.75, 0.5), (0.5, 1.0)),
        "greedy": ((0.0, None), (1.0, None), (1.0, None)),
        "stderr": ((0.25, 0.0), (0.25, 0.0), (0.5, 0.0)),
        "unscored": ((0, 0), (0, 0), (0, 0)),
        "n": (2, 2),
        "samples": 2,
        "by_mode": {},
    }


@pytest.mark.parametrize(
    ("clusters", "mean", "error"),
    [
        ([], None, None),
        ([[]], None, None),
        ([[1.0, 0.0]], 0.5, None),
        # prompt means 1, 0.5, 0: squares 0.25 + 0 + 0.25 over 3 * 2
        ([[1.0, 1.0], [1.0, 0.0], [0.0]], 0.5, math.sqrt(0.5 / 6)),
        # an unscored sample leaves its prompt's weight as it was
        ([[1.0], [0.0, 0.0, 0.0]], 0.5, 0.5),
        ([[-3.0], [5.0]], 1.0, 4.0),
    ],
)
def test_clustered_mean(clusters, mean, error):
    found_mean, found_error = clustered_mean(clusters)
    assert found_mean == mean
    assert found_error == (None if error is None else pytest.approx(error, abs=1e-15))


def test_the_error_of_identical_samples_is_that_of_one_sample_a_prompt():
    once = clustered_mean([[1.0], [0.0], [1.0], [0.0]])
    assert clustered_mean([[1.0] * 4, [0.0] * 4, [1.0] * 4, [0.0] * 4]) == once


def test_unscored_samples_are_counted_and_never_zero():
    made = Matrix.empty(["math", "code"], 2).with_row(
        "before", [], samples("math", [[1.0, None], [None, None]]) + samples("code", [[None]])
    )
    assert made.scores == ((1.0, None),)
    assert made.unscored == ((3, 1),)
    assert made.n == (2, 1)


def test_modes_hold_only_domains_that_have_them():
    first = [
        *samples("math", [[1.0, 0.0]], mode="think"),
        *samples("math", [[0.0, 0.0], [0.0]], mode="no_think"),
        *samples("ifeval", [[1.0]], mode="no_think"),
    ]
    made = Matrix.empty(["math", "ifeval"], 2).with_row("before", [], first)
    second = samples("ifeval", [[0.0]], mode="no_think") + samples("math", [[1.0], [1.0]])
    dumped = made.with_row("sft", [], second).model_dump()["by_mode"]
    assert dumped == {
        "no_think": {"domains": ("math", "ifeval"), "scores": ((0.0, 1.0), (None, 0.0))},
        "think": {"domains": ("math",), "scores": ((0.5,), (None,))},
    }


def test_rows_before_a_stage(matrix):
    cut = matrix.rows_before("math")
    assert cut.stages == ("before",)
    assert cut.scores == ((0.25, 0.5),)
    assert matrix.rows_before("code") == matrix
    again = cut.with_row("math", ["math"], row([[1, 1], [1, 0]], [[0, 1], [1, 0]]))
    assert again == matrix.rows_before("ifeval")


def test_rows_must_compare(matrix):
    with pytest.raises(RunError, match="math was evaluated on 2 prompts before and on 1 after 'x'"):
        matrix.with_row("x", [], samples("math", [[1.0]]))
    with pytest.raises(ValueError, match="already has a row 'math'"):
        matrix.with_row("math", [], [])


@pytest.mark.parametrize(
    ("reward", "value"),
    [
        (Reward.verdict(True), 1.0),
        (Reward(score=0.3, correct=False), 0.0),
        (Reward(score=-2.5), -2.5),
        (Reward.unscored("timeout", "slow"), None),
    ],
)
def test_value_of_a_reward(reward, value):
    assert value_of(reward) == value


def test_the_file_comes_back_and_a_damaged_one_is_named(tmp_path, matrix):
    path = tmp_path / "matrix.json"
    assert matrix_file.load(path) is None
    path.write_text(matrix.model_dump_json())
    assert matrix_file.load(path) == matrix
    path.write_text(matrix.model_dump_json().replace('"stages":["before",', '"stages":['))
    with pytest.raises(RunError, match=r"matrix\.json is not .* has 3 rows for 2 stages"):
        matrix_file.load(path)


@pytest.mark.parametrize(
    ("stage", "domain", "max_drop", "drop", "best_stage", "failed"),
    [
        ("ifeval", "math", 0.2, 0.25, "math", True),
        ("ifeval", "math", 0.25, 0.25, "math", False),
        ("math", "ifeval", 0.0, 0.0, "before", False),
        ("math", "math", 0.0, -0.5, "before", False),
        ("ifeval", "ifeval", 0.0, -0.5, "before", False),
        ("before", "math", 0.0, None, None, False),
    ],
)
def test_gates(matrix, stage, domain, max_drop, drop, best_stage, failed):
    (result,) = check_gates(matrix, stage, [GateConfig(domain=domain, max_drop=max_drop)])
    assert (result.drop, result.best_stage, result.failed) == (drop, best_stage, failed)


def test_a_drop_of_exactly_the_limit_passes_in_binary_too():
    made = Matrix(
        stages=("before", "a"), domains=("math",), trained=((), ()), scores=((0.8,), (0.7,)),
        greedy=((None,), (None,)), stderr=((None,), (None,)), unscored=((0,), (0,)), n=(10,),
        samples=1,
    )  # fmt: skip
    assert 0.8 - 0.7 > 0.1
    (result,) = check_gates(made, "a", [GateConfig(domain="math", max_drop=0.1)])
    assert not result.failed
    assert result.stderr is None


def test_gate_messages(matrix):
    gates = [GateConfig(domain="math", max_drop=0.2, action="stop")]
    (failed,) = check_gates(matrix, "ifeval", gates)
    assert failed.message == (
        "gate on math after ifeval: fell by 25.0 ± 55.9 points, from 75.0 % (math) to 50.0 %; "
        "allowed 20.0: FAILED"
    )
    assert failed.action == "stop"
    (rose,) = check_gates(matrix, "math", gates)
    assert "rose by 50.0 ± 35.4 points, from 25.0 % (before) to 75.0 %" in rose.message
    (first,) = check_gates(matrix, "before", gates)
    assert "not checked" in first.message
    with pytest.raises(RunError, match="no domain 'code'; it has: math, ifeval"):
        check_gates(matrix, "math", [GateConfig(domain="code", max_drop=0.1)])


def test_cells_know_change_best_and_training(matrix):
    table = cells(matrix)
    assert [c.change for c in table[0]] == [None, None]
    assert [c.change for c in table[2]] == [-0.25, 0.5]
    assert [[c.best for c in r] for r in table] == [[False] * 2, [True, False], [False, True]]
    assert [[c.trained for c in r] for r in table] == [[False] * 2, [True, False], [False, True]]
    assert [c.change_label for c in table[1]] == ["▲ +50.0", "= +0.0"]
    assert table[2][0].change_label == "▼ -25.0"


def test_text(matrix):
    assert to_text(matrix) == (
        "Forgetting matrix: accuracy in % on 2 held-out prompts a domain, 2 samples each\n"
        "after stage   math               ifeval\n"
        "-------------------------------------------------\n"
        "before         25.0               50.0\n"
        "math           75.0 (+50.0) *^    50.0 (+0.0)\n"
        "ifeval         50.0 (-25.0)      100.0 (+50.0) *^\n"
        "* trained on in this stage   ^ best of its column\n"
    )


def test_markdown(matrix):
    assert to_markdown(matrix).splitlines()[2:7] == [
        "| after stage | math | ifeval |",
        "| --- | ---: | ---: |",
        "| before | 25.0 | 50.0 |",
        "| math | **75.0** (+50.0) \\* | 50.0 (+0.0) |",
        "| ifeval | 50.0 (-25.0) | **100.0** (+50.0) \\* |",
    ]


def test_scores_beyond_accuracy_and_unscored_ones_are_named():
    made = Matrix.empty(["rl|hf", "code"], 1)
    for stage, score in (("before", -1.5), ("a", 2.25)):
        made = made.with_row(stage, [], samples("rl|hf", [[score]]) + samples("code", [[None]]))
    text = to_text(made)
    assert "rl|hf (mean score)" in text
    assert "2.25 (+3.75)" in text
    assert "samples that were not scored and do not count: code (before): 1, code (a): 1" in text
    assert "| after stage | rl\\|hf (mean score) | code |" in to_markdown(made)


def test_rich_shows_the_same_numbers_and_takes_no_markup_from_names(matrix):
    made = matrix.model_copy(update={"domains": ("[red]math[/red]", "ifeval")})
    out = io.StringIO()
    Console(file=out, width=120).print(to_rich(made))
    for text in ("[red]math[/red]", "+50.0 *^", "-25.0", "100.0"):
        assert text in out.getvalue()


def test_a_matrix_without_rows_has_a_text():
    assert "no held-out prompts" in to_text(Matrix.empty(["math"], 1))
