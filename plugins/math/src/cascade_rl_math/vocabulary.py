"""What the reader knows by name: commands, functions, words around values. Data only."""

from __future__ import annotations

from typing import NamedTuple


class Token(NamedTuple):
    """``kind`` is one of num, base, sym, const, func, op, rel, open, close, text, sep, post,
    cmd, accent, infix, bound."""

    kind: str
    value: str


_SAME_NAME = (
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "arccot", "sinh",
    "cosh", "tanh", "ln", "log", "lg", "exp", "sqrt", "gcd", "lcm", "max", "min", "abs", "floor",
    "ceil", "cis", "det", "cbrt", "Re", "Im", "arg", "sgn", "factorial",
)  # fmt: skip
#: Names of functions, each with the one it is known by here.
FUNCTIONS = {
    **{name: name for name in _SAME_NAME},
    "tg": "tan", "ctg": "cot", "cosec": "csc", "arctg": "arctan", "arcctg": "arccot",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sh": "sinh", "ch": "cosh",
    "th": "tanh", "ceiling": "ceil", "sign": "sgn",
}  # fmt: skip
LETTERS = frozenset((
    "alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "zeta", "eta", "theta", "iota",
    "kappa", "lambda", "mu", "nu", "xi", "rho", "sigma", "tau", "phi", "varphi", "chi", "psi",
    "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Phi", "Psi", "Omega",
    "ell", "angle", "triangle", "imath", "jmath", "vartheta", "upsilon", "partial", "nabla", "mho",
    "hbar", "square",
))  # fmt: skip
ACCENTS = frozenset((
    "vec", "hat", "bar", "tilde", "overline", "overrightarrow", "overleftrightarrow", "widehat",
    "widetilde", "dot", "ddot", "mathring", "overset", "overparen",
))  # fmt: skip
_OPERATORS = {
    "cdot": "*", "times": "*", "ast": "*", "star": "*", "div": "/", "pm": "±", "mp": "∓",
    "cup": "∪", "bigcup": "∪", "cap": "∩", "setminus": "∖", "backslash": "∖",
    "smallsetminus": "∖", "lvert": "|", "rvert": "|", "vert": "|", "mid": "|", "|": "|",
    "Vert": "|", "lVert": "|", "rVert": "|", "colon": ":", "bmod": "mod", "mod": "mod",
    "pmod": "mod",
}  # fmt: skip
_RELATIONS = {
    "leq": "≤", "le": "≤", "leqslant": "≤", "leqq": "≤", "geq": "≥", "ge": "≥", "geqslant": "≥",
    "geqq": "≥", "lt": "<", "gt": ">", "neq": "≠", "approx": "≈", "simeq": "≈", "doteq": "≈",
    "in": "∈", "equiv": "≡", "to": "→", "rightarrow": "→", "longrightarrow": "→",
}  # fmt: skip
_OPENINGS = {
    "{": "\\{", "lbrace": "\\{", "lfloor": "⌊", "lceil": "⌈", "langle": "⟨", "lbrack": "[",
    "lparen": "(",
}  # fmt: skip
_CLOSINGS = {
    "}": "\\}", "rbrace": "\\}", "rfloor": "⌋", "rceil": "⌉", "rangle": "⟩", "rbrack": "]",
    "rparen": ")",
}  # fmt: skip
_CURRENCIES = {
    "$": "dollars", "pounds": "gbp", "euro": "euros", "yen": "yen", "rupee": "rupees",
    "won": "won", "cents": "cents", "textdollar": "dollars",
}  # fmt: skip
COMMANDS = {
    **{name: Token("op", value) for name, value in _OPERATORS.items()},
    **{name: Token("rel", value) for name, value in _RELATIONS.items()},
    **{name: Token("open", value) for name, value in _OPENINGS.items()},
    **{name: Token("close", value) for name, value in _CLOSINGS.items()},
    **{name: Token("text", value) for name, value in _CURRENCIES.items()},
    **{name: Token("sym", "∅") for name in ("emptyset", "varnothing")},
    **{name: Token("sym", "…") for name in ("ldots", "cdots", "dots", "dotsc", "dotsb", "vdots")},
    **{name: Token("sep", "or") for name in ("lor", "vee")},
    **{name: Token("sep", "and") for name in ("land", "wedge", "&")},
    **{name: Token("text", "so") for name in ("therefore", "Rightarrow", "implies")},
    **{name: Token("bound", name) for name in ("sum", "prod", "int", "lim")},
    "pi": Token("const", "pi"),
    "infty": Token("const", "oo"),
    "degree": Token("post", "°"),
    "%": Token("post", "%"),
    "prime": Token("post", "'"),
    "frac": Token("cmd", "frac"),
    "binom": Token("cmd", "binom"),
    "over": Token("infix", "frac"),
    "choose": Token("infix", "binom"),
    "forall": Token("text", "for all"),
    "#": Token("text", "number"),
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
    "text", "textbf", "textit", "textrm", "textsf", "textnormal", "mbox", "hbox", "texttt", "emph",
))  # fmt: skip
STYLE_COMMANDS = frozenset((
    "mathrm", "mathbf", "mathit", "mathsf", "boldsymbol", "bm", "operatorname", "mathbb",
    "mathcal", "mathfrak", "mathscr", "mathtt", "mathnormal", "pmb", "operatorname*",
))  # fmt: skip
#: In these a lone i, j or k is a unit vector, not the imaginary unit or an index.
BOLD_COMMANDS = frozenset(("mathbf", "boldsymbol", "bm", "pmb", "vec", "hat"))
NAMES = {"pi": "pi", "infty": "oo", "infinity": "oo", "oo": "oo", "inf": "oo"}
#: A run of letters outside \text is a product of letters unless it is one of these or long.
SHORT_WORDS = frozenset((
    "cm", "mm", "km", "kg", "mg", "ml", "mL", "ft", "sq", "mph", "kph", "hrs", "hr", "min", "sec",
    "deg", "rad", "usd", "USD", "EUR", "GBP", "yes", "no", "odd", "even", "true", "all", "for",
    "the", "is", "are", "not", "mod", "so", "to", "if", "of", "we", "it", "one", "two", "six",
    "ten", "AM", "PM", "am", "pm", "yd", "oz", "lb", "lbs", "mi", "Hz", "Pa", "kJ", "kW", "nm",
    "dm", "does", "has",
))  # fmt: skip
LONG_WORD = 4
#: Units that are letters or functions elsewhere: only inside \\text and after a number.
SHORT_UNITS = frozenset(("min", "sec", "m", "g", "s", "h", "l", "L", "N", "J", "W", "V", "A", "K"))
LEAD_IN = frozenset((
    "only", "the", "final", "answer", "answers", "is", "are", "so", "thus", "hence", "therefore",
    "solution", "solutions", "value", "values", "area", "volume", "length", "total", "equals",
    "we", "get", "have", "option", "choice", "number", "that", "and", "then", "result", "exactly",
    "our", "my", "correct", "required", "desired", "equal", "to", "there", "a", "perimeter",
    "probability", "sum", "product", "it", "them",
))  # fmt: skip
#: Words that change what a value means; with one of these beside it, it is not the value.
CHANGING = frozenset((
    "not", "no", "never", "except", "excluding", "than", "least", "most", "more", "less", "fewer",
    "below", "above", "over", "under", "about", "almost", "nearly", "approximately", "roughly",
    "around", "between", "unless", "if", "when", "but", "either", "neither", "nor", "maybe",
    "perhaps", "possibly", "probably", "might", "may", "could", "where", "mod", "modulo",
    "undefined", "false", "wrong", "incorrect", "instead", "rather", "rounded", "isn", "aren",
    "cannot", "alternatively", "otherwise", "without", "both", "exceeds", "up", "within",
    "impossible", "doesn", "can't",
))  # fmt: skip
QUALIFIERS = frozenset(("for", "where", "with"))
BIG_SETS = frozenset(("set R", "set Z", "set N", "set Q", "set C"))
_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty",
)  # fmt: skip
NUMBER_WORDS = {word: str(value) for value, word in enumerate(_NUMBERS)}
#: Answers that say that nothing fits.
NOTHING_FITS = frozenset((
    "no solution", "no solutions", "no real solution", "no real solutions", "none", "empty set",
    "no such numbers", "no integer solutions", "the empty set", "no roots", "no real roots",
    "there are no solutions", "there is no solution", "no solution exists", "no solutions exist",
    "no values", "no such values",
))  # fmt: skip
#: Answers of several words that are always written so.
PHRASES = frozenset((
    "does not exist", "not enough information", "cannot be determined", "none of these",
    "none of the above", "all of the above", "not a function", "infinitely many solutions",
    "neither even nor odd", "no upper bound", "it does not exist", "does not converge",
))  # fmt: skip
EVERY_REAL = frozenset((
    "all real numbers", "all reals", "all real values", "real numbers", "any real number",
    "every real number", "the real numbers", "the set of all real numbers", "all real x",
))  # fmt: skip
