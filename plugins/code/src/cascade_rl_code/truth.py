"""What a ground truth may hold: the pack's own format, into which every loader translates."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)

from cascade_rl.sandbox import UnknownLanguage, find_language
from cascade_rl_code.checkers import CHECKERS
from cascade_rl_code.extract import parsed

Compare = Literal["lines", "tokens", "exact"]
Scoring = Literal["min", "sum"]


def _known(language: str) -> str:
    try:
        find_language(language)
    except UnknownLanguage as error:
        raise ValueError(str(error)) from error
    return language


JudgeLanguage = Annotated[str, AfterValidator(_known)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Test(_Strict):
    """One test, of one kind: ``stdin`` (and ``stdout``), ``args``, or ``assert``."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    stdin: str | None = None
    stdout: str | None = Field(default=None, description="what a right program prints")
    args: tuple[JsonValue, ...] | None = None
    kwargs: dict[str, JsonValue] = Field(default_factory=dict)
    returns: JsonValue = None
    args_after: tuple[JsonValue, ...] | None = Field(
        default=None, description="for functions that change their arguments: what they are then"
    )
    assertion: str | None = Field(
        default=None, alias="assert", description="Python code that raises when the answer is wrong"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        kinds = [
            name
            for name, value in (
                ("stdin", self.stdin), ("args", self.args), ("assert", self.assertion)
            )
            if value is not None
        ]  # fmt: skip
        if not kinds and self.stdout is not None:
            return self  # a program without input
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none of them"
            raise ValueError(f"a test has one of stdin, args and assert; this one has {found}")
        if self.kind == "args" and self.stdout is not None:
            raise ValueError("a test with args has returns, not stdout")
        if self.kind == "args" and not {"returns", "args_after"} & self.model_fields_set:
            raise ValueError("a test with args needs returns (or args_after)")
        return self

    @property
    def kind(self) -> Literal["stdin", "args", "assert"]:
        """Which kind of test it is."""
        if self.assertion is not None:
            return "assert"
        return "args" if self.args is not None else "stdin"


class Judge(_Strict):
    """A program of the problem's author: a checker or an interactor, as in testlib."""

    source: str
    language: JudgeLanguage = "cpp17"
    max_points: float = Field(default=1.0, gt=0, description="the points of a perfect answer")


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class Checker(_Strict):
    """How output is judged: a testlib checker by name, or a program."""

    name: str | None = None
    source: str | None = None
    language: JudgeLanguage = "cpp17"
    max_points: float = Field(default=1.0, gt=0)

    @model_validator(mode="after")
    def _name_or_source(self) -> Self:
        if (self.name is None) == (self.source is None):
            raise ValueError("a checker has a name or a source")
        if self.name is not None and self.name not in CHECKERS:
            known = ", ".join(sorted(CHECKERS))
            raise ValueError(f"no checker is called {self.name!r}; there are {known}")
        return self


class Subtask(_Strict):
    """A group of tests with points. ``min``: the worst test decides; ``sum``: the mean does."""

    id: str | None = None
    points: float = Field(gt=0)
    tests: tuple[Annotated[int, Field(ge=0)], ...] = Field(min_length=1)
    scoring: Scoring = "min"


class TestLimits(_Strict):
    """Limits of one test; what is not given comes from the options."""

    __test__ = False

    cpu_s: float | None = Field(default=None, gt=0, le=3600, strict=True)
    wall_s: float | None = Field(default=None, gt=0, le=36_000, strict=True)
    memory_mb: int | None = Field(default=None, ge=16, le=1_000_000, strict=True)
    output_kb: int | None = Field(default=None, gt=0, le=1_000_000, strict=True)


class GroundTruth(_Strict):
    """Everything that judges an answer."""

    language: str = "python"
    tests: tuple[Test, ...]
    function: str | None = Field(
        default=None, description='what is called: "solve", or "Solution().solve"'
    )
    prelude: str = Field(default="", description="code that stands before the answer")
    checker: Annotated[Checker | None, BeforeValidator(_named)] = None
    interactor: Judge | None = None
    subtasks: tuple[Subtask, ...] = ()
    limits: TestLimits = TestLimits()
    tolerance: float | None = Field(
        default=None,
        ge=0,
        strict=True,
        description="absolute or relative, for numbers written with a point",
    )
    compare: Compare = "lines"
    strict_bool: bool = Field(
        default=False, strict=True, description="True is not 1, False is not 0"
    )
    many_answers: bool = Field(
        default=False, strict=True, description="several outputs are right: needs a checker"
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if not self.tests:
            raise ValueError("there are no tests")
        if self.checker and self.interactor:
            raise ValueError("checker and interactor exclude each other")
        _known(self.language)
        self._check_code()
        for index, test in enumerate(self.tests):
            self._check_test(index, test)
        for subtask in self.subtasks:
            beyond = [index for index in subtask.tests if index >= len(self.tests)]
            if beyond:
                raise ValueError(
                    f"subtask {subtask.id or ''} names test {beyond[0]}, but there are"
                    f" {len(self.tests)} (counted from 0)"
                )
        if self.many_answers and not (self.checker or self.interactor):
            raise ValueError("many outputs are right (many_answers) but there is no checker")
        return self

    def _check_code(self) -> None:
        if not find_language(self.language).native_python:
            return
        if self.prelude and parsed(self.prelude) is None:
            raise ValueError("prelude is no Python program")
        if self.function is not None and parsed(f"({self.function})") is None:
            raise ValueError(
                f"function is {self.function!r:.60}, no Python expression; write what is called: "
                "solve, or Solution().solve"
            )

    def _check_test(self, index: int, test: Test) -> None:
        if test.kind != "stdin":
            if self.checker or self.interactor:
                raise ValueError(f"tests[{index}]: checkers and interactors judge stdin tests only")
            if not find_language(self.language).native_python:
                raise ValueError(
                    f"tests[{index}]: {test.kind} tests are for python, not {self.language!r}"
                )
        if test.kind == "args" and self.function is None:
            raise ValueError(f"tests[{index}]: args without function: say what is to be called")
        if test.kind == "stdin" and test.stdout is None and not (self.checker or self.interactor):
            raise ValueError(f"tests[{index}]: stdin without stdout needs a checker or interactor")

    @property
    def asks_for_function(self) -> str | None:
        """The function that the answer defines; "" where only its tests know the name."""
        if self.function is not None:
            return self.function
        return "" if any(test.kind != "stdin" for test in self.tests) else None


class BadTruth(ValueError):
    """A ground truth cannot be used; the text says which field and why."""


def read_truth(value: JsonValue) -> GroundTruth:
    """The ground truth of a prompt. Raises ``BadTruth``."""
    if not isinstance(value, dict):
        kind = type(value).__name__
        raise BadTruth(f"ground_truth is a {kind}; an object with language and tests is read")
    try:
        return GroundTruth.model_validate(value)
    except ValidationError as error:
        raise BadTruth(_shown(error)) from error


def _shown(error: ValidationError) -> str:
    first, *more = error.errors(include_url=False)
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in first["loc"])
    rest = f" (and {len(more)} more)" if more else ""
    text = first["msg"].removeprefix("Value error, ")
    plain = isinstance(first["input"], bool | int | float | str | None)
    if plain and first["type"] not in ("value_error", "extra_forbidden", "missing"):
        text += f", got {first['input']!r:.60}"
    return f"ground_truth{place}: {text}{rest}"
