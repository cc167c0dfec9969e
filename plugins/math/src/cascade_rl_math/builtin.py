"""Sums for a tiny character-level model: problems, column-by-column thoughts, noisy answers.

No data, no network, no randomness beyond (seed, id). A problem reads ``17+8=?``, its
demonstration ``<think>7+8+0=15;1+0+1=2</think>\\boxed{25}``: each column adds its digits
and the carry, units first, always as many columns as the largest operand has digits.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence

from cascade_rl.types import Demonstration, Prompt, Split
from cascade_rl_math.options import Options

#: Most problems drawn when the options do not say how many.
DEFAULT_COUNT = 10_000
_SLIPS = (-10, -1, 1, 10)


def load_sums(split: Split, options: Options) -> list[Prompt]:
    """The problems of a split. A problem's split depends on its id alone."""
    return [_prompt(terms, options) for terms in _drawn(options) if _split(terms, options) == split]


def demonstrate_sums(split: Split, options: Options) -> list[Demonstration]:
    """The same problems with a reply each, of which exactly ``demonstration_noise``, rounded
    down to whole demonstrations, end in a wrong answer and ``ramble`` repeat their columns."""
    problems = [terms for terms in _drawn(options) if _split(terms, options) == split]
    wrong = _share(problems, options.demonstration_noise, f"wrong {options.seed}")
    long = _share(problems, options.ramble, f"ramble {options.seed}")
    return [
        Demonstration(
            **_prompt(terms, options).model_dump(),
            completion=_reply(terms, options, slips=terms in wrong, rambles=terms in long),
        )
        for terms in problems
    ]


def columns(terms: Sequence[int], width: int) -> str:
    """The written addition, units first: ``7+8+0=15;1+0+1=2`` for 17+8 at width 2."""
    written, carry = [], 0
    for place in range(width):
        digits = [term // 10**place % 10 for term in terms]
        total = sum(digits) + carry
        written.append("+".join(map(str, [*digits, carry])) + f"={total}")
        carry = total // 10
    return ";".join(written)


def longest_reply(options: Options) -> int:
    """Characters of the longest demonstration that the options allow."""
    terms = (options.largest_operand,) * options.terms
    written = len(columns(terms, len(str(options.largest_operand))))
    repeated = 2 * (len(";check:") + written) if options.ramble else 0
    return len(f"<think></think>\\boxed{{{sum(terms)}}}") + written + repeated


def _drawn(options: Options) -> Iterator[tuple[int, ...]]:
    base = options.largest_operand + 1
    total = base**options.terms
    count = min(options.count or DEFAULT_COUNT, total)
    for index in random.Random(options.seed).sample(range(total), count):  # noqa: S311 - no secret
        yield tuple(index // base**place % base for place in reversed(range(options.terms)))


def _text(terms: Sequence[int]) -> str:
    return "+".join(map(str, terms))


def _id(terms: Sequence[int]) -> str:
    return f"math-{_text(terms)}"


def _prompt(terms: Sequence[int], options: Options) -> Prompt:
    return Prompt.from_text(
        _id(terms), f"{_text(terms)}=?", ground_truth=str(sum(terms)), mode=options.mode
    )


def _split(terms: Sequence[int], options: Options) -> Split:
    return "eval" if _hash("split", terms) < options.eval_share * 2**64 else "train"


def _share(problems: Sequence[tuple[int, ...]], share: float, salt: str) -> set[tuple[int, ...]]:
    # The lowest hashes, so that the share is exact and the choice depends on ids alone.
    ranked = sorted(problems, key=lambda terms: _hash(salt, terms))
    return set(ranked[: int(share * len(problems))])


def _reply(terms: tuple[int, ...], options: Options, *, slips: bool, rambles: bool) -> str:
    answer = sum(terms)
    if slips:
        near = [answer + slip for slip in _SLIPS if answer + slip >= 0]
        answer = near[_hash(f"slip {options.seed}", terms) % len(near)]
    if options.mode != "think":
        return f"\\boxed{{{answer}}}"
    written = columns(terms, len(str(options.largest_operand)))
    again = 1 + _hash(f"again {options.seed}", terms) % 2 if rambles else 0
    return f"<think>{written}{f';check:{written}' * again}</think>\\boxed{{{answer}}}"


def _hash(salt: str, terms: Sequence[int]) -> int:
    digest = hashlib.blake2b(f"{salt} {_id(terms)}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")
