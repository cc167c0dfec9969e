"""A domain that does what a completion says: for tests of the service and of its client.

``score 0.3``, ``sleep 1 score 0.3`` (seconds, then on), ``raise``, ``nan``, ``die``,
``segfault``, ``hang``, ``abstain``, ``bad``, ``hoard 100`` (megabytes); any other text is right where it equals the ground truth.
"""

import ctypes
import os
import signal
import time

from pydantic import BaseModel, ConfigDict, Field

from cascade_rl import Completion, Example, LengthBudget, Prompt, Reward, SamplingParams, hookimpl


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    bonus: float = Field(default=0.0, ge=0, le=10, json_schema_extra={"remote": True})
    secret_path: str = "nowhere"


@hookimpl
def load_prompts():
    return [Prompt.from_text(f"p{n}", "Say it.", ground_truth="it") for n in range(20)]


@hookimpl
def reward(prompt, completion, options):
    return obey(completion.answer, prompt, options)


def obey(text, prompt, options):
    word, _, rest = text.partition(" ")
    if word == "sleep":
        seconds, _, rest = rest.partition(" ")
        time.sleep(float(seconds))
        return obey(rest, prompt, options)
    if word in ACTIONS:
        return ACTIONS[word](rest)
    right = text == prompt.ground_truth
    return Reward(
        score=float(right) + options.bonus,
        correct=right,
        extracted=text[:40],
        reason="equal" if right else "not equal",
        components={"exact": float(right)},
    )


def fail(rest):
    raise RuntimeError(rest or "as told")


def hang(rest):
    while True:
        pass


def hoard(rest):
    kept = bytearray(int(rest) * 2**20)
    for place in range(0, len(kept), 4096):
        kept[place] = 1
    return 1.0


ACTIONS = {
    "hoard": hoard,
    "score": float,
    "raise": fail,
    "nan": lambda _: float("nan"),
    "die": lambda _: os.kill(os.getpid(), signal.SIGKILL),
    "segfault": lambda _: ctypes.string_at(0),
    "hang": hang,
    "abstain": lambda rest: Reward.unscored("abstained", rest or "no opinion"),
    "bad": lambda rest: Reward.unscored("bad_prompt", rest or "no gold"),
}


@hookimpl
def length_budget():
    return LengthBudget(prompt_tokens=64, completion_tokens=64)


@hookimpl
def sampling_params():
    return SamplingParams()


@hookimpl
def examples():
    prompt = Prompt.from_text("e", "Say it.", ground_truth="it")

    def example(name, kind, text, expected):
        completion = Completion(text=text)
        return Example(
            name=name, kind=kind, prompt=prompt, completion=completion, expected=expected
        )

    return [
        example("same", "right", "it", 1.0),
        example("other", "wrong", "that", 0.0),
        example("no-opinion", "hostile", "abstain", None),
    ]
