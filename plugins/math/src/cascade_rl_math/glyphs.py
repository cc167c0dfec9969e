"""Characters beyond ASCII, and what each is in LaTeX. Data, and one pass over a text."""

from __future__ import annotations

import re
import unicodedata

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣʸ", "0123456789+-=()nixy", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₍₎ₙₖₐₓ", "0123456789+-()nkax", strict=True))
_VULGAR = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5),
    "⅗": (3, 5), "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅐": (1, 7), "⅛": (1, 8), "⅜": (3, 8),
    "⅝": (5, 8), "⅞": (7, 8), "⅑": (1, 9), "⅒": (1, 10),
}  # fmt: skip
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ϵ": "epsilon",
    "ζ": "zeta", "η": "eta", "θ": "theta", "ϑ": "theta", "ι": "iota", "κ": "kappa",
    "λ": "lambda", "μ": "mu", "µ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho",
    "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "ϕ": "phi", "χ": "chi", "ψ": "psi",
    "ω": "omega", "Γ": "Gamma", "Δ": "Delta", "∆": "Delta", "Θ": "Theta", "Λ": "Lambda",
    "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega", "ℓ": "ell",
}  # fmt: skip
_COMMANDS = {
    "×": "times", "✕": "times", "·": "cdot", "⋅": "cdot", "∙": "cdot", "•": "cdot", "÷": "div",
    "≤": "leq", "≦": "leq", "⩽": "leq", "≥": "geq", "≧": "geq", "⩾": "geq", "≠": "neq",
    "≈": "approx", "≃": "approx", "≅": "cong", "≡": "equiv", "∼": "sim", "±": "pm", "∓": "mp",
    "∞": "infty", "∪": "cup", "∩": "cap", "∈": "in", "∉": "notin", "⊂": "subset",
    "⊆": "subseteq", "∅": "emptyset", "⌀": "emptyset", "∖": "setminus", "∧": "land", "∨": "lor",
    "∀": "forall", "∃": "exists", "∠": "angle", "△": "triangle", "▵": "triangle", "⟂": "perp",
    "⊥": "perp", "∥": "parallel", "→": "to", "⟶": "to", "↦": "mapsto", "⇒": "Rightarrow",
    "⟹": "implies", "⇔": "iff", "∴": "therefore", "∵": "because", "⟨": "langle", "⟩": "rangle",
    "〈": "langle", "〉": "rangle", "⌊": "lfloor", "⌋": "rfloor", "⌈": "lceil", "⌉": "rceil",
    "∑": "sum", "∏": "prod", "∫": "int", "∂": "partial", "∇": "nabla", "…": "ldots",
    "⋯": "ldots", "£": "pounds", "€": "euro", "¥": "yen", "￥": "yen", "₹": "rupee",
    "₩": "won", "¢": "cents",
}  # fmt: skip
_PLAIN = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "‒": "-", "﹣": "-", "∕": "/", "⁄": "/",
    "∣": "|", "∶": ":", "′": "'", "’": "'", "‘": "'", "″": "''", "％": "%", "﹪": "%", "ˆ": "^",
    "⎯": "-", "、": ",", "√": "\\sqrt ", "∛": "\\sqrt[3]", "∜": "\\sqrt[4]", "°": "^\\circ ",
    "º": "^\\circ ", "℃": "^\\circ C", "ℝ": "\\mathbb{R}", "ℤ": "\\mathbb{Z}",
    "ℕ": "\\mathbb{N}", "ℚ": "\\mathbb{Q}", "ℂ": "\\mathbb{C}", "“": '"', "”": '"',
}  # fmt: skip
_SINGLE = {
    **{symbol: f"\\{name} " for symbol, name in (_GREEK | _COMMANDS).items()},
    **{symbol: f"\\frac{{{above}}}{{{below}}}" for symbol, (above, below) in _VULGAR.items()},
    **_PLAIN,
}
_RAISED = re.compile(f"[{''.join(map(re.escape, _SUPERSCRIPTS))}]+")
_LOWERED = re.compile(f"[{''.join(map(re.escape, _SUBSCRIPTS))}]+")
#: The root sign takes the whole number that follows it; LaTeX's takes one digit.
_ROOT_OF_NUMBER = re.compile(r"([√∛∜])\s*(\d+(?:\.\d+)?)")


def to_latex(text: str) -> str:
    """The text in ASCII, as far as its characters have a meaning in mathematics."""
    if text.isascii():
        return text
    text = _ROOT_OF_NUMBER.sub(r"\1{\2}", text)
    text = _RAISED.sub(lambda match: _script("^", match, _SUPERSCRIPTS), text)
    text = _LOWERED.sub(lambda match: _script("_", match, _SUBSCRIPTS), text)
    return "".join(map(_one, text))


def _script(mark: str, match: re.Match[str], table: dict[str, str]) -> str:
    return f"{mark}{{{''.join(table[symbol] for symbol in match.group())}}}"


def _one(symbol: str) -> str:
    if symbol < "\x80":
        return symbol
    if symbol in _SINGLE:
        return _SINGLE[symbol]
    if "\uff01" <= symbol <= "\uff5e" or "\U0001d400" <= symbol <= "\U0001d7ff":
        plain = unicodedata.normalize("NFKC", symbol)  # full-width and styled letters and digits
        return _SINGLE.get(plain, plain)
    if (digit := unicodedata.decimal(symbol, None)) is not None:
        return str(digit)  # the digits of other scripts
    return symbol
