"""Replies with the reward each must get: what ``cascade check math`` runs."""

from __future__ import annotations

from typing import Literal

from cascade_rl.types import Completion, Example, Prompt

Kind = Literal["right", "wrong", "hostile"]


def _example(
    name: str,
    kind: Kind,
    gold: str,
    reply: str,
    expected: float | None,
    think: bool = False,
) -> Example:
    mode: Literal["think", "none"] = "think" if think else "none"
    prompt = Prompt.from_text(f"example-{name}", "What is it?", ground_truth=gold, mode=mode)
    completion = Completion(text=reply)
    return Example(name=name, kind=kind, prompt=prompt, completion=completion, expected=expected)


_TOWER = "9^{9^{9^{9}}}"

EXAMPLES: tuple[Example, ...] = (
    _example("sum", "right", "25", r"<think>7+8=15</think>\boxed{25}", 1, think=True),
    _example("fraction-as-decimal", "right", r"\frac{1}{2}", r"so \boxed{0.5}", 1),
    _example("thousands", "right", "1234567", r"\boxed{1,234,567}", 1),
    _example("unit", "right", "15", r"\boxed{15\text{ cm}}", 1),
    _example("roots-in-any-order", "right", "3, -1, 8", r"\boxed{8, 3, -1}", 1),
    _example("label", "right", "x = 4", r"\boxed{4}", 1),
    _example("interval", "right", "[0, \\infty)", r"\boxed{x \geq 0}", 1),
    _example("matrix", "right", r"\begin{pmatrix}1 & 2\end{pmatrix}",
             r"\boxed{\begin{bmatrix} 1 & \frac{4}{2} \end{bmatrix}}", 1),
    _example("factored", "right", "x^2 - 4x", r"\boxed{x(x - 4)}", 1),
    _example("last-box-counts", "right", "7", r"\boxed{12}, wait, no. It is \boxed{7}", 1),
    _example("other-number", "wrong", "25", r"<think></think>\boxed{26}", 0, think=True),
    _example("box-in-thoughts-only", "wrong", "25", r"<think>\boxed{25}</think>done", 0,
             think=True),
    _example("thoughts-never-closed", "wrong", "25", r"<think>it is \boxed{25}", 0, think=True),
    _example("no-box", "wrong", "25", "The answer is 25", 0),
    _example("empty-box", "wrong", "25", r"\boxed{}", 0),
    _example("point-reversed", "wrong", "(1, 2)", r"\boxed{(2, 1)}", 0),
    _example("open-end", "wrong", "[1, 6)", r"\boxed{[1, 6]}", 0),
    _example("percent-is-no-hundredfold", "wrong", "0.5", r"\boxed{50}", 0),
    _example("other-unit", "wrong", r"12\text{ cm}", r"\boxed{12\text{ m}}", 0),
    _example("two-candidates", "hostile", "2", r"\boxed{1 \text{ or } 2}", 0),
    _example("two-boxes", "hostile", "2", r"\boxed{1} or \boxed{2}", 0),
    _example("power-tower", "hostile", "2", rf"\boxed{{{_TOWER}}}", 0),
    _example("huge-factorial", "hostile", "2", r"\boxed{(10^{9})!}", 0),
    _example("many-digits", "hostile", "2", r"\boxed{" + "7" * 100_000 + "}", 0),
    _example("nested-braces", "hostile", "2", r"\boxed{" + "{" * 10_000 + "}" * 10_000 + "}", 0),
    _example("code", "hostile", "2", r"\boxed{__import__('os').getpid()}", 0),
    _example("null-byte", "hostile", "2", "\\boxed{2\x00}", 0),
    _example("gold-is-no-answer", "hostile", "see the figure below", r"\boxed{2}", None),
)  # fmt: skip
