"""Matrices, determinants, systems and piecewise definitions: what ``\\begin`` begins.

Sums, multiples and products of matrices are worked out entry by entry, as trees.
"""

from __future__ import annotations

from collections.abc import Callable

from cascade_rl_math.brackets import Tokens, encloses, split, top_level
from cascade_rl_math.lex import Token
from cascade_rl_math.limits import MAX_ITEMS, TooExpensive, Unreadable
from cascade_rl_math.nodes import Group, Matrix, Node, Piecewise, Scalar, scalar
from cascade_rl_math.parse import parse
from cascade_rl_math.tree import Ast, flat, size

Reader = Callable[[Tokens], Node]
Rows = list[list[Ast]]

_LARGEST_DETERMINANT = 4
_MOST_NODES = 4_000
_CONDITION_WORDS = frozenset(("if", "when", "for", "where", "otherwise if", "and"))


def read_matrix(inner: Tokens, read: Reader) -> Node:
    """The entries between the brackets of a matrix."""
    rows = _rows(inner)
    entries = [tuple(map(read, split(row, lambda token: token == ("op", "&")))) for row in rows]
    if not entries or len({len(row) for row in entries}) != 1:
        raise Unreadable("a matrix with rows of different lengths")
    _check(len(entries), len(entries[0]))
    return Matrix(tuple(entries))


def read_determinant(inner: Tokens, read: Reader) -> Node:
    """The value of a determinant."""
    matrix = read_matrix(inner, read)
    return scalar(determinant(_trees(matrix)))


def read_lines(inner: Tokens, read: Reader) -> Node:
    """``aligned`` and the like: a list, one member a line; ``&`` only aligns."""
    lines = [[token for token in row if token != ("op", "&")] for row in _rows(inner)]
    return _listed([line for line in lines if line], read)


def read_cases(inner: Tokens, read: Reader) -> Node:
    """``cases``: a system of equations, or values each with its condition."""
    rows = _rows(inner)
    if not any(token == ("op", "&") for token in top_level(inner)):
        return _listed(rows, read)
    if all(_is_aligned(row) for row in rows):
        return read_lines(inner, read)
    return Piecewise(tuple(_case(row, read) for row in rows))


def is_matrix_expression(tokens: Tokens) -> bool:
    """Whether matrices are joined or multiplied by something here."""
    return any(token == ("open", "matrix") for token in tokens) and not encloses(tokens)


def read_matrix_expression(tokens: Tokens, read: Reader) -> Node:
    """A sum of multiples and products of matrices, or the determinant of one."""
    if tokens[0] == ("func", "det") and encloses(tokens[1:]):
        return scalar(determinant(_trees(read(tokens[1:]))))
    if tokens[0] == ("op", "|") == tokens[-1] and encloses(tokens[1:-1]):
        return scalar(determinant(_trees(read(tokens[1:-1]))))
    total: Rows | None = None
    for sign, term in _terms(tokens):
        rows = _scaled(_term(term, read), ("num", "1") if sign == "+" else ("neg", ("num", "1")))
        total = rows if total is None else _added(total, rows)
    if total is None:
        raise Unreadable("a matrix is missing")
    return Matrix(tuple(tuple(scalar(entry) for entry in row) for row in total))


def determinant(rows: Rows) -> Ast:
    """Expanded along the first row."""
    if len(rows) != len(rows[0]) or len(rows) > _LARGEST_DETERMINANT:
        raise Unreadable("a determinant that is not square, or large")
    if len(rows) == 1:
        return rows[0][0]
    _small(rows)
    terms: list[Ast] = []
    for column, entry in enumerate(rows[0]):
        minor = determinant([row[:column] + row[column + 1 :] for row in rows[1:]])
        product: Ast = ("mul", entry, minor)
        terms.append(("neg", product) if column % 2 else product)
    return flat("add", terms)


def _rows(inner: Tokens) -> list[Tokens]:
    return [row for row in split(inner, lambda token: token == ("op", "\\\\")) if row]


def _listed(rows: list[Tokens], read: Reader) -> Node:
    kept = [_without_end(row) for row in rows]
    items = tuple(read(row) for row in kept if row)
    if not items:
        raise Unreadable("lines without content")
    return items[0] if len(items) == 1 else Group("list", items)


def _without_end(row: Tokens) -> Tokens:
    return row[:-1] if row and row[-1].kind == "sep" else row


