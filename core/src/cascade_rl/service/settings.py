"""What a service is told when it starts. Data only: nothing here imports a pack or the extra.

Options of a domain are fixed here; a request may change only what the pack marks as safe.
"""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any, Self

from pydantic import Field, JsonValue, SecretStr, ValidationError, model_validator

from cascade_rl.config.yaml_text import parse_yaml
from cascade_rl.errors import ConfigError
from cascade_rl.registry import did_you_mean
from cascade_rl.types import LengthBudget, Mode, Record

#: The only path a token takes besides a file; never an argument, which `ps` would show.
TOKENS_VARIABLE = "CASCADE_SERVE_TOKENS"
MIN_TOKEN_CHARS = 16


class Cohort(Record):
    """How single samples of a peer's route become a group: so many of one prompt, in so long."""

    size: int = Field(ge=2, le=1024)
    deadline_s: float = Field(default=60.0, gt=0)


class DomainSettings(Record):
    """One served domain. ``mode``, ``budget`` and ``cohort`` concern peers' routes only.

    Their formats say nothing of thinking, length budgets or groups; the native route does.
    """

    options: dict[str, JsonValue] = Field(default_factory=dict)
    workers: int = Field(default=1, ge=1, le=256)
    timeout_s: float = Field(default=30.0, gt=0)
    memory_mb: int | None = Field(default=None, gt=0)
    blame: bool = False
    mode: Mode = "none"
    budget: LengthBudget | None = None
    cohort: Cohort | None = None


class Limits(Record):
    """What one process accepts. Beyond it a request is refused, with a code and a reason."""

    body_bytes: int = Field(default=16 * 2**20, ge=1024)
    batch_items: int = Field(default=1024, ge=1)
    queue_items: int = Field(default=16384, ge=1)
    request_s: float = Field(default=300.0, gt=0)
    grace_s: float = Field(default=30.0, ge=0)

    @model_validator(mode="after")
    def _a_batch_fits_the_queue(self) -> Self:
        if self.batch_items > self.queue_items:
            raise ValueError(
                f"batch_items {self.batch_items} would never fit queue_items {self.queue_items}"
            )
        return self


class ServiceSettings(Record):
    """The whole of it. ``domains`` is an allow-list: nothing else is ever imported."""

    domains: dict[str, DomainSettings] = Field(min_length=1)
    host: str = "127.0.0.1"
    port: int = Field(default=8000, ge=0, le=65535)
    processes: int = Field(default=1, ge=1, le=64)
    tokens: tuple[SecretStr, ...] = ()
    insecure: bool = False
    limits: Limits = Limits()
    unscored_as: float | None = Field(default=None, allow_inf_nan=False)

    @model_validator(mode="after")
    def _is_safe_and_possible(self) -> Self:
        if not (self.tokens or self.insecure or is_loopback(self.host)):
            raise ValueError(
                f"host {self.host!r} is reachable from other machines and there is no token; "
                f"set {TOKENS_VARIABLE} or give --token-file, or say --insecure"
            )
        short = [t for t in self.tokens if len(t.get_secret_value()) < MIN_TOKEN_CHARS]
        if short:
            raise ValueError(
                f"{len(short)} of {len(self.tokens)} tokens are shorter than {MIN_TOKEN_CHARS} "
                "characters; make one with: "
                "python -c 'import secrets; print(secrets.token_urlsafe())'"
            )
        grouped = [name for name, domain in self.domains.items() if domain.cohort]
        if grouped and self.processes > 1:
            raise ValueError(
                f"domain {grouped[0]!r} collects cohorts, whose members must meet in one process; "
                f"set processes to 1 (got {self.processes})"
            )
        return self


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_tokens(file: Path | None, variable: str | None) -> tuple[SecretStr, ...]:
    """Tokens from a file (one a line, ``#`` starts a comment) and a variable's value (by space).

    Raises ``ConfigError``.
    """
    words: list[str] = (variable or "").split()
    if file is not None:
        try:
            lines = file.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read the token file {file}: {error}") from error
        found = [line.strip() for line in lines]
        found = [line for line in found if line and not line.startswith("#")]
        if not found:
            raise ConfigError(f"the token file {file} holds no token; write one a line")
        words += found
    return tuple(SecretStr(word) for word in dict.fromkeys(words))


def read_config(path: Path) -> dict[str, Any]:
    """The mapping of a YAML settings file. Raises ``ConfigError``."""
    try:
        data, _ = parse_yaml(path.read_text(), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must be a mapping (domains: …), got {type(data).__name__}")
    if "tokens" in data:
        raise ConfigError(
            f"{path}: tokens do not belong in a settings file; give --token-file or set "
            f"{TOKENS_VARIABLE}"
        )
    if not isinstance(data.get("domains") or {}, dict):
        raise ConfigError(
            f"{path}: domains must map a name to its settings (domains: {{math: {{}}}}), got "
            f"{data['domains']!r:.60}"
        )
    return data


def build_settings(data: dict[str, Any], source: str) -> ServiceSettings:
    """Validate; raises ``ConfigError`` that names every wrong key and its place."""
    try:
        return ServiceSettings.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{source}: {'; '.join(map(_problem, error.errors()))}") from None


def _problem(item: Any) -> str:
    key = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        known = sorted({f for m in _MODELS for f in m.model_fields} - {"tokens"})
        return f"unknown key {key!r}{did_you_mean(str(item['loc'][-1]), known)}"
    text: str = item["msg"].removeprefix("Value error, ")
    if not key or key.startswith("tokens"):  # never show a token
        return text
    return f"{key}: {text} (got {item['input']!r:.60})"


_MODELS: tuple[type[Record], ...] = (ServiceSettings, DomainSettings, Limits, Cohort, LengthBudget)
