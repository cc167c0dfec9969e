"""A loaded reward modifier."""

from __future__ import annotations

from typing import Any

import pluggy

from cascade_rl.registry.discover import Announcement
from cascade_rl.types import Completion, Prompt, Reward


class Modifier:
    """One modifier with one set of options."""

    def __init__(
        self, announcement: Announcement, manager: pluggy.PluginManager, options: Any
    ) -> None:
        self.announcement = announcement
        self.options = options
        self._manager = manager

    @property
    def name(self) -> str:
        """The entry point's name."""
        return self.announcement.name

    def modify(self, prompt: Prompt, completion: Completion, reward: Reward) -> Any:
        """The modifier's raw answer, a ``Reward`` or a number; the caller checks it."""
        return self._manager.hook.modify(
            prompt=prompt, completion=completion, reward=reward, options=self.options
        )
