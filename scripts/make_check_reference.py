"""Writes the tables of docs/check.md from the checks themselves. A test keeps the two equal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cascade_rl.testing import domain_kit, modifier_kit

TARGET = Path(__file__).parent.parent / "docs" / "check.md"
BEGIN, END = "<!-- {} begins -->", "<!-- {} ends -->"


def main() -> None:
    """Write the page."""
    TARGET.write_text(page())


def page() -> str:
    """The page with both tables as the checks are now."""
    text = TARGET.read_text()
    for name, checks in (("domain", domain_kit.CHECKS), ("modifier", modifier_kit.CHECKS)):
        begin, end = BEGIN.format(name), END.format(name)
        before, rest = text.split(begin)
        after = rest.split(end)[1]
        text = f"{before}{begin}\n{_table(checks)}\n{end}{after}"
    return text


def _table(checks: Mapping[str, Any]) -> str:
    rows = [f"| `{c.name}` | {c.title} | {', '.join(c.needs)} |" for c in checks.values()]
    return "\n".join(["| check | what it claims | runs after |", "|---|---|---|", *rows])


if __name__ == "__main__":
    main()
