"""Building SVG by hand: elements whose text and attributes are always escaped."""

from __future__ import annotations

from markupsafe import Markup, escape

Attribute = str | float | None


def tag(name: str, *children: str, **attributes: Attribute) -> Markup:
    """``<name key="value">children</name>``.

    In a keyword, a trailing "_" is dropped and "_" stands for "-"; None leaves it out. A child
    that is not ``Markup`` is text and gets escaped.
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    body = "".join(escape(child) for child in children)
    return Markup(f"<{name}{pairs}>{body}</{name}>")  # noqa: S704  every part is escaped above


def text(x: float, y: float, content: str, **attributes: Attribute) -> Markup:
    """A text element."""
    return tag("text", content, x=x, y=y, **attributes)


def shorten(name: str, length: int) -> str:
    """A label that fits; what is cut off shows as an ellipsis."""
    return name if len(name) <= length else name[: length - 1] + "…"


def _number(value: Attribute) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
