"""Faults of reward services that people reported in public, each with the right behaviour.

The names are those of ``../shared/cases/public_reports.jsonl``, where that folder exists.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from cascade_rl import Completion, Prompt
from cascade_rl.client import RewardClient
from cascade_rl.engine import Item
from cascade_rl.service.embedded import running
from cascade_rl.service.settings import ServiceSettings
from cascade_rl.testing import write_pack

ROOT = Path(__file__).parent.parent
REPORTS = ROOT.parent / "shared" / "cases" / "public_reports.jsonl"
OBEDIENT = (ROOT / "core" / "tests" / "packs" / "obedient.py").read_text()


@pytest.fixture
def site(tmp_path, monkeypatch):
    write_pack(tmp_path, "obedient", OBEDIENT, distribution="fake-obedient")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield tmp_path
    sys.modules.pop("fake_obedient_obedient", None)


@contextmanager
def serving(**domains):
    with running(ServiceSettings.model_validate({"domains": domains})) as url:
        yield url


def ask(url, domain, *completions, gold="it"):
    items = [{"id": c, "ground_truth": gold, "completion": c} for c in completions]
    body = {"domain": domain, "items": items}
    return httpx.post(url + "/v1/rewards", json=body, timeout=60).json()["rewards"]


def test_service_01_a_verifier_gives_the_same_from_a_thread_and_from_a_coroutine():
    prompt = Prompt.from_text("p", "1 + 1?", ground_truth="$2$")
    item = Item(prompt=prompt, completion=Completion(text=r"\boxed{$2$}"))
    found = []
    with serving(math={}) as url, RewardClient(url, "math") as client:
        thread = threading.Thread(target=lambda: found.extend(client.score([item])))
        thread.start()
        thread.join()
        found += ask(url, "math", r"\boxed{$2$}", gold="$2$")
    assert found[0].score == 1.0
    assert found[1]["score"] == 1.0


def test_service_02_nan_is_null_with_a_status_and_other_items_are_unaffected(site):
    with serving(obedient={}) as url:
        first, second = ask(url, "obedient", "nan", "it")
    assert (first["score"], first["status"]) == (None, "error")
    assert "nan" in first["reason"]
    assert "finite" in first["reason"]
    assert second["score"] == 1.0


def test_service_05_a_busy_backend_is_asked_again_and_its_answer_kept():
    answers = [503, 503, 200]

    class Backend(BaseHTTPRequestHandler):
        def do_POST(self):
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(answers.pop(0))
            self.end_headers()
            reward = {"id": sent["items"][0]["id"], "score": 0.8, "status": "scored"}
            self.wfile.write(json.dumps({"rewards": [reward]}).encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Backend) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        item = Item(prompt=Prompt.from_text("p", "x"), completion=Completion(text="x"))
        with RewardClient(f"http://127.0.0.1:{server.server_port}", "x") as client:
            (reward,) = client.score([item])
        server.shutdown()
        thread.join()
    assert reward.score == 0.8
    assert answers == []


def test_service_06_a_verifiers_own_timeout_has_no_score_and_is_counted_apart(site):
    with serving(obedient={"timeout_s": 0.3}) as url:
        (record,) = ask(url, "obedient", "hang")
        metrics = httpx.get(url + "/metrics").text
    assert (record["score"], record["status"]) == (None, "timeout")
    assert 'cascade_rewards_total{domain="obedient",status="timeout"} 1.0' in metrics
    assert 'status="scored"' not in metrics


def test_service_10_a_hung_item_does_not_keep_its_worker(site):
    started = time.monotonic()
    with serving(obedient={"timeout_s": 1.0, "workers": 1}) as url:
        records = ask(url, "obedient", "hang", "it", "score 2", "score 3")
        took = time.monotonic() - started
        later = ask(url, "obedient", "it")
    assert [r["score"] for r in records] == [None, 1.0, 2.0, 3.0]
    assert records[0]["status"] == "timeout"
    assert later[0]["score"] == 1.0
    assert took < 30  # two tries of a second each and the worker's starts, on a busy machine


def resident_mb(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text).group(1)) / 1024


def test_service_11_timeouts_leave_no_growing_process(site):
    command = [Path(sys.executable).with_name("cascade"), "serve", "--domain", "obedient",
               "--port", "0", "--timeout", "0.05", "--workers", "2"]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(site)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        url = process.stderr.readline().split()[2]
        ask(url, "obedient", *["hang"] * 4, "it")
        before = resident_mb(process.pid)
        records = ask(url, "obedient", *["hang"] * 10)  # two tries each: 20 timeouts
        after = resident_mb(process.pid)
    finally:
        process.terminate()
        process.wait(60)
        process.stderr.close()
    assert {r["status"] for r in records} == {"timeout"}
    assert after < before * 1.1


def test_service_12_bombs_are_bounded_before_they_are_evaluated():
    bombs = [r"\boxed{(8 \cdot 10^6)!}", r"\boxed{factorial(8*10**6)}", r"\boxed{7^{900000000}}",
             r"\boxed{2+2}"]  # fmt: skip
    started = time.monotonic()
    with serving(math={}) as url:
        records = ask(url, "math", *bombs, gold="4")
    assert [r["score"] for r in records] == [0.0, 0.0, 0.0, 1.0]
    assert [r["reason"].partition(":")[0] for r in records[:3]] == ["too_expensive"] * 3
    assert time.monotonic() - started < 10


def test_service_13_answers_come_in_the_order_asked_with_their_ids(site):
    asked = ("sleep 0.6 score 0.1", "sleep 0.2 score 0.2", "sleep 0.4 score 0.3")
    with serving(obedient={"workers": 3}) as url:
        records = ask(url, "obedient", *asked)
    assert [(r["id"], r["score"]) for r in records] == list(zip(asked, (0.1, 0.2, 0.3)))  # noqa: B905


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux only")
def test_service_14_a_memory_limit_is_named_with_the_limit_and_what_was_used(site):
    with serving(obedient={"memory_mb": 200}) as url:
        records = ask(url, "obedient", "hoard 20", "hoard 500", "it")
    assert [r["score"] for r in records] == [1.0, None, 1.0]
    assert records[1]["status"] == "error"
    said = re.search(r"more than 200 MB of memory, it had (\d+)", records[1]["reason"])
    assert said
    assert 200 <= int(said[1]) <= 600


def test_every_reported_case_of_a_service_is_here():
    if not REPORTS.is_file():
        pytest.skip(f"{REPORTS} is not there")
    reported = [json.loads(line) for line in REPORTS.read_text().splitlines()]
    wanted = {r["id"].removeprefix("bug-service-") for r in reported if r["area"] == "service"}
    assert {name.split("_")[2] for name in globals() if name.startswith("test_service_")} == wanted
