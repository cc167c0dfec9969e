"""Which language a text is in: langdetect, made repeatable and safe for threads.

langdetect draws random numbers and loads its profiles on first use without a lock; used
from several threads at once on a cold start it raises or answers wrongly. Here a factory
of our own is filled once under a lock, in a fixed order of profiles and with a fixed seed;
the library's global factory and its seed are left alone.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

SEED = 0

#: What is answered for a text without letters.
UNKNOWN = ""

_CODES = """
af ar bg bn ca cs cy da de el en es et fa fi fr gu he hi hr hu id it ja kn ko lt lv mk ml
mr ne nl no pa pl pt ro ru sk sl so sq sv sw ta te th tl tr uk ur vi zh zh-cn zh-tw
"""

#: What can be asked for: the codes of langdetect's profiles, and "zh" for either script.
CODES = frozenset(_CODES.split())

_lock = threading.Lock()


@lru_cache(maxsize=1)
def _load() -> Any:
    import langdetect
    from langdetect.detector_factory import DetectorFactory

    folder = Path(langdetect.__file__).parent / "profiles"
    profiles = [path.read_text("utf-8") for path in sorted(folder.iterdir())]
    factory = DetectorFactory()
    factory.load_json_profile(profiles)
    factory.seed = SEED
    return factory


def warm_up() -> Any:
    """Load the language profiles, once a process (half a second); returns the factory."""
    with _lock:
        return _load()


def detect(text: str) -> str:
    """The ISO 639-1 code of the most likely language, "" where no letters decide.

    The text is read in small letters: the profiles hold mostly those, and English in
    capitals is otherwise taken for another language.
    """
    return _detect(text.lower())


# The readings of one reply, and instructions on one reading, often ask for the same text.
@lru_cache(maxsize=64)
def _detect(text: str) -> str:
    from langdetect.lang_detect_exception import LangDetectException

    detector = warm_up().create()
    detector.append(text)
    try:
        found = str(detector.detect())
    except LangDetectException:
        return UNKNOWN
    return UNKNOWN if found == detector.UNKNOWN_LANG else found