def _is_aligned(row: Tokens) -> bool:
    """``x &= 1``: the mark stands before a relation."""
    at = next((index for index, token in enumerate(row) if token == ("op", "&")), None)
    return at is None or (at + 1 < len(row) and row[at + 1].kind == "rel")


def _case(row: Tokens, read: Reader) -> Group:
    columns = split(row, lambda token: token == ("op", "&"))
    if len(columns) != 2:
        raise Unreadable("a case without one value and one condition")
    value, condition = _without_end(columns[0]), columns[1]
    while len(condition) > 1 and condition[0].value.casefold() in _CONDITION_WORDS:
        condition = condition[1:]
    return Group("tuple", (read(value), read(_without_end(condition))))


def _terms(tokens: Tokens) -> list[tuple[str, Tokens]]:
    signs = [token.value for token in top_level(tokens) if token in (("op", "+"), ("op", "-"))]
    terms = split(tokens, lambda token: token in (("op", "+"), ("op", "-")))
    if not terms[0]:
        return list(zip(signs, terms[1:], strict=True))
    return list(zip(["+", *signs], terms, strict=True))


def _term(tokens: Tokens, read: Reader) -> Rows:
    """A multiple or a product: factors that are matrices, and one in front that is not."""
    rows: Rows | None = None
    factor: list[Token] = []
    for piece in _factors(tokens):
        if piece[0] != ("open", "matrix"):
            factor += piece
            continue
        turned = piece[-1] != ("close", "matrix")
        matrix = _trees(read(piece[:-2] if turned else piece))
        if turned:
            matrix = [list(column) for column in zip(*matrix, strict=True)]
        rows = matrix if rows is None else _multiplied(rows, matrix)
    if rows is None:
        raise Unreadable("a matrix is missing")
    while factor and factor[-1] == ("op", "*"):
        factor.pop()
    return _scaled(rows, parse(factor)) if factor else rows


def _factors(tokens: Tokens) -> list[Tokens]:
    pieces: list[Tokens] = []
    depth, start = 0, 0
    for index, token in enumerate(tokens):
        if token == ("open", "matrix") and depth == 0 and index > start:
            pieces.append(tokens[start:index])
            start = index
        depth += (token == ("open", "matrix")) - (token == ("close", "matrix"))
        if token == ("close", "matrix") and depth == 0:
            end = index + (3 if _is_transposed(tokens[index + 1 : index + 3]) else 1)
            pieces.append(tokens[start:end])
            start = end
    if start < len(tokens):
        raise Unreadable("something behind a matrix")
    return pieces


def _is_transposed(tokens: Tokens) -> bool:
    return list(tokens) == [("op", "^"), ("sym", "T")]


def _trees(matrix: Node) -> Rows:
    if not isinstance(matrix, Matrix):
        raise Unreadable("a matrix is missing")
    rows = [[entry.tree for entry in row if isinstance(entry, Scalar)] for row in matrix.rows]
    if any(len(row) != len(matrix.rows[0]) for row in rows):
        raise Unreadable("entries of a matrix that are no numbers")
    return rows


def _scaled(rows: Rows, factor: Ast) -> Rows:
    if factor == ("num", "1"):
        return rows
    return [[("mul", factor, entry) for entry in row] for row in rows]


def _added(left: Rows, right: Rows) -> Rows:
    if (len(left), len(left[0])) != (len(right), len(right[0])):
        raise Unreadable("a sum of matrices of different shapes")
    return [
        [("add", ours, theirs) for ours, theirs in zip(mine, other, strict=True)]
        for mine, other in zip(left, right, strict=True)
    ]


def _multiplied(left: Rows, right: Rows) -> Rows:
    if len(left[0]) != len(right):
        raise Unreadable("a product of matrices that do not fit")
    _check(len(left), len(right[0]))
    _small(left)
    _small(right)
    return [
        [
            flat("add", [("mul", row[k], right[k][column]) for k in range(len(right))])
            for column in range(len(right[0]))
        ]
        for row in left
    ]


def _check(height: int, width: int) -> None:
    if height * width > MAX_ITEMS:
        raise TooExpensive(f"a matrix of more than {MAX_ITEMS} entries")


def _small(rows: Rows) -> None:
    # Entries are copied into products: without a bound, nesting multiplies them.
    if sum(size(entry) for row in rows for entry in row) > _MOST_NODES:
        raise TooExpensive(f"a matrix of more than {_MOST_NODES} terms")
