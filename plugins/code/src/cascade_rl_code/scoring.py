"""From a prompt and a completion to a ``Reward``: extraction, judging, and what it is worth."""

from __future__ import annotations

import re

from cascade_rl.sandbox import LanguageMissing, Sandbox, find_language
from cascade_rl.types import Completion, Prompt, Reward
from cascade_rl_code.asserts import BadTest
from cascade_rl_code.extract import extract
from cascade_rl_code.judging import Policy, Task, judge, limits_of
from cascade_rl_code.mixing import mixed_scripts
from cascade_rl_code.options import Options
from cascade_rl_code.order import FailureOrder
from cascade_rl_code.truth import BadTruth, GroundTruth, read_truth
from cascade_rl_code.verdicts import Judgement, TestResult, Verdict

_SHOWN = 200
_FUTURE = re.compile(r"^from __future__ import .*$", re.MULTILINE)


def score(
    prompt: Prompt,
    completion: Completion,
    options: Options,
    sandbox: Sandbox,
    failures: FailureOrder,
) -> Reward:
    """The verdict on a completion."""
    try:
        truth = read_truth(prompt.ground_truth)
    except BadTruth as error:
        return Reward.unscored("bad_prompt", str(error))
    language = find_language(truth.language).name
    found = extract(prompt, completion, family(language), truth.asks_for_function)
    if found.program is None:
        return Reward.verdict(False, found.reason)
    source = assemble(truth.prelude, found.program)
    task = Task(sandbox, truth, source, language, policy(truth, options))
    try:
        judgement = judge(task, failures.order(prompt.id, len(truth.tests)))
    except BadTest as error:
        return Reward.unscored("bad_prompt", f"ground_truth.tests: {error}")
    except LanguageMissing as error:
        return Reward.unscored("error", str(error))
    failures.learn(prompt.id, judgement)
    mixed = mixed_scripts(prompt.text, completion.text)
    return to_reward(judgement, options, found.program, mixed)


def family(language: str) -> str:
    """The language without its version, as code blocks are tagged: cpp17 is cpp."""
    return re.sub(r"\d+$", "", language)


def assemble(prelude: str, program: str) -> str:
    """The whole source of an answer; ``from __future__`` must stay in front."""
    if not prelude:
        return program
    future = _FUTURE.findall(program)
    return "\n".join([*future, prelude, _FUTURE.sub("", program) if future else program])


def policy(truth: GroundTruth, options: Options) -> Policy:
    """How the answers to a problem are run under these options."""
    return Policy(
        limits=limits_of(truth, options.cpu_s, options.memory_mb),
        tolerance=options.tolerance,
        total_cpu_s=options.total_cpu_s,
        stop_early=options.reward == "all",
        testlib=str(options.testlib) if options.testlib else None,
    )


def to_reward(
    judgement: Judgement, options: Options, program: str, mixed: tuple[str, ...] = ()
) -> Reward:
    """The reward for a judgement; JUDGE_FAIL and INFRA are not scored."""
    shown = program[:_SHOWN]
    total = len(judgement.results)
    fault = judgement.fault
    if fault is not None:
        return Reward.unscored("error", described(fault, total), extracted=shown)
    failure = judgement.failure
    value = judgement.fraction if options.reward == "fraction" else float(judgement.accepted)
    reason = described(failure, total) if failure else f"AC: {total} tests"
    if mixed and options.language_mixing == "zero":
        value, reason = 0.0, f"language mixing ({', '.join(mixed)}); {reason}"
    return Reward(
        score=value,
        correct=judgement.accepted,
        components=_components(judgement, options),
        extracted=shown,
        reason=reason,
    )


def described(result: TestResult, total: int) -> str:
    """One line about a test, such as "WA on test 3 of 10: token 2 differs"."""
    where = "" if result.verdict is Verdict.CE else f" on test {result.index + 1} of {total}"
    message = " ".join(result.message.split())[:_SHOWN]
    return f"{result.verdict}{where}{f': {message}' if message else ''}"


def _components(judgement: Judgement, options: Options) -> dict[str, float | None]:
    """Numbers that are the same whatever was run first, and however fast the machine is."""
    components: dict[str, float | None] = {"tests": float(len(judgement.results))}
    if options.reward == "fraction":
        components["passed"] = float(judgement.passed)
        for subtask in judgement.subtasks:
            components[f"subtask {subtask.id}"] = subtask.points
    return components
