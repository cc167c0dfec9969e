"""Prompts as the parquet file that verl's dataset reads.

What a domain knows of a prompt goes as one JSON text: parquet unites the fields of structs, so
the prompts of one domain would otherwise get those of all others, filled with nulls.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cascade_rl.errors import RunError
from cascade_rl.types import Prompt


def write_prompts(path: Path, prompts: Iterable[tuple[str, Prompt]]) -> int:
    """Write (domain, prompt) pairs in order; returns how many. Needs pyarrow.

    The columns that verl demands are there (``data_source``, ``prompt``, ``reward_model``,
    ``extra_info``); ``extra_info.cascade_rl`` holds the whole prompt.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:  # it comes with verl
        raise RunError("writing parquet needs pyarrow: pip install pyarrow") from error

    rows = [_row(place, domain, prompt) for place, (domain, prompt) in enumerate(prompts)]
    path.parent.mkdir(parents=True, exist_ok=True)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return len(rows)


def _row(place: int, domain: str, prompt: Prompt) -> dict[str, Any]:
    return {
        "data_source": domain,
        "prompt": [{"role": m.role, "content": _utf8(m.content)} for m in prompt.messages],
        "reward_model": {"style": "rule", "ground_truth": json.dumps(prompt.ground_truth)},
        "extra_info": {
            "index": place,
            "id": _utf8(prompt.id),
            "cascade_rl": json.dumps(prompt.model_dump(mode="json")),
        },
    }


def _utf8(text: str) -> str:
    """Lone surrogates cannot be written; what we read back is the JSON text beside this."""
    return text.encode("utf-8", "replace").decode("utf-8")


def read_prompts(rows: Sequence[Any]) -> list[tuple[str, Prompt]]:
    """(domain, prompt) of each row of verl's dataset."""
    return [
        (row["data_source"], Prompt.model_validate(json.loads(row["extra_info"]["cascade_rl"])))
        for row in rows
    ]
