"""The first stage's model from a folder or a hub, without loading its weights."""

from __future__ import annotations

from pathlib import Path

from cascade_rl.config.schema import ModelConfig
from cascade_rl.errors import RunError
from cascade_rl_trainer.model.template import make_template
from cascade_rl_trainer.state.files import replaced_folder
from cascade_rl_trainer.verl.checkpoints import copy_tree
from cascade_rl_trainer.verl.tokens import generation_eos


def prepare(config: ModelConfig, folder: Path) -> bool:
    """Bring the model of ``model.path`` to ``folder``; False where it must be built or converted.

    The weights stay as they are on disk (by hard link where possible); only the tokenizer is
    written anew, with the chat template that the cascade trains with. Raises ``RunError``.
    """
    if config.path is None:
        return False
    from transformers import AutoTokenizer

    source = _local(config.path)
    with replaced_folder(folder) as new:
        copy_tree(source, new)
        tokenizer = AutoTokenizer.from_pretrained(source)
        make_template(tokenizer, config.chat_template, generation_eos(source))
        for written in [*new.glob("tokenizer*"), *new.glob("chat_template*")]:
            written.unlink()  # a hard link must not be written through
        for name in ("special_tokens_map.json", "added_tokens.json", "vocab.json", "merges.txt"):
            (new / name).unlink(missing_ok=True)
        tokenizer.save_pretrained(new)
    return True


def _local(path: str) -> Path:
    expanded = Path(path).expanduser()
    if expanded.is_dir():
        return expanded
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(path))
    except (OSError, ValueError) as error:
        cause = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise RunError(
            f"cannot get the model {path!r}: no such folder here, and the Hugging Face hub could "
            f"not provide it ({cause})"
        ) from error
