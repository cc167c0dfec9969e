"""The template of a model folder, loaded once a process. Loads no weights."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

from cascade_rl_trainer.model.template import Template, make_template


@cache
def template_of(folder: str, kind: Literal["flags", "own"]) -> Template:
    """How the model in ``folder`` writes prompts and ends replies.

    Raises ``ConfigError`` when the tokenizer lacks what ``kind`` needs, ``OSError`` when there
    is no tokenizer.
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    return make_template(tokenizer, kind, generation_eos(Path(folder)))


def generation_eos(folder: Path) -> Any:
    """The end token or tokens that a model folder states, or None."""
    from transformers import GenerationConfig

    if not (folder / "generation_config.json").exists():
        return None
    return GenerationConfig.from_pretrained(folder).eos_token_id
