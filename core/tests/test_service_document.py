"""The OpenAPI document: its examples, its honesty (schemathesis), and the pages."""

from __future__ import annotations

import httpx
import pytest


def test_the_examples_are_what_the_service_really_answers(obedient_url):
    document = httpx.get(obedient_url + "/openapi.json").json()
    operation = document["paths"]["/v1/rewards"]["post"]
    example = operation["requestBody"]["content"]["application/json"]["examples"]["obedient"]
    shown = operation["responses"]["200"]["content"]["application/json"]["examples"]["obedient"]
    reply = httpx.post(obedient_url + "/v1/rewards", json=example["value"], timeout=30).json()
    for rewards in (reply["rewards"], shown["value"]["rewards"]):
        for record in rewards:
            record.pop("ms")
    assert reply == shown["value"]
    assert [(r["id"], r["score"]) for r in reply["rewards"]] == [("same", 1.0), ("other", 0.0)]


def test_every_route_documents_every_answer_it_can_give(obedient_url):
    document = httpx.get(obedient_url + "/openapi.json").json()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            codes = {"200", "400", "401", "404", "408", "413", "415", "422", "502", "503", "504"}
            assert set(operation["responses"]) == codes, (method, path)
            assert operation["description"], (method, path)


def test_tokens_are_documented_where_there_are_any(serve, obedient, obedient_url):
    token = "0123456789abcdef"
    url = serve(obedient, tokens=[token])
    document = httpx.get(url + "/openapi.json", headers={"X-Api-Key": token}).json()
    assert set(document["components"]["securitySchemes"]) == {"bearer", "basic", "key"}
    assert "security" in document["paths"]["/v1/rewards"]["post"]
    assert "security" not in document["paths"]["/healthz"]["get"]
    assert "securitySchemes" not in httpx.get(obedient_url + "/openapi.json").json()["components"]


@pytest.fixture(scope="module")
def fuzzed(obedient_url):
    schemathesis = pytest.importorskip("schemathesis")
    return schemathesis.openapi.from_url(obedient_url + "/openapi.json")


ASKED = ["/v1/domains", "/healthz", "/readyz", "/metrics", "/reverify_mode"]
SENT = ["/v1/rewards", "/get_reward", "/slime", "/seed_session", "/verify", "/aggregate_metrics",
        "/evaluate", "/reward", "/for/{domain}/slime", "/for/{domain}/verify"]  # fmt: skip


@pytest.mark.parametrize("path", [*ASKED, *SENT])
def test_whatever_is_sent_the_answer_is_a_documented_one_and_no_500(fuzzed, path):
    from hypothesis import HealthCheck, Phase, given, settings
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks as openapi

    checks = [
        not_a_server_error,
        openapi.status_code_conformance,
        openapi.content_type_conformance,
        openapi.response_schema_conformance,
    ]
    operation = next(o.ok() for o in fuzzed.get_all_operations() if o.ok().path == path)
    for mode in GenerationMode if path in SENT else [GenerationMode.POSITIVE]:

        @settings(max_examples=20, deadline=None, database=None, derandomize=True,
                  phases=[Phase.generate], suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(operation.as_strategy(generation_mode=mode))
        def check(case):
            response = case.call(timeout=30)
            case.validate_response(response, checks=checks)

        check()
