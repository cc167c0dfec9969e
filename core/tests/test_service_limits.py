"""What the service refuses, and how clearly it says so."""

from __future__ import annotations

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import pytest

from cascade_rl.service import gate

JSON = {"Content-Type": "application/json"}


def item(completion="it"):
    return {"ground_truth": "it", "completion": completion}


def body(count=1, completion="it"):
    return {"domain": "obedient", "items": [item(completion)] * count}


def refused(reply, http, code):
    assert (reply.status_code, reply.json()["code"]) == (http, code), reply.text
    return reply.json()["detail"]


def test_a_body_that_says_it_is_too_large(serve, obedient):
    url = serve(obedient, limits={"body_bytes": 2000})
    detail = refused(httpx.post(url + "/v1/rewards", json=body(100)), 413, "body_too_large")
    assert detail == "the body is larger than 2000 bytes; send fewer items"
    assert httpx.post(url + "/v1/rewards", json=body()).status_code == 200


def test_a_body_that_turns_out_too_large_is_cut_off_while_it_arrives(serve, obedient):
    url = serve(obedient, limits={"body_bytes": 2000})
    sent = 0

    def chunks():
        nonlocal sent
        for _ in range(1000):
            sent += 1000
            yield b" " * 1000

    try:
        reply = httpx.post(url + "/v1/rewards", content=chunks(), headers=JSON)
    except httpx.WriteError:  # it hung up on us, which is an answer too
        return
    refused(reply, 413, "body_too_large")


def test_a_batch_that_is_too_large(serve, obedient):
    url = serve(obedient, limits={"batch_items": 4})
    detail = refused(httpx.post(url + "/v1/rewards", json=body(5)), 413, "batch_too_large")
    assert detail == "5 items in one request, the limit is 4"


def test_a_full_queue_says_when_to_come_back(serve, obedient, eventually):
    url = serve(obedient, limits={"batch_items": 4, "queue_items": 4})
    with ThreadPoolExecutor() as pool:
        slow = pool.submit(
            httpx.post, url + "/v1/rewards", json=body(4, "sleep 0.5 it"), timeout=30
        )
        eventually(lambda: "\ncascade_waiting 4.0" in httpx.get(url + "/metrics").text)
        reply = httpx.post(url + "/v1/rewards", json=body())
        detail = refused(reply, 503, "queue_full")
        assert detail == "4 samples are waiting, the limit is 4; try again later"
        assert int(reply.headers["retry-after"]) >= 1
        assert [r["score"] for r in slow.result().json()["rewards"]] == [1.0] * 4
    assert httpx.post(url + "/v1/rewards", json=body()).status_code == 200


def test_a_request_that_takes_too_long(serve, obedient):
    url = serve(obedient, limits={"request_s": 0.3, "grace_s": 0})
    reply = httpx.post(url + "/v1/rewards", json=body(1, "sleep 2 it"), timeout=30)
    detail = refused(reply, 504, "request_time")
    assert detail == "not answered within 0.3 s; send fewer items, or try again"
    assert reply.headers["retry-after"] == "1"


def test_a_body_that_stops_arriving(serve, obedient, monkeypatch):
    monkeypatch.setattr(gate, "BODY_S", 0.2)
    url = urlsplit(serve(obedient))
    with socket.create_connection((url.hostname, url.port), timeout=10) as connection:
        connection.sendall(
            b"POST /v1/rewards HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    "text",
    ["{", "[1, NaN]", "Infinity", "1e999", "-1e400", "[" * 5000, "1" * 5000, '{"a": 1} x', "\x00", b"\xff"],
)  # fmt: skip
def test_what_is_no_strict_json(obedient_url, text):
    reply = httpx.post(obedient_url + "/v1/rewards", content=text, headers=JSON)
    assert refused(reply, 400, "not_json").startswith("the body is not JSON: ")


@pytest.mark.parametrize("value", ["", "null", "1", '"x"', "[]", "true", "{}"])
def test_json_of_another_shape(obedient_url, value):
    refused(httpx.post(obedient_url + "/v1/rewards", content=value, headers=JSON), 422, "invalid")


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_only_json_is_taken_so_that_no_web_page_can_send_it_unasked(obedient_url, kind):
    headers = {} if kind is None else {"Content-Type": kind}
    content = json.dumps(body())
    refused(
        httpx.post(obedient_url + "/v1/rewards", content=content, headers=headers),
        415,
        "content_type",
    )


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_a_local_service_answers_to_local_names_only(obedient_url, host):
    reply = httpx.post(obedient_url + "/v1/rewards", json=body(), headers={"Host": host})
    refused(reply, 400, "host")


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1:8000", "[::1]:8000"])
def test_local_names(obedient_url, host):
    reply = httpx.post(obedient_url + "/v1/rewards", json=body(), headers={"Host": host})
    assert reply.status_code == 200


def test_other_routes_and_methods(obedient_url):
    refused(httpx.get(obedient_url + "/nothing"), 404, "http")
    reply = httpx.get(obedient_url + "/v1/rewards")
    refused(reply, 405, "http")
    assert reply.headers["allow"] == "POST"


def test_every_answer_forbids_framing_and_foreign_scripts(obedient_url):
    for path in ("/", "/healthz", "/nothing"):
        headers = httpx.get(obedient_url + path).headers
        assert headers["x-frame-options"] == "DENY"
        assert "default-src 'none'" in headers["content-security-policy"]


def test_threads_of_clients_are_answered_each_with_its_own(serve, obedient):
    url = serve({obedient: {"workers": 2}})
    answers = {}

    def ask(number):
        reply = httpx.post(url + "/v1/rewards", json=body(3, f"score {number}"), timeout=60)
        answers[number] = [r["score"] for r in reply.json()["rewards"]]

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: [float(n)] * 3 for n in range(24)}


@pytest.mark.parametrize("depth", [90, 97, 98, 150, 500, 900])
def test_a_deep_nest_is_judged_or_refused_and_harms_nobody(obedient_url, depth):
    truth = "[" * depth + "]" * depth
    items = f'{{"ground_truth": {truth}, "completion": "it", "metadata": {{"x": {truth}}}}}'
    content = f'{{"domain": "obedient", "items": [{items}, {json.dumps(item())}]}}'
    reply = httpx.post(obedient_url + "/v1/rewards", content=content, headers=JSON, timeout=30)
    if reply.status_code == 200:
        assert [r["score"] for r in reply.json()["rewards"]] == [0.0, 1.0]
    else:
        refused(reply, 422, "invalid")
    row = f'{{"responses_create_params": {{}}, "response": {{"output": []}}, "x": {truth}}}'
    reply = httpx.post(obedient_url + "/verify", content=row, headers=JSON, timeout=30)
    assert reply.status_code in (200, 422)
