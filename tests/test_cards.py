"""The verdict cards of our own packs are true, and a worse one is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from cascade_rl.testing.card import MARKDOWN_NAME, measure, read_card, worse

PLUGINS = Path(__file__).parent.parent / "plugins"
MEASURED = {"p50_ms", "p99_ms"}


def cards():
    return sorted(path.parent for path in PLUGINS.glob("*/card.json"))


def test_every_pack_has_a_card():
    assert [folder.name for folder in cards()] == sorted(p.name for p in PLUGINS.iterdir())


@pytest.mark.parametrize("folder", cards(), ids=lambda folder: folder.name)
def test_the_card_is_what_the_pack_does_today(folder):
    card = read_card(folder)
    labelled = folder / "tests" / card.labelled if card.labelled else None
    today = measure(card.domain, card.options, labelled)
    assert today.model_dump(exclude=MEASURED) == card.model_dump(exclude=MEASURED)
    assert (folder / MARKDOWN_NAME).read_text() == card.markdown()
    assert card.false_positives == ()


def test_a_verifier_that_lost_something_is_worse_than_its_card():
    card = read_card(PLUGINS / "math")
    lost = card.model_copy(update={"false_positives": (*card.false_positives, "a new one")})
    assert worse(card, lost) == [
        f"false positives: 1 of {card.wrong}, before 0 of {card.wrong}; new: a new one"
    ]
    assert worse(lost, card) == []


def test_fewer_judged_completions_are_worse():
    card = read_card(PLUGINS / "math")
    fewer = card.model_copy(update={"right": card.right - 5})
    assert worse(card, fewer) == [
        f"{card.right - 5} right completions are judged, before {card.right}"
    ]
