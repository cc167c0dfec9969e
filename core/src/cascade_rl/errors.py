"""Every error that a user can meet, as one tree.

    CascadeError
    ├── PackError               a pack cannot be used; names the distribution and the fix
    │   ├── UnknownDomain
    │   ├── DuplicateDomain
    │   ├── PackImportError
    │   ├── MissingHook
    │   ├── UnknownHook
    │   ├── BadHookSignature
    │   ├── HookVersionMismatch
    │   ├── BadOptions
    │   ├── BadDeclaration      DETERMINISTIC, CONCURRENCY or RATE_PER_S has no use as it is
    │   └── HookFailed          a hook raised or returned a value of the wrong type
    ├── ConfigError             the cascade file or ``--set`` is wrong; names file and line
    ├── DataError               a data file cannot be used; names file and line
    ├── RunError                a run cannot start, go on, or be resumed
    ├── EngineError             a reward engine cannot work as it was asked to
    └── TransientError          raised by a pack's ``reward``: try this sample again, later

A bad sample is never an exception: it is a ``Reward`` whose status is not ``scored``.
"""

from __future__ import annotations

from collections.abc import Sequence


class CascadeError(Exception):
    """Base of all errors with a message written for the user."""


class PackError(CascadeError):
    """A pack cannot be used."""


class UnknownDomain(PackError):
    """No installed distribution announces this name."""


class DuplicateDomain(PackError):
    """Two distributions announce one name; neither wins."""


class PackImportError(PackError):
    """The entry point's module or attribute could not be imported."""


class MissingHook(PackError):
    """A required hook has no implementation."""


class UnknownHook(PackError):
    """A function carries ``@hookimpl`` but no hook has its name."""


class BadHookSignature(PackError):
    """An implementation names an argument that its hook does not have."""


class HookVersionMismatch(PackError):
    """The pack was written for another version of the hooks."""


class BadOptions(PackError):
    """The options do not fit the pack's ``Options``.

    ``problems`` pairs each option ("(all)": a rule over several) with what is wrong with it.
    """

    def __init__(self, message: str, problems: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class BadDeclaration(PackError):
    """What a pack declares about its ``reward`` has the wrong type or range."""


class HookFailed(PackError):
    """A hook raised, or returned a value of the wrong type."""


class ConfigError(CascadeError):
    """The cascade file or an override is wrong."""


class DataError(CascadeError):
    """A data file cannot be used."""


class RunError(CascadeError):
    """A run cannot start, go on, or be resumed."""


class EngineError(CascadeError):
    """A reward engine cannot work as it was asked to."""


class TransientError(CascadeError):
    """For packs to raise in ``reward``: a fault that a later try may well not meet.

    A server that is overloaded or restarting, say; never what the completion itself causes.
    The engine tries again after a pause that grows and is jittered, and not sooner than
    ``retry_after_s`` seconds; the sample ends as "error" when the tries or its total deadline
    are used up. Any other exception is tried once more, at once.
    """

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
