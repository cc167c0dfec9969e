"""CPU threads of the trainer's own process."""

from __future__ import annotations


def set_threads(count: int | None) -> int:
    """Use ``count`` torch threads (None: leave torch's choice); returns how many are used."""
    import torch

    if count is not None:
        torch.set_num_threads(count)
    return torch.get_num_threads()
