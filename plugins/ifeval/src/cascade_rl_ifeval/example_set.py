"""Completions with the reward each must get: what ``cascade check ifeval`` runs."""

from __future__ import annotations

from typing import Any, Literal

from cascade_rl.types import Completion, Example, Mode, Prompt

Kind = Literal["right", "wrong", "hostile"]


def _prompt(name: str, text: str, *asked: tuple[str, dict[str, Any]], mode: Mode) -> Prompt:
    truth: dict[str, Any] = {
        "instruction_id_list": [instruction for instruction, _ in asked],
        "kwargs": [arguments for _, arguments in asked],
    }
    return Prompt.from_text(f"ifeval-example-{name}", text, mode=mode, ground_truth=truth)


_WORDS = "length_constraints:number_words"
_TEA = _prompt(
    "tea",
    "Write less than 8 words about tea, without commas.",
    (_WORDS, {"relation": "less than", "num_words": 8}),
    ("keywords:existence", {"keywords": ["tea"]}),
    ("punctuation:no_comma", {}),
    mode="no_think",
)
_TEA_THINKING = _TEA.model_copy(update={"mode": "think"})
_TWICE = _prompt(
    "twice",
    "Write at least 3 words, but less than 5 words.",
    (_WORDS, {"relation": "at least", "num_words": 3}),
    (_WORDS, {"relation": "less than", "num_words": 5}),
    mode="no_think",
)
_BULLETS = _prompt(
    "bullets",
    "A plan in exactly 2 bullet points.",
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}),
    mode="no_think",
)
_JSON = _prompt(
    "json", "Answer in JSON only.", ("detectable_format:json_format", {}), mode="no_think"
)
_SYMBOLS = _prompt(
    "symbols",
    "Do not write $9 or C++.",
    ("keywords:forbidden_words", {"forbidden_words": ["$9", "C++"]}),
    mode="no_think",
)
_REPEAT = _prompt(
    "repeat",
    "Repeat the request first: Name a tree.",
    ("combination:repeat_prompt", {"prompt_to_repeat": "Name a tree."}),
    mode="no_think",
)
_UNKNOWN = _prompt("unknown", "Be nice.", ("style:be_nice", {}), mode="no_think")
_MISSING = _prompt("missing", "Be short.", (_WORDS, {"relation": "at most"}), mode="no_think")
_TITLE = _prompt("title", "Give it a title.", ("detectable_format:title", {}), mode="no_think")


def _example(name: str, kind: Kind, prompt: Prompt, text: str, expected: float | None) -> Example:
    completion = Completion(text=text)
    return Example(name=name, kind=kind, prompt=prompt, completion=completion, expected=expected)


EXAMPLES: tuple[Example, ...] = (
    _example("short and on topic", "right", _TEA, "Hot tea on a cold day.", 1.0),
    _example("after closed thoughts", "right", _TEA_THINKING, "<think>a, b</think>Hot tea.", 1.0),
    _example("one id, two bounds", "right", _TWICE, "red blue green", 1.0),
    _example("bold line is no bullet", "right", _BULLETS, "**Plan**\n* rope\n- knot", 1.0),
    _example("JSON in a fence", "right", _JSON, '```json\n{"n": 3}\n```', 1.0),
    _example("no forbidden word", "right", _SYMBOLS, "Lunch was 9 dollars.", 1.0),
    _example("request, then answer", "right", _REPEAT, "name a tree.\nOak.", 1.0),
    _example("a comma", "wrong", _TEA, "Hot tea, please.", 0.0),
    _example("one bound of two", "wrong", _TWICE, "red blue", 0.0),
    _example("one bullet too many", "wrong", _BULLETS, "* a\n* b\n* c", 0.0),
    _example("text after the JSON", "wrong", _JSON, '```json\n{"n": 3}\n```\nDone!', 0.0),
    _example("term that ends in a sign", "wrong", _SYMBOLS, "I write C++ daily.", 0.0),
    _example("answer first", "wrong", _REPEAT, "Oak. Name a tree.", 0.0),
    _example("thoughts never closed", "wrong", _TEA_THINKING, "<think>tea tea tea", 0.0),
    _example("empty", "hostile", _SYMBOLS, "", 0.0),
    _example("blanks only", "hostile", _SYMBOLS, " \n\t ", 0.0),
    _example("deep JSON", "hostile", _JSON, "[" * 100_000, 0.0),
    _example("many open titles", "hostile", _TITLE, "<" * 100_000, 0.0),
    _example("marks without end", "hostile", _TWICE, "?!" * 50_000, 0.0),
    _example("NUL and a lone surrogate", "hostile", _TITLE, "<<\x00\udcff", 0.0),
    _example("unknown id", "hostile", _UNKNOWN, "You look nice.", None),
    _example("unknown relation", "hostile", _MISSING, "one two three", None),
)
