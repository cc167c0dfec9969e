"""The engine on a real local Ray cluster of two nodes, one of which is killed."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from cascade_rl import Completion, Prompt
from cascade_rl.cli import main
from cascade_rl.engine import Item, RewardEngine
from cascade_rl.testing import BARE_PACK

pytestmark = [
    pytest.mark.slow,
    # Ray's own, when it starts and stops
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
ray = pytest.importorskip(
    "ray", reason="THE RAY EXECUTOR IS NOT TESTED: pip install 'cascade-rl[ray]' to test it"
)

PACK = (
    """
import os, time
"""
    + BARE_PACK
    + """

@hookimpl
def reward(prompt, completion):
    kind, _, number = completion.text.partition(" ")
    if kind == "exit": os._exit(3)
    if kind == "hang": time.sleep(60)
    if kind == "slow": time.sleep(0.1)
    if kind == "node": return int(os.environ["RAY_RAYLET_PID"])
    if kind == "pid": return os.getpid()
    return float(number)
"""
)

NODE = {"num_cpus": 1, "object_store_memory": 100_000_000}


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def second(cluster):
    """A second node for one test."""
    node = cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    yield node
    if node in cluster.worker_nodes:
        cluster.remove_node(node, allow_graceful=True)


def item(text: str) -> Item:
    return Item(prompt=Prompt.from_text("p", "?"), completion=Completion(text=text))


def alive() -> int:
    return sum(node["Alive"] for node in ray.nodes())


def test_both_nodes_score_and_faults_stay_where_they_happen(cluster, second, make_pack, tmp_path):
    make_pack("toy", PACK)
    texts = [f"slow {n}" for n in range(60)]
    texts[10], texts[20] = "exit", "hang"
    with RewardEngine(
        "toy", workers=1, ray="auto", timeout_s=2, quarantine_dir=tmp_path / "q"
    ) as engine:
        rewards = engine.score(map(item, texts))
        nodes = Counter(r.score for r in engine.score([item("node")] * 400))
        counts = engine.counts
    expected = [None if n in (10, 20) else float(n) for n in range(60)]
    assert [r.score for r in rewards] == expected
    assert rewards[10].status == "error"
    assert "replay it: cascade score toy " in rewards[10].reason
    assert (rewards[20].status, rewards[20].reason) == ("timeout", "no verdict within 2 s")
    assert len(nodes) == 2
    assert counts["quarantined"] == 2
    assert "nodes_lost" not in counts
    assert len(list((tmp_path / "q").glob("*.json"))) == 2


def test_a_killed_node_costs_no_sample(cluster, second, make_pack):
    make_pack("toy", PACK)
    with RewardEngine("toy", workers=1, ray="auto") as engine:
        engine.score([item("x 1")] * 50)
        futures = [engine.submit(item(f"slow {n}")) for n in range(150)]
        time.sleep(2)
        cluster.remove_node(second, allow_graceful=False)
        assert [f.result(120).score for f in futures] == [float(n) for n in range(150)]
        counts = engine.counts
    assert counts["nodes_lost"] == 1
    assert "workers_died" not in counts


def test_a_node_that_joins_is_used(cluster, make_pack):
    make_pack("toy", PACK)
    with RewardEngine("toy", workers=1, ray="auto") as engine:
        assert len({r.score for r in engine.score([item("node")] * 50)}) == 1
        joined = cluster.add_node(**NODE)
        cluster.wait_for_nodes()
        deadline, seen = time.monotonic() + 60, set()
        while len(seen) < 2 and time.monotonic() < deadline:
            seen |= {r.score for r in engine.score([item("node")] * 200)}
        assert len(seen) == 2
    cluster.remove_node(joined, allow_graceful=True)


def test_the_cache_stays_with_the_driver(cluster, make_pack, tmp_path):
    make_pack("toy", PACK)
    for hits in (0, 20):
        with RewardEngine("toy", workers=1, ray="auto", cache=tmp_path / "c") as engine:
            rewards = engine.score(item(f"x {n}") for n in range(20))
            assert engine.counts.get("cache_hits", 0) == hits
        assert [r.score for r in rewards] == [float(n) for n in range(20)]


def test_a_pack_that_the_nodes_do_not_have_is_an_error_of_every_sample(
    cluster, make_pack, monkeypatch
):
    module = make_pack("toy", PACK)
    assert module
    monkeypatch.setattr("cascade_rl.engine.ray_pools.pack_hash", lambda *_: "of another source")
    with RewardEngine("toy", workers=1, ray="auto") as engine:
        rewards = engine.score([item("x 1")] * 5)
    assert {r.status for r in rewards} == {"error"}
    assert "from another source than on the driver" in rewards[0].reason


def test_closing_answers_what_still_runs_and_leaves_no_worker(cluster, make_pack):
    make_pack("toy", PACK)
    engine = RewardEngine("toy", workers=1, ray="auto")
    worker = int(engine.score([item("pid")])[0].score)
    future = engine.submit(item("hang"))
    time.sleep(0.5)
    engine.close()
    assert future.result(5).status == "error"
    assert engine.submit(item("x 1")).result(5).reason == "the engine is closed"
    deadline = time.monotonic() + 10
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{worker}").exists()


def test_a_file_is_scored_on_the_cluster(cluster, make_pack, tmp_path):
    make_pack("toy", PACK)
    lines = [{"ground_truth": "", "completion": f"x {n}"} for n in range(30)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = ["score", "toy", str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out.jsonl")]
    with pytest.raises(SystemExit) as ended:
        main([*command, "--ray", "auto"])
    assert ended.value.code == 0
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [f["score"] for f in found] == [float(n) for n in range(30)]
