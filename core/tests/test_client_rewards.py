"""The client against a service, and against backends that misbehave on purpose."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cascade_rl import Completion, LengthBudget, Message, Prompt, Reward
from cascade_rl.client import AsyncRewardClient, RewardClient, ServiceRefused
from cascade_rl.engine import Item, RewardEngine
from cascade_rl.testing import BARE_PACK


def item(text, truth="it", **fields):
    prompt = Prompt.from_text("p", "Say it.", ground_truth=truth, mode=fields.pop("mode", "none"))
    completion = Completion(text=text, finish_reason=fields.pop("finish_reason", "stop"))
    return Item(prompt=prompt, completion=completion, **fields)


@contextmanager
def backend(answer):
    """A server whose ``answer(request number, body)`` gives (code, headers, body or None: hang up)."""
    seen = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                seen.append(sent)
                number = len(seen)
            code, headers, reply = answer(number, sent)
            if reply is None:
                self.close_connection = True
                self.connection.close()
                return
            content = json.dumps(reply).encode()
            self.send_response(code)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", seen
        finally:
            server.shutdown()
            thread.join()


def good(sent, score=0.8):
    return {"rewards": [{"id": i["id"], "score": score, "status": "scored"} for i in sent["items"]]}


def strip(reward):
    return reward.model_copy(update={"ms": None})


CASES = [
    item("it"), item("that"), item("<think>x</think>it", mode="think"), item("abstain why"),
    item("bad gold"), item("score -2.5"), item("it", finish_reason="length"), item("ünïcödé 数"),
    item("it", finish_reason="length",
         budget=LengthBudget(prompt_tokens=1, completion_tokens=1, overlong="zero")),
    item("it", truth={"nested": [1, 2.5, None, "x"]}), item(""), item("\x00\t\n"), item("\ud800x\udfff"), item("\ud800", truth="\ud800"), item("raise"),
]  # fmt: skip


def test_the_client_gives_what_the_engine_gives(obedient_url):
    with RewardEngine("obedient") as engine:
        wanted = [strip(reward) for reward in engine.score(CASES)]
    with RewardClient(obedient_url, "obedient") as client:
        assert [strip(r) for r in client.score(CASES)] == wanted
        assert [strip(client.submit(case).result()) for case in CASES] == wanted
        streamed = dict(client.stream(enumerate(CASES)))
        assert [strip(streamed[n]) for n in range(len(CASES))] == wanted
        keyed = list(client.in_order([("a", CASES[0]), ("b", Reward(score=3)), ("c", CASES[1])]))
        assert [(k, r.score) for k, r in keyed] == [("a", 1.0), ("b", 3.0), ("c", 0.0)]
        assert asyncio.run(_collect(client)) == wanted

    async def in_a_loop():
        async with AsyncRewardClient(obedient_url, "obedient") as client:
            return await client.score(CASES)

    assert [strip(reward) for reward in asyncio.run(in_a_loop())] == wanted


async def _collect(client):
    streamed = {key: reward async for key, reward in client.astream(enumerate(CASES))}
    scored = await client.ascore(CASES)
    assert [strip(streamed[n]) for n in range(len(CASES))] == [strip(r) for r in scored]
    return [strip(reward) for reward in scored]


def test_options_and_token_travel(serve, obedient):
    token = "0123456789-0123456789"
    url = serve(obedient, tokens=[token])
    with RewardClient(url, obedient, {"bonus": 2}, token=token) as client:
        assert client.score([item("it")])[0].score == 3.0
    with (
        RewardClient(url, obedient, token="wrong") as client,
        pytest.raises(ServiceRefused, match="HTTP 401") as caught,
    ):
        client.score([item("it")])
    assert caught.value.http == 401


def test_a_refusal_leaves_samples_unscored_and_is_raised_by_every_call(obedient_url):
    with RewardClient(obedient_url, "nobody") as client:
        future = client.submit(item("it"))
        assert (future.result().score, future.result().status) == (None, "error")
        for call in (client.submit, lambda i: client.score([i])):
            with pytest.raises(ServiceRefused, match="domain 'nobody' is not served"):
                call(item("it"))
    with (
        RewardClient(obedient_url, "nobody") as client,
        pytest.raises(ServiceRefused, match="HTTP 404"),
    ):
        asyncio.run(client.ascore([item("it")]))
    with (
        RewardClient(obedient_url, "nobody") as client,
        pytest.raises(ServiceRefused, match="HTTP 404"),
    ):
        list(client.stream([(1, item("it"))]))


def test_more_samples_than_fit_at_once_while_they_are_made(obedient_url):
    async def made():
        for number in range(6000):
            yield number, item(f"score {number}")

    async def collect(client):
        return {key: reward.score async for key, reward in client.astream(made())}

    with RewardClient(obedient_url, "obedient", batch_size=256) as client:
        found = asyncio.run(collect(client))
    assert found == {n: float(n) for n in range(6000)}


def test_a_backend_that_is_busy_twice_is_asked_again(monkeypatch):
    def answer(number, sent):
        return (503, {}, {"detail": "busy"}) if number < 3 else (200, {}, good(sent))

    with backend(answer) as (url, seen), RewardClient(url, "x") as client:
        assert client.score([item("it")])[0].score == 0.8
    assert len(seen) == 3


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
def test_faults_that_may_pass_are_tried_again(code):
    def answer(number, sent):
        return (code, {}, {"detail": "x"}) if number == 1 else (200, {}, good(sent))

    with backend(answer) as (url, seen), RewardClient(url, "x") as client:
        assert client.score([item("it")])[0].score == 0.8
    assert len(seen) == 2


@pytest.mark.parametrize("code", [400, 401, 403, 404, 415, 422])
def test_refusals_are_raised_at_once(code):
    with (
        backend(lambda number, sent: (code, {}, {"detail": "because"})) as (url, seen),
        RewardClient(url, "x") as client,
        pytest.raises(ServiceRefused, match=f"HTTP {code}: because"),
    ):
        client.score([item("it")])
    assert len(seen) == 1


def test_a_backend_that_never_recovers_leaves_the_sample_unscored_never_0():
    with (
        backend(lambda number, sent: (503, {}, {"detail": "busy"})) as (url, seen),
        RewardClient(url, "x", deadline_s=1.0) as client,
    ):
        (reward,) = client.score([item("it")])
    assert (reward.score, reward.status) == (None, "error")
    assert reward.reason == "the reward service did not answer in time; last: HTTP 503: busy"
    assert len(seen) >= 2


def test_retry_after_is_heeded():
    times = []

    def answer(number, sent):
        times.append(time.monotonic())
        return (503, {"Retry-After": "1"}, {}) if number == 1 else (200, {}, good(sent))

    with backend(answer) as (url, _), RewardClient(url, "x") as client:
        client.score([item("it")])
    assert times[1] - times[0] >= 1.0


def test_a_connection_that_breaks_is_made_again():
    def answer(number, sent):
        return 200, {}, None if number == 1 else good(sent)

    with backend(answer) as (url, seen), RewardClient(url, "x") as client:
        assert client.score([item("it")])[0].score == 0.8
    assert len(seen) == 2


def test_a_service_that_is_not_there_is_an_unscored_sample():
    with RewardClient("http://127.0.0.1:9", "x", deadline_s=0.5) as client:
        (reward,) = client.score([item("it")])
    assert (reward.score, reward.status) == (None, "error")
    assert "ConnectError" in reward.reason


def shuffled(sent):
    return {"rewards": good(sent)["rewards"][::-1]}


def short(sent):
    return {"rewards": good(sent)["rewards"][1:]}


def not_finite(sent):
    return {"rewards": [{**r, "score": float("nan")} for r in good(sent)["rewards"]]}


@pytest.mark.parametrize(
    "broken", [shuffled, short, not_finite, lambda s: [], lambda s: "x", lambda s: {"rewards": 1}]
)
def test_a_reply_that_does_not_fit_its_request_is_never_used(broken):
    def answer(number, sent):
        return 200, {}, broken(sent) if number == 1 else good(sent)

    with backend(answer) as (url, seen), RewardClient(url, "x") as client:
        assert [r.score for r in client.score([item("a"), item("b")])] == [0.8, 0.8]
    assert len(seen) == 2


def test_many_small_calls_travel_together():
    with backend(lambda n, sent: (200, {}, good(sent))) as (url, seen):  # noqa: SIM117
        with RewardClient(url, "x", batch_size=50, connections=2) as client:
            futures = [client.submit(item(str(n))) for n in range(500)]
            assert {f.result().score for f in futures} == {0.8}
    sizes = [len(sent["items"]) for sent in seen]
    assert sum(sizes) == 500
    assert max(sizes) <= 50
    assert len(sizes) <= 100
    texts = [i["completion"] for sent in seen for i in sent["items"]]
    assert sorted(texts, key=int) == [str(n) for n in range(500)]


def test_a_batch_that_is_too_large_is_halved_and_one_that_still_is_stays_unscored(serve, obedient):
    url = serve(obedient, limits={"body_bytes": 3000, "batch_items": 8})
    items = [item("it") for _ in range(40)] + [item("x" * 4000)] + [item("that")]
    with RewardClient(url, obedient, batch_size=64) as client:
        rewards = client.score(items)
    assert [r.score for r in rewards] == [1.0] * 40 + [None, 0.0]
    assert "HTTP 413: the body is larger than 3000 bytes" in rewards[40].reason


def test_what_json_cannot_say_harms_no_other(obedient_url):
    items = [item("it"), item("it", truth={"x": float("inf")}), item("it")]
    with RewardClient(obedient_url, "obedient") as client:
        rewards = client.score(items)
    assert [(r.score, r.status) for r in rewards] == [
        (1.0, "scored"), (None, "error"), (1.0, "scored"),
    ]  # fmt: skip


def test_a_closed_client_takes_nothing_more(obedient_url):
    client = RewardClient(obedient_url, "obedient")
    future = client.submit(item("sleep 0.2 it"))
    client.close()
    client.close()
    assert future.result().score == 1.0
    with pytest.raises(RuntimeError, match="the client is closed"):
        client.submit(item("it"))


def test_chat_messages_and_metadata_arrive(make_pack, serve):
    source = (
        BARE_PACK
        + """
@hookimpl
def reward(prompt):
    roles = [m.role for m in prompt.messages]
    return Reward(score=1, reason=f"{roles} {prompt.metadata} {prompt.mode}")
"""
    )
    make_pack("mirror", source, distribution="fake-mirror")
    messages = (Message(role="system", content="s"), Message(role="user", content="u"))
    prompt = Prompt(id="x", messages=messages, mode="no_think", metadata={"k": [1]})
    with RewardClient(serve("mirror"), "mirror") as client:
        (reward,) = client.score([Item(prompt=prompt, completion=Completion(text="x"))])
    assert reward.reason == "['system', 'user'] {'k': [1]} no_think"


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", ""])
def test_an_url_that_is_none_is_refused_at_once(url):
    with pytest.raises(ValueError, match=r"it must begin with http:// or https://"):
        RewardClient(url, "obedient")
