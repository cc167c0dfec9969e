"""Routes in other trainers' formats, one module each. Adding one is a line in ``DIALECTS``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter

from cascade_rl.service.dialects import (
    eval_protocol,
    nemo_gym,
    open_instruct,
    openrlhf,
    sandbox_fusion,
    slime,
)
from cascade_rl.service.scoring import Scoring

Build = Callable[[Scoring, dict[str, Any]], APIRouter | None]

#: Each builds its routes, or none where nothing that is served can answer them.
DIALECTS: tuple[Build, ...] = (
    openrlhf.routes,
    slime.routes,
    nemo_gym.routes,
    eval_protocol.routes,
    open_instruct.routes,
    sandbox_fusion.routes,
)
