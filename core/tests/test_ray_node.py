"""What runs on a Ray node, tested without Ray; and that nothing loads Ray unasked."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cascade_rl import Completion, Prompt
from cascade_rl.engine import Item, RewardEngine
from cascade_rl.engine.answer import read_answer
from cascade_rl.engine.item import encode_item
from cascade_rl.engine.limits import Limits
from cascade_rl.engine.ray_node import NodePool
from cascade_rl.errors import EngineError
from cascade_rl.registry import Registry
from cascade_rl.registry.source import pack_hash
from cascade_rl.testing import BARE_PACK

PACK = (
    """
import os
"""
    + BARE_PACK
    + """

@hookimpl
def reward(completion):
    if completion.text == "exit": os._exit(3)
    return float(completion.text)
"""
)


@pytest.fixture
def setup(make_pack, tmp_path):
    module = make_pack("toy", PACK)
    return {
        "domain": "toy",
        "options": {},
        "limits": Limits(deadline_s=60, concurrency=1).model_dump(),
        "workers": 1,
        "path": [],
        "source": pack_hash("fake-haiku", module),
        "quarantine": str(tmp_path / "q"),
    }


def line(text: str) -> bytes:
    return encode_item(Item(prompt=Prompt.from_text("p", "?"), completion=Completion(text=text)))


def test_a_node_answers_by_number_and_keeps_faults_to_itself(setup, tmp_path):
    pool = NodePool(setup)
    pool.put([(7, line("1")), (8, line("exit")), (9, b"no JSON"), (10, line("2"))])
    answers, counts = {}, {}
    while len(answers) < 4:
        lines, news = pool.take(100, 20)
        answers |= {a.number: a.attempt.reward for a in map(read_answer, lines)}
        counts |= news
    pool.stop()
    assert (answers[7].score, answers[8].score, answers[9].score, answers[10].score) == (
        1.0, None, None, 2.0,
    )  # fmt: skip
    assert ", replay it: cascade score toy " in answers[8].reason
    assert answers[9].reason.startswith("JSONDecodeError")
    assert counts["quarantined"] == 1
    assert len(list((tmp_path / "q").glob("*.json"))) == 1
    assert pool.take(100, 0.01)[0] == []


def test_a_node_with_another_source_refuses_to_score(setup):
    with pytest.raises(EngineError, match="from another source than on the driver"):
        NodePool({**setup, "source": "0" * 64})


def test_nothing_loads_ray_unless_asked():
    script = "import sys, cascade_rl.cli, cascade_rl.engine; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "False"


def test_without_ray_the_message_says_what_to_install(setup, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineError, match=r"pip install 'cascade-rl\[ray\]'"):
        RewardEngine("toy", ray="auto")


def test_ray_needs_worker_processes(setup):
    with pytest.raises(EngineError, match="1 or more"):
        RewardEngine("toy", workers=0, ray="auto")
    assert Registry().open("toy").name == "toy"
