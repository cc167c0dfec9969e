"""Language mixing: a reply to an English problem with words of another script in it.

Only scripts are looked at, not words: Latin letters with accents and the Greek letters of
mathematics are no sign of another language.
"""

from __future__ import annotations

import re

_SCRIPTS = {
    "Cyrillic": "\u0400-\u052f",
    "Hebrew": "\u0590-\u05ff",
    "Arabic": "\u0600-\u06ff\u0750-\u077f",
    "Indic": "\u0900-\u0dff",
    "Thai": "\u0e00-\u0e7f",
    "Korean": "\u1100-\u11ff\uac00-\ud7af",
    "Japanese": "\u3041-\u30fa",
    "Chinese": "\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0002ebef",
}
_PATTERNS = {name: re.compile(f"[{letters}]") for name, letters in _SCRIPTS.items()}


def mixed_scripts(prompt: str, reply: str) -> tuple[str, ...]:
    """The scripts that a reply brings in; () where the problem itself is not all English."""
    if any(pattern.search(prompt) for pattern in _PATTERNS.values()):
        return ()
    return tuple(name for name, pattern in _PATTERNS.items() if pattern.search(reply))
