"""A problem as the policy sees it, and the reply that its reference solution makes."""

from __future__ import annotations

import hashlib

from cascade_rl.sandbox import find_language
from cascade_rl.types import Prompt
from cascade_rl_code.layouts.problem import Problem
from cascade_rl_code.options import Options
from cascade_rl_code.scoring import family
from cascade_rl_code.truth import GroundTruth

_PROGRAM = (
    "Write a program in {name} that reads standard input and writes standard output."
    " Put the whole program into one ```{tag} code block."
)
_INTERACTIVE = (
    "Write a program in {name} that talks to the judge: it reads from standard input and writes"
    " to standard output, and flushes what it writes. Put the whole program into one ```{tag}"
    " code block."
)
_FUNCTION = "Put the whole Python code into one ```python code block."
_NAMES = {"python": "Python 3", "cpp": "C++", "c": "C", "java": "Java", "rust": "Rust",
          "go": "Go", "javascript": "JavaScript"}  # fmt: skip


def to_prompt(problem: Problem, truth: GroundTruth, options: Options) -> Prompt:
    """The prompt; its id is the data's own, or a hash of the problem's text."""
    digest = hashlib.blake2b(problem.text.encode(errors="replace"), digest_size=8).hexdigest()
    metadata = {"source": options.source, **problem.metadata}
    if problem.solutions:
        metadata["solution"] = problem.solutions[0]
    return Prompt.model_validate(
        {
            "id": problem.id or f"code-{digest}",
            "messages": [{"role": "user", "content": _text(problem, truth, options)}],
            "ground_truth": problem.truth,
            "mode": problem.mode or options.mode,
            "metadata": metadata,
        }
    )


def gold(prompt: Prompt) -> str | None:
    """The reference solution as a reply, or None where the data has none."""
    solution = prompt.metadata.get("solution")
    if not isinstance(solution, str) or not isinstance(prompt.ground_truth, dict):
        return None
    tag = family(find_language(str(prompt.ground_truth.get("language", "python"))).name)
    fence = "`" * max(3, 1 + _longest_run(solution))
    thoughts = "<think>\n\n</think>\n\n" if prompt.mode == "think" else ""
    return f"{thoughts}{fence}{tag}\n{solution.rstrip()}\n{fence}"


def _text(problem: Problem, truth: GroundTruth, options: Options) -> str:
    tag = family(find_language(truth.language).name)
    parts = [problem.text]
    if problem.starter.strip():
        parts.append(f"Begin with this code:\n\n```{tag}\n{problem.starter.rstrip()}\n```")
    suffix = options.prompt_suffix
    if suffix is None:
        if truth.asks_for_function is not None:
            form = _FUNCTION
        else:
            form = _INTERACTIVE if truth.interactor else _PROGRAM
        suffix = form.format(name=_NAMES.get(tag, tag), tag=tag)
    return "\n\n".join([*parts, suffix] if suffix else parts)


def _longest_run(text: str) -> int:
    longest = run = 0
    for letter in text:
        run = run + 1 if letter == "`" else 0
        longest = max(longest, run)
    return longest
