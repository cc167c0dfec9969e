"""``language_mixing``: the share of a completion's letters in a script that is not wanted, 0 to 1.

Give it a negative weight: ``{modifier: language_mixing, weight: -1}``. It sees scripts, not
languages: Chinese in an English answer, yes; French in an English answer, no. Greek letters are
symbols to mathematicians and never count, unless ``neutral`` says otherwise.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from cascade_rl.hooks import hookimpl
from cascade_rl.types import Completion, Prompt, Reward

#: Scripts that are written together in one language.
_TOGETHER = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "HANGUL": "CJK", "BOPOMOFO": "CJK"}
_WIDTHS = ("FULLWIDTH ", "HALFWIDTH ")


class Options(BaseModel):
    """Which scripts are wanted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    wanted: tuple[str, ...] | None = Field(
        default=None,
        description="Scripts by the first word of their Unicode names, e.g. [LATIN, CJK]; "
        "default: those of the prompt.",
    )
    neutral: tuple[str, ...] = Field(default=("GREEK",), description="Scripts that never count.")
    part: Literal["answer", "all"] = Field(
        default="all", description="Judge everything, or the text after the thoughts."
    )


@hookimpl
def modify(prompt: Prompt, completion: Completion, options: Options) -> Reward:
    """Letters of unwanted scripts / letters; 0 where nothing is written in letters."""
    text = completion.answer if options.part == "answer" else completion.text
    letters = _scripts(text)
    for script in options.neutral:
        del letters[script]
    wanted = set(options.wanted or _scripts(prompt.text))
    total = sum(letters.values())
    if not total or not wanted:
        return Reward(score=0.0, reason="no letters to compare")
    strange = {s: n for s, n in letters.items() if s not in wanted}
    listed = ", ".join(f"{n} {s}" for s, n in sorted(strange.items())) or "none"
    reason = f"{total} letters, not in {'/'.join(sorted(wanted))}: {listed}"
    return Reward(score=sum(strange.values()) / total, reason=reason)


def _scripts(text: str) -> Counter[str]:
    counted: Counter[str] = Counter()
    for character, number in Counter(text).items():
        if character.isalpha():
            counted[_script(character)] += number
    return counted


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "UNKNOWN")
    for width in _WIDTHS:
        name = name.removeprefix(width)
    script = name.partition(" ")[0]
    if script == "MATHEMATICAL":  # 𝑥 is a letter of formulas
        return "GREEK"
    return _TOGETHER.get(script, script)
