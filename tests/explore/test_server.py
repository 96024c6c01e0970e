"""Who is let in: token, host, origin, and how many."""

from contextlib import ExitStack

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from herder.explore.server import MOST_PAGES, PAGE, make_app
from tests.explore.frames import SYSTEM, command, unpack

TOKEN = "token-of-this-test"
HERE = "http://127.0.0.1:8123"
SAME = {"origin": HERE}
TALK = "ws://127.0.0.1:8123/talk"


@pytest.fixture
def stranger() -> TestClient:
    return TestClient(make_app(TOKEN, 8123), base_url=HERE)


@pytest.fixture
def client(stranger: TestClient) -> TestClient:
    assert stranger.get("/", params={"token": TOKEN}).status_code == 200
    return stranger


def test_the_token_becomes_a_cookie_and_leaves_the_address(stranger):
    answer = stranger.get("/", params={"token": TOKEN}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(f"herder-8123={TOKEN}")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


def test_the_page_and_its_parts(client):
    answer = client.get("/")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    for path in PAGE.iterdir():
        if path.name != "index.html":
            assert client.get(f"/page/{path.name}").status_code == 200, path.name
    assert client.get("/page/../server.py").status_code == 404
    assert client.get("/page/%2e%2e/server.py").status_code == 404
    assert client.get("/nothing").status_code == 404


def test_the_page_names_nothing_from_elsewhere():
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8")
        assert "https://" not in text, path.name
        assert "//" not in text.replace("// ", "").replace("ws://${location.host}", ""), path.name


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/?token=wrong", "/?token=", "/nothing"])
def test_nothing_without_the_token(stranger, path):
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "herder explore" in answer.text


def test_a_wrong_token_does_not_hide_behind_the_cookie(client):
    assert client.get("/?token=wrong").status_code == 403


def test_the_token_opens_the_page_alone(stranger):
    assert stranger.get(f"/page/main.js?token={TOKEN}").status_code == 403


@pytest.mark.parametrize("host", ["evil.example:8123", "127.0.0.1:9", "127.0.0.1", "0.0.0.0:8123"])
def test_other_hosts_are_refused(client, host):
    assert client.get("/", headers={"host": host}).status_code == 403
    with (
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(TALK, headers={"host": host, "origin": f"http://{host}"}),
    ):
        pass


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1:8123", "null", ""])
def test_other_origins_are_refused(client, origin):
    with (
        pytest.raises(WebSocketDisconnect) as caught,
        client.websocket_connect(TALK, headers={"origin": origin}),
    ):
        pass
    assert caught.value.code == 1008
    if origin:
        assert client.get("/", headers={"origin": origin}).status_code == 403


def test_a_connection_without_an_origin_or_a_token_is_refused(client, stranger):
    with pytest.raises(WebSocketDisconnect), client.websocket_connect(TALK):
        pass
    stranger.cookies.clear()
    with pytest.raises(WebSocketDisconnect), stranger.websocket_connect(TALK, headers=SAME):
        pass
    with (
        pytest.raises(WebSocketDisconnect),
        stranger.websocket_connect(f"{TALK}?token={TOKEN}", headers=SAME),
    ):
        pass


def test_a_conversation(client):
    with client.websocket_connect(TALK, headers=SAME) as page:
        page.send_text(command("system", "start", **SYSTEM))
        assert unpack(page.receive_bytes())["id"] == 1
        page.send_text(command("system", "advance", 2, n=10))
        assert unpack(page.receive_bytes())["points"].shape == (10, 2)
        page.send_text("nonsense")
        assert "error" in unpack(page.receive_bytes())
        page.send_text(command("neuron", "start", 3, rate="1/3"))
        assert unpack(page.receive_bytes())["period"] == 3


def test_each_page_has_scenes_of_its_own(client):
    with ExitStack() as pages:
        one, other = (
            pages.enter_context(client.websocket_connect(TALK, headers=SAME)) for _ in range(2)
        )
        one.send_text(command("system", "start", **SYSTEM))
        one.receive_bytes()
        other.send_text(command("system", "advance", n=1))
        assert "error" in unpack(other.receive_bytes())


def test_bytes_end_a_conversation(client):
    with client.websocket_connect(TALK, headers=SAME) as page:
        page.send_bytes(b"1")
        assert page.receive()["code"] == 1003


def test_there_are_so_many_pages_at_most(client):
    with ExitStack() as pages:
        for _ in range(MOST_PAGES):
            page = pages.enter_context(client.websocket_connect(TALK, headers=SAME))
            page.send_text(command("neuron", "start", rate="1/2"))
            page.receive_bytes()
        late = pages.enter_context(client.websocket_connect(TALK, headers=SAME))
        with pytest.raises(WebSocketDisconnect) as caught:
            late.receive_bytes()
        assert (caught.value.code, caught.value.reason) == (1013, "at most 8 pages at once")
    with client.websocket_connect(TALK, headers=SAME) as page:
        page.send_text(command("neuron", "start", rate="1/2"))
        assert unpack(page.receive_bytes())["period"] == 2
