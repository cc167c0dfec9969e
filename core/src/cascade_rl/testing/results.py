"""What a check says: data only, the same for the terminal, ``--json`` and pytest."""

from __future__ import annotations

from typing import Literal

from cascade_rl.types import Record

Outcome = Literal["ok", "failed", "skipped"]
SHOWN = 100
FINDINGS_SHOWN = 5
#: How the reason of a check begins that waits for another one.
NOT_RUN = "not run"


class Finding(Record):
    """One thing that was not as it must be."""

    given: str
    got: str
    expected: str


class Result(Record):
    """The outcome of one check. ``reason`` says why it was skipped."""

    check: str
    title: str
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    more: int = 0
    reason: str = ""
    rerun: str = ""
    seconds: float = 0.0

    def text(self) -> str:
        """The result as lines for a terminal."""
        head = f"{self.outcome:8}{self.check:16}{self.title}"
        if self.outcome == "ok":
            return head
        if self.outcome == "skipped":
            return f"{head}\n{'':24}{self.reason}"
        lines = [head]
        for finding in self.findings:
            lines += [
                f"{'':8}given     {finding.given}",
                f"{'':8}got       {finding.got}",
                f"{'':8}expected  {finding.expected}",
            ]
        if self.more:
            lines.append(f"{'':8}and {self.more} more like these")
        return "\n".join([*lines, f"{'':8}again     {self.rerun}"])


class Report(Record):
    """All results of one plugin."""

    kind: Literal["domain", "modifier"]
    name: str
    source: str
    results: tuple[Result, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing failed. What was skipped is listed, not failed."""
        return not any(r.outcome == "failed" for r in self.results)

    @property
    def failed(self) -> list[str]:
        """The names of the failed checks."""
        return [r.check for r in self.results if r.outcome == "failed"]

    def text(self) -> str:
        """The report as lines for a terminal."""
        counts = {o: sum(r.outcome == o for r in self.results) for o in ("ok", "failed", "skipped")}
        run = [r for r in self.results if not r.reason.startswith(NOT_RUN)]
        left_out = [r.check for r in self.results if r not in run]
        lines = [f"{self.kind} {self.name}  ({self.source})", *(r.text() for r in run)]
        if left_out:
            lines.append(f"not run, because another check failed: {', '.join(left_out)}")
        total = f"{counts['ok']} ok, {counts['failed']} failed, {counts['skipped']} skipped"
        return "\n".join([*lines, total])


def shown(text: str) -> str:
    """A text for a message: quoted, on one line, its length said where it is cut."""
    if len(text) <= SHOWN:
        return repr(text)
    return f"{text[: SHOWN // 2]!r}… ({len(text):,} characters)"
