"""What the reader knows by name: commands, functions, units, words around values. Data only."""

from __future__ import annotations

from typing import NamedTuple


class Token(NamedTuple):
    """``kind`` is one of num, sym, const, func, op, rel, open, close, text, sep, post, cmd."""

    kind: str
    value: str


FUNCTIONS = frozenset((
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "arccot", "sinh",
    "cosh", "tanh", "ln", "log", "lg", "exp", "sqrt", "gcd", "lcm", "max", "min",
))  # fmt: skip
LETTERS = frozenset((
    "alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta", "iota",
    "kappa", "lambda", "mu", "nu", "xi", "rho", "sigma", "tau", "phi", "varphi", "chi", "psi",
    "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Sigma", "Phi", "Psi", "Omega", "ell",
    "angle", "triangle", "emptyset", "varnothing",
))  # fmt: skip
COMMANDS = {
    "pi": Token("const", "pi"),
    "infty": Token("const", "oo"),
    "cdot": Token("op", "*"),
    "times": Token("op", "*"),
    "ast": Token("op", "*"),
    "div": Token("op", "/"),
    "pm": Token("op", "±"),
    "mp": Token("op", "∓"),
    "cup": Token("op", "∪"),
    "setminus": Token("op", "∖"),
    "backslash": Token("op", "∖"),
    "leq": Token("rel", "≤"),
    "le": Token("rel", "≤"),
    "leqslant": Token("rel", "≤"),
    "geq": Token("rel", "≥"),
    "ge": Token("rel", "≥"),
    "geqslant": Token("rel", "≥"),
    "lt": Token("rel", "<"),
    "gt": Token("rel", ">"),
    "neq": Token("rel", "≠"),
    "approx": Token("rel", "≈"),
    "in": Token("rel", "∈"),
    "lor": Token("sep", "or"),
    "vee": Token("sep", "or"),
    "degree": Token("post", "°"),
    "%": Token("post", "%"),
    "{": Token("open", "\\{"),
    "}": Token("close", "\\}"),
    "lbrace": Token("open", "\\{"),
    "rbrace": Token("close", "\\}"),
    "lfloor": Token("open", "⌊"),
    "rfloor": Token("close", "⌋"),
    "lceil": Token("open", "⌈"),
    "rceil": Token("close", "⌉"),
    "lvert": Token("op", "|"),
    "rvert": Token("op", "|"),
    "vert": Token("op", "|"),
    "mid": Token("op", "|"),
    "|": Token("op", "|"),
    "frac": Token("cmd", "frac"),
    "sqrt": Token("func", "sqrt"),
    "binom": Token("cmd", "binom"),
    "ldots": Token("sym", "…"),
    "cdots": Token("sym", "…"),
    "dots": Token("sym", "…"),
    "prime": Token("post", "'"),
    "\\": Token("op", "\\\\"),
}
PUNCTUATION = {
    **{symbol: Token("op", symbol) for symbol in "+-*/^_|&:"},
    **{symbol: Token("rel", symbol) for symbol in "=<>"},
    **{symbol: Token("open", symbol) for symbol in "({["},
    **{symbol: Token("close", symbol) for symbol in ")}]"},
    **{symbol: Token("sep", symbol) for symbol in ",;"},
    **{symbol: Token("post", symbol) for symbol in "!%'"},
}
TEXT_COMMANDS = frozenset((
    "text", "textbf", "textit", "textrm", "textsf", "textnormal", "mbox", "hbox",
))  # fmt: skip
STYLE_COMMANDS = frozenset((
    "mathrm", "mathbf", "mathit", "mathsf", "boldsymbol", "bm", "operatorname", "mathbb",
    "mathcal",
))  # fmt: skip
NAMES = {"pi": "pi", "infty": "oo", "infinity": "oo"}
#: A run of letters outside \text is a product of letters unless it is one of these or long.
SHORT_WORDS = frozenset((
    "cm", "mm", "km", "kg", "mg", "ml", "ft", "sq", "mph", "hrs", "min", "sec", "deg", "rad",
    "usd", "yes", "no", "odd", "even", "true", "all", "for",
))  # fmt: skip
LONG_WORD = 4
#: Units that are letters or functions elsewhere: only inside \\text and after a number.
SHORT_UNITS = frozenset(("min", "sec", "m", "g", "s", "h", "l", "L", "N", "J", "W", "V"))


LEAD_IN = frozenset((
    "only", "the", "final", "answer", "answers", "is", "are", "so", "thus", "hence",
    "therefore", "solution", "solutions", "value", "values", "area", "volume", "length",
    "total", "equals", "we", "get", "have",
))  # fmt: skip
#: Words that change what a value means; with one of these beside it, it is not the value.
CHANGING = frozenset((
    "not", "no", "never", "except", "excluding", "than", "least", "most", "more", "less",
    "below", "above", "over", "under", "about", "almost", "nearly", "approximately", "roughly",
    "between", "unless", "if", "when", "but", "either", "neither", "maybe", "perhaps", "where",
    "mod", "modulo", "undefined", "false", "wrong", "incorrect", "instead", "rather", "rounded",
))  # fmt: skip
QUALIFIERS = frozenset((
    "for", "where", "with",
))  # fmt: skip
BIG_SETS = frozenset(("set R", "set Z", "set N", "set Q", "set C"))
UNIT_NAMES = {
    "cm": "cm", "centimeter": "cm", "centimetre": "cm", "mm": "mm", "millimeter": "mm", "g": "g",
    "s": "s", "h": "h", "l": "l", "L": "l", "m": "m", "meter": "m", "metre": "m", "km": "km",
    "kilometer": "km", "kilometre": "km", "inch": "in", "inche": "in", "in": "in", "feet": "ft",
    "foot": "ft", "ft": "ft", "yard": "yd", "mile": "mi", "second": "s", "sec": "s",
    "minute": "min", "min": "min", "hour": "h", "hr": "h", "day": "day", "week": "week",
    "month": "month", "year": "year", "kg": "kg", "kilogram": "kg", "gram": "g", "mg": "mg",
    "pound": "lb", "ounce": "oz", "liter": "l", "litre": "l", "ml": "ml", "dollar": "dollar",
    "cent": "cent", "degree": "deg", "radian": "rad", "mph": "mph",
}  # fmt: skip
