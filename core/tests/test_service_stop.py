"""Stopping, dying and coming back: nobody is left without an answer, nobody gets a wrong one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from cascade_rl import Completion, Prompt
from cascade_rl.client import RewardClient
from cascade_rl.engine import Item
from cascade_rl.service.server import Server, address, bind
from cascade_rl.service.settings import ServiceSettings


def body(*completions):
    items = [{"ground_truth": "it", "completion": c} for c in completions]
    return {"domain": "obedient", "items": items}


class Stoppable:
    """A server in a thread, stopped by hand."""

    def __init__(self, **settings):
        settings.setdefault("domains", {"obedient": {"timeout_s": 20}})
        built = ServiceSettings.model_validate(settings)
        self.server = Server(built)
        self.listener = bind("127.0.0.1", 0)
        self.url = address(self.listener)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]})
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def stop(self):
        self.server.request_stop()

    def wait_until_busy(self):
        while not self.server.scoring.admission.held:
            time.sleep(0.005)

    def join(self):
        self.thread.join(60)
        self.listener.close()
        assert not self.thread.is_alive()


def test_what_is_in_flight_is_finished(obedient):
    service = Stoppable()
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(
            httpx.post, service.url + "/v1/rewards", json=body("sleep 1 it"), timeout=30
        )
        service.wait_until_busy()
        service.stop()
        assert [r["score"] for r in slow.result().json()["rewards"]] == [1.0]
    service.join()


def test_what_is_unfinished_at_the_end_of_the_grace_is_answered_as_not_scored(obedient):
    service = Stoppable(limits={"grace_s": 0.3})
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(
            httpx.post, service.url + "/v1/rewards", json=body("it", "hang", "it"), timeout=60
        )
        service.wait_until_busy()
        time.sleep(0.2)
        service.stop()
        reply = slow.result()
    service.join()
    assert reply.status_code == 200
    records = reply.json()["rewards"]
    assert len(records) == 3
    assert (records[1]["score"], records[1]["status"]) == (None, "error")
    assert {r["score"] for r in records} <= {1.0, None}


def test_members_of_an_open_cohort_are_told_to_come_again(make_pack):
    source = (Path(__file__).parent / "packs" / "obedient.py").read_text()
    source += "\n\n@hookimpl\ndef reward_group(rewards):\n    return list(rewards)\n"
    make_pack("obedient", source, distribution="fake-obedient")
    service = Stoppable(domains={"obedient": {"cohort": {"size": 4, "deadline_s": 60}}})
    with ThreadPoolExecutor() as pool:
        sample = {"prompt": "p", "response": "it", "label": "it"}
        lonely = pool.submit(httpx.post, service.url + "/slime", json=sample, timeout=30)
        service.wait_until_busy()
        service.stop()
        reply = lonely.result()
    service.join()
    assert (reply.status_code, reply.json()["code"]) == (503, "stopping")
    assert reply.headers["retry-after"] == "5"


def start_process(site, port, *arguments, tokens=""):
    environment = {**os.environ, "PYTHONPATH": str(site), "CASCADE_SERVE_TOKENS": tokens}
    return subprocess.Popen(
        [Path(sys.executable).with_name("cascade"), "serve", "--domain", "obedient",
         "--port", str(port), *arguments],
        env=environment, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def url_of(process):
    line = process.stderr.readline()
    found = re.match(r"cascade serve: (http://\S+) serves obedient", line)
    assert found, line + process.stderr.read()
    return found.group(1)


def test_a_service_killed_and_restarted_under_load_loses_nothing(obedient, tmp_path):
    site = tmp_path / "site-packages"
    first = start_process(site, 0)
    url = url_of(first)
    port = int(url.rpartition(":")[2])
    items = [
        Item(
            prompt=Prompt.from_text(str(n), "Say it.", ground_truth="it"),
            completion=Completion(text=f"score {n}"),
        )
        for n in range(3000)
    ]
    got = []
    second = None
    try:
        with RewardClient(url, "obedient", deadline_s=120, batch_size=16) as client:
            futures = [client.submit(item) for item in items]
            for future in futures[:300]:
                future.result()
            first.send_signal(signal.SIGKILL)
            first.wait()
            second = start_process(site, port)
            got = [future.result() for future in futures]
        second.send_signal(signal.SIGTERM)
        assert second.wait(60) in (0, -signal.SIGTERM)
    finally:
        for process in (first, second):
            if process is not None:
                process.kill()
                process.wait()
                process.stderr.close()
    assert [r.score for r in got] == [float(n) for n in range(3000)]
    assert {r.status for r in got} == {"scored"}


def test_no_token_is_ever_written(obedient, tmp_path):
    token = "a-very-secret-token-0123456789"
    process = start_process(tmp_path / "site-packages", 0, tokens=token)
    try:
        url = url_of(process)
        good = {"Authorization": f"Bearer {token}"}
        wrong = {"Authorization": f"Bearer {token}x"}
        for headers, code in ((good, 200), (wrong, 401)):
            reply = httpx.post(url + "/v1/rewards", json=body("it"), headers=headers, timeout=30)
            assert reply.status_code == code
            assert token not in reply.text
        httpx.get(url.replace("http://", f"http://x:{token}@") + "/v1/domains")
        httpx.post(
            url + "/v1/rewards", content=b"{", headers={**good, "Content-Type": "application/json"}
        )
        with open(f"/proc/{process.pid}/cmdline") as file:  # noqa: PTH123
            assert token not in file.read()
    finally:
        process.send_signal(signal.SIGTERM)
        written = process.stderr.read()
        process.wait(60)
        process.stderr.close()
    assert token not in written
    assert written == ""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_command_in_order(obedient, tmp_path, how):
    process = start_process(tmp_path / "site-packages", 0)
    try:
        url = url_of(process)
        assert httpx.post(url + "/v1/rewards", json=body("it"), timeout=30).status_code == 200
        process.send_signal(how)
        code = process.wait(60)
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert code in (0, -how, 128 + how)
