"""Which verl this backend is written for, and what to do when another one is here."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from cascade_rl.errors import RunError

PINNED = "0.9.1"
INSTALL = "pip install 'cascade-rl-trainer[verl]'"


def require_verl() -> None:
    """Raise ``RunError`` unless exactly the pinned verl is installed.

    The trainer is a subclass of verl's and two of its private names are patched on a CPU, so
    another version may do something else without any error.
    """
    try:
        found = version("verl")
    except PackageNotFoundError:
        raise RunError(
            f"the verl backend needs verl {PINNED}, which is not installed here: {INSTALL} "
            "(torch first, so that nothing else decides which build of it is taken)"
        ) from None
    if found != PINNED:
        raise RunError(
            f"verl {found} is installed; the verl backend is written for verl {PINNED} and "
            f"relies on its inner parts: {INSTALL}"
        )
