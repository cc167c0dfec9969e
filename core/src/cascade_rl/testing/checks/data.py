"""The data: prompts with unique and stable ids, demonstrations, groups."""

from __future__ import annotations

from collections.abc import Iterator

from cascade_rl.testing.check import Check, SkipCheck
from cascade_rl.testing.results import Finding
from cascade_rl.testing.subject import PROMPTS_SHOWN, DomainSubject
from cascade_rl.types import Completion, Reward


def prompts(subject: DomainSubject) -> Iterator[Finding]:
    """Both splits have prompts, no id occurs twice, no id is in both splits."""
    for split in ("train", "eval"):
        if subject.loaded(split)["count"] == 0:
            yield Finding(
                given=f"load_prompts for split {split!r}",
                got="no prompt",
                expected="at least one; without an eval split a tenth is held out by a hash of "
                "the ids, which takes some dozens of prompts",
            )


def stable_ids(subject: DomainSubject) -> Iterator[Finding]:
    """Another process, with other string hashes, loads the same ids in the same order."""
    for split in ("train", "eval"):
        first = subject.loaded(split)
        other = subject.other_probe.ask("prompts", subject.load_s, split=split, shown=PROMPTS_SHOWN)
        if first["ids"] != other["ids"]:
            yield Finding(
                given=f"load_prompts for split {split!r} in two processes",
                got=_difference(first, other),
                expected="the same ids in the same order, whatever the process",
            )


def demonstrations(subject: DomainSubject) -> Iterator[Finding]:
    """``load_demonstrations`` gives prompts with completions, none of a held-out prompt."""
    if "load_demonstrations" not in subject.facts["hooks"]:
        raise SkipCheck("the pack has no load_demonstrations; only SFT stages need it")
    for split in ("train", "eval"):
        found = subject.ask("demonstrations", split=split, shown=PROMPTS_SHOWN)
        if found["count"] == 0 and split == "train":
            yield Finding(given="load_demonstrations", got="none", expected="at least one")


def groups(subject: DomainSubject) -> Iterator[Finding]:
    """Group and batch hooks give one reward a sample, and none to what was not scored."""
    present = [h for h in ("reward_group", "shape_rewards") if h in subject.facts["hooks"]]
    if not present:
        raise SkipCheck("the pack has neither reward_group nor shape_rewards")
    for hook in present:
        yield from _group(subject, hook)


def _group(subject: DomainSubject, hook: str) -> Iterator[Finding]:
    given = [
        Reward(score=1.0, correct=True),
        Reward(score=0.0, correct=False),
        Reward.unscored("timeout", "no verdict"),
    ]
    texts = [Completion(text=t) for t in ("right", "wrong", "late")]
    answer = subject.ask(
        "group",
        hook=hook,
        prompt=subject.prompts[0].model_dump(mode="json"),
        completions=[t.model_dump(mode="json") for t in texts],
        rewards=[r.model_dump(mode="json") for r in given],
    )
    rewards = [Reward.model_validate(r) for r in answer]
    if rewards[2].score is not None:
        yield Finding(
            given=f"{hook} with a sample that was not scored (timeout)",
            got=f"score {rewards[2].score:g} for it",
            expected="no score: what was not judged never gets a number",
        )


def _difference(first: dict[str, object], other: dict[str, object]) -> str:
    if first["count"] != other["count"]:
        return f"{first['count']} prompts, then {other['count']}"
    pairs = zip(_ids(first), _ids(other), strict=True)
    return next((f"{a!r}, then {b!r}" for a, b in pairs if a != b), "another order")


def _ids(loaded: dict[str, object]) -> list[str]:
    return [p["id"] for p in loaded["sample"]]  # type: ignore[attr-defined]


CHECKS = (
    Check("prompts", "both splits have prompts with unique ids", prompts, ("options",)),
    Check("stable_ids", "ids are the same in every process", stable_ids, ("prompts",)),
    Check("demonstrations", "demonstrations load", demonstrations, ("prompts",)),
    Check("groups", "group hooks keep the unscored unscored", groups, ("prompts",)),
)
