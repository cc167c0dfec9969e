"""Who may ask: bearer tokens, compared in constant time, never logged and never echoed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable

from pydantic import SecretStr
from starlette.datastructures import Headers


class Tokens:
    """The accepted tokens, as digests. Without any, everybody may ask."""

    def __init__(self, tokens: Iterable[SecretStr]) -> None:
        self._digests = [_digest(token.get_secret_value()) for token in tokens]

    def allow(self, headers: Headers) -> bool:
        """Whether a request carries an accepted token.

        It is looked for in ``Authorization: Bearer``, in ``X-Api-Key`` (eval-protocol), and as
        the password of HTTP Basic: a client that is told nothing but a URL can still say
        ``http://any:TOKEN@host/``. Every token is compared with every accepted one, always.
        """
        if not self._digests:
            return True
        given = [_digest(token) for token in _presented(headers)]
        matches = [hmac.compare_digest(g, d) for g in given for d in self._digests]
        return any(matches)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _presented(headers: Headers) -> list[str]:
    found = [headers["x-api-key"]] if "x-api-key" in headers else []
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        found.append(value.strip())
    elif scheme.lower() == "basic":
        try:
            text = base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return found
        found.append(text.partition(":")[2])
    return found
