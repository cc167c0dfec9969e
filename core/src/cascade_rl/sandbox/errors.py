"""What can be wrong with a request to a sandbox. What a program does is never an error."""

from __future__ import annotations

from cascade_rl.errors import CascadeError


class SandboxError(CascadeError):
    """A sandbox cannot do what it was asked to."""


class SandboxUnavailable(SandboxError):
    """This kind of sandbox cannot work on this host; the text says what to install."""


class UnknownLanguage(SandboxError):
    """No row of ``LANGUAGES`` has this name."""


class LanguageMissing(SandboxError):
    """The language is known but its compiler or interpreter is not installed."""
