"""One prompt and one completion to a reward: which text is judged, by which choices."""

from __future__ import annotations

import json
from functools import lru_cache

from pydantic import JsonValue, ValidationError

from cascade_rl.types import Completion, Prompt, Reward
from cascade_rl_math import language, prose, verify
from cascade_rl_math.extract import NO_BOX, Extraction, last_box
from cascade_rl_math.options import Judging, Options

#: The key of a prompt's metadata that overrides the stage's choices for it.
METADATA_KEY = "verify"
LANGUAGE_PENALTY = -1.0
_SHOWN_CHARS = 200
#: Of a reply without a box, the answer is sought in so many characters at its end.
_PROSE_CHARS = 6_000
_UNREADABLE = ("unparsed",)


def judge(prompt: Prompt, completion: Completion, options: Options) -> Reward:
    """1 where the answer equals the gold, else 0; unscored where the gold is no answer.

    With ``language``, thoughts in another language score -1 whatever the answer; ``correct``
    stays the verdict on the mathematics.
    """
    gold = prompt.ground_truth
    if isinstance(gold, bool) or not isinstance(gold, str | int | float):
        kind = type(gold).__name__
        return Reward.unscored("bad_prompt", f"ground_truth is a {kind}; text or a number is read")
    try:
        own = prompt.metadata.get(METADATA_KEY)
        judging: Judging = options if own is None else overridden(options, own)
    except ValueError as error:
        return Reward.unscored("bad_prompt", str(error))
    verdict = _verdict(str(gold), prompt, completion, judging, options.time_limit_s)
    return verdict if options.language is None else _penalised(verdict, completion, options)


def find_answer(prompt: Prompt, completion: Completion, judging: Judging) -> Extraction:
    """The answer that a completion commits to.

    In think mode a completion that never closes its thoughts has no answer, whatever boxes
    it holds: the thoughts are not the reply.
    """
    if prompt.mode == "think" and completion.thoughts is None:
        return Extraction(None, "no answer: thoughts were never closed")
    found = last_box(completion.answer)
    if found is not NO_BOX or judging.unboxed == "never":
        return found
    reply = completion.answer[-_PROSE_CHARS:]
    candidate = prose.committed(reply, marked_only=judging.unboxed == "marked")
    return Extraction(candidate.text, candidate.reason)


def _verdict(
    gold: str, prompt: Prompt, completion: Completion, judging: Judging, time_limit_s: float
) -> Reward:
    found = find_answer(prompt, completion, judging)
    if found.answer is None:
        return Reward.verdict(False, found.reason)
    shown = found.answer[:_SHOWN_CHARS]
    try:
        verdict = verify.verify(gold, found.answer, time_limit_s, judging.rules())
    except verify.BadGold as error:
        return Reward.unscored("bad_prompt", str(error), extracted=shown)
    if verdict.equal:
        return Reward.verdict(True, f"equal: {verdict.layer}", extracted=shown)
    reason = verify.explain(verdict)
    if judging.abstain_unparsed and reason.startswith(_UNREADABLE):
        return Reward.unscored("abstained", reason, extracted=shown)
    return Reward.verdict(False, reason, extracted=shown)


def overridden(base: Judging, own: JsonValue) -> Judging:
    """The stage's choices with those of one prompt. Raises ``ValueError`` with the allowed."""
    return _merged(base, json.dumps(own, sort_keys=True))


@lru_cache(maxsize=1_024)
def _merged(base: Judging, own: str) -> Judging:
    chosen: JsonValue = json.loads(own)
    allowed = ", ".join(Judging.model_fields)
    if not isinstance(chosen, dict):
        raise ValueError(  # noqa: TRY004 - told to the user as a bad prompt
            f"metadata {METADATA_KEY!r} is {own[:80]}; an object with these is read: {allowed}"
        )
    fields = {name: getattr(base, name) for name in Judging.model_fields}
    try:
        return Judging.model_validate({**fields, **chosen})
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(
            f"metadata {METADATA_KEY!r}, field {place!r}: {first['msg']}; allowed: {allowed}"
        ) from error


def _penalised(verdict: Reward, completion: Completion, options: Options) -> Reward:
    assert options.language is not None
    if verdict.score is None or completion.thoughts is None:
        return verdict
    other = language.other_language(
        completion.thoughts, options.language, options.language_min_letters
    )
    if other is None:
        return verdict
    return verdict.model_copy(
        update={
            "score": LANGUAGE_PENALTY,
            "components": {"correct": verdict.score},
            "reason": f"thoughts in another language ({other}); {verdict.reason}",
        }
    )
