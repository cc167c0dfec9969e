"""No progress bars of transformers over the trainer's own display."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_progress_bars() -> Iterator[None]:
    """Within the block, reading and writing local folders draws nothing on the terminal."""
    from transformers.utils import logging

    active = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if active:
            logging.enable_progress_bar()
