"""Who is let in, and that no token is ever seen again."""

from __future__ import annotations

import base64

import httpx
import pytest
from pydantic import SecretStr
from starlette.datastructures import Headers

from cascade_rl.errors import ConfigError
from cascade_rl.service.settings import build_settings, is_loopback, read_tokens
from cascade_rl.service.tokens import Tokens

ONE, TWO = "first-token-0123456789", "second-token-0123456789"


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {ONE}"},
        {"Authorization": f"bearer {TWO}"},
        {"Authorization": basic("anybody", TWO)},
        {"X-Api-Key": ONE},
        {"X-Api-Key": "wrong", "Authorization": f"Bearer {ONE}"},
    ],
)
def test_let_in(headers):
    assert Tokens([SecretStr(ONE), SecretStr(TWO)]).allow(Headers(headers))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ONE},
        {"Authorization": "Bearer"},
        {"Authorization": f"Bearer {ONE}x"},
        {"Authorization": f"Bearer {ONE[:-1]}"},
        {"Authorization": basic(ONE, "")},
        {"Authorization": "Basic !!!"},
        {"Authorization": "Basic " + base64.b64encode(b"\xff\xfe").decode()},
        {"X-Api-Key": ""},
        {"X-Api-Key": "ünïcode"},
    ],
)
def test_kept_out(headers):
    assert not Tokens([SecretStr(ONE), SecretStr(TWO)]).allow(Headers(headers))


def test_every_route_but_health_asks_for_a_token(serve, obedient):
    url = serve(obedient, tokens=[ONE, TWO])
    for path in ("/", "/docs", "/openapi.json", "/metrics", "/v1/domains", "/nothing"):
        reply = httpx.get(url + path)
        assert (reply.status_code, reply.json()["code"]) == (401, "token"), path
        assert reply.headers.get_list("www-authenticate") == [
            'Basic realm="cascade-rl"',
            'Bearer realm="cascade-rl"',
        ]
        with_token = httpx.get(url + path, headers={"Authorization": f"Bearer {TWO}"})
        assert with_token.status_code == (404 if path == "/nothing" else 200)
    for path in ("/healthz", "/health"):
        assert httpx.get(url + path).status_code == 200
    body = {"domain": "obedient", "items": []}
    assert httpx.post(url + "/v1/rewards", json=body).status_code == 401
    inside = url.replace("http://", f"http://me:{ONE}@")
    assert httpx.post(inside + "/v1/rewards", json=body).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "example.org"])
def test_other_machines_are_not_served_without_a_token(host):
    data = {"domains": {"x": {}}, "host": host}
    with pytest.raises(ConfigError, match="reachable from other machines and there is no token"):
        build_settings(data, "test")
    assert build_settings({**data, "insecure": True}, "test").insecure
    assert len(build_settings({**data, "tokens": [ONE]}, "test").tokens) == 1


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.3.4.5", True), ("::1", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("localhost.example.org", False)],
)  # fmt: skip
def test_loopback(host, local):
    assert is_loopback(host) is local


def test_tokens_of_file_and_variable(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"# ours\n{ONE}\n\n  {TWO}  \n")
    found = read_tokens(file, f"{ONE} third-token-0123456789")
    secrets = [token.get_secret_value() for token in found]
    assert secrets == [ONE, "third-token-0123456789", TWO]
    assert read_tokens(None, None) == ()


def test_a_token_file_without_a_token_is_no_protection_and_an_error(tmp_path):
    file = tmp_path / "tokens"
    file.write_text("# nothing yet\n")
    with pytest.raises(ConfigError, match="holds no token; write one a line"):
        read_tokens(file, None)
    with pytest.raises(ConfigError, match="cannot read the token file"):
        read_tokens(tmp_path / "missing", None)


def test_a_short_token_is_refused_and_not_shown():
    with pytest.raises(ConfigError) as caught:
        build_settings({"domains": {"x": {}}, "tokens": ["hunter2"]}, "test")
    assert "1 of 1 tokens are shorter than 16 characters" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_settings_show_no_token():
    settings = build_settings({"domains": {"x": {}}, "tokens": [ONE]}, "test")
    assert ONE not in repr(settings)
    assert ONE not in settings.model_dump_json()
