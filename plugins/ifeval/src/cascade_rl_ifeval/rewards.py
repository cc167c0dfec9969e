"""The reward: the verifier's verdicts on one completion, put into a ``Reward``."""

from __future__ import annotations

from cascade_rl.types import Completion, Prompt, Reward
from cascade_rl_ifeval.lint import findings
from cascade_rl_ifeval.verifier import BadLabel, Requirement, Verdict, judge, requirements

_NO_ANSWER = "no </think>: the thoughts never end, there is no answer"


def score(prompt: Prompt, completion: Completion) -> Reward:
    """1 when the answer follows every instruction strictly, else 0 (the paper's R_IF).

    A ground truth that cannot be judged against is ``bad_prompt``, whatever the answer.
    """
    try:
        required = requirements(prompt.ground_truth)
    except BadLabel as error:
        return Reward.unscored("bad_prompt", str(error))
    answered = prompt.mode != "think" or completion.thoughts is not None
    verdicts = judge(completion.answer if answered else "", required)
    reason = _reason(verdicts) if answered else _NO_ANSWER
    return Reward.verdict(
        all(verdict.strict for verdict in verdicts),
        reason + _flags(prompt, required),
        components=_components(verdicts),
    )


def _components(verdicts: list[Verdict]) -> dict[str, float | None]:
    return {
        "strict": float(all(verdict.strict for verdict in verdicts)),
        "loose": float(all(verdict.loose for verdict in verdicts)),
        **{verdict.requirement.name: float(verdict.strict) for verdict in verdicts},
    }


def _reason(verdicts: list[Verdict]) -> str:
    failed = [f"{v.requirement.name} ({v.fault})" for v in verdicts if not v.strict]
    return f"not followed: {', '.join(failed)}" if failed else "all instructions followed"


def _flags(prompt: Prompt, required: list[Requirement]) -> str:
    found = findings(prompt.text, required)
    return f" [data lint: {'; '.join(found)}]" if found else ""
