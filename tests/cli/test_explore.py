"""``herder explore`` as a process: its address, its port, its end."""

import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from typer.testing import CliRunner

from herder.cli import app

COMMAND = [sys.executable, "-m", "herder", "explore", "--no-browser"]


@pytest.fixture
def explorer() -> Iterator["subprocess.Popen[str]"]:
    words = [*COMMAND, "http://127.0.0.1:9/#tab=neuron&rate=5/8 & more"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True) as process:
        yield process
        process.kill()


def test_it_prints_an_address_serves_the_page_and_ends_with_ctrl_c(explorer):
    address = explorer.stdout.readline().strip()
    base, _, token = address.partition("/?token=")
    token, _, view = token.partition("#")
    assert base.startswith("http://127.0.0.1:")
    assert view == "tab=neuron&rate=5/8%20&%20more"
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(f"{base}/?token={token}", timeout=30) as page:
        assert page.url == f"{base}/"
        assert b"herder explore" in page.read()
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(base, timeout=30)
    explorer.send_signal(signal.SIGINT)
    assert explorer.wait(timeout=30) == 0
    assert (explorer.stdout.read(), explorer.stderr.read()) == ("Ctrl-C ends the explorer.\n", "")


def test_a_port_that_is_taken():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = CliRunner().invoke(app, ["explore", "--no-browser", "--port", str(port)])
    assert done.exit_code == 2
    assert f"--port must be free, or 0 for any that is, got {port}: address" in done.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--port", "70000"], "--port must be from 0 to 65535, got 70000"),
        (["a" * 8001], "must have at most 8,000 characters, got 8001"),
    ],
)
def test_what_is_refused(words, message):
    done = CliRunner().invoke(app, ["explore", "--no-browser", *words])
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


def test_without_the_extra(monkeypatch):
    for name in list(sys.modules):
        if name.startswith("herder.explore.server"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = CliRunner().invoke(app, ["explore", "--no-browser"])
    assert done.exit_code == 2
    assert "pip install 'herder[explore]'" in " ".join(done.output.split())


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_modules_of_the_page_are_javascript():
    from herder.explore.server import PAGE

    for path in sorted(PAGE.glob("*.js")):
        words = ["node", "--check", "--input-type=module"]
        done = subprocess.run(words, input=path.read_text("utf-8"), text=True, capture_output=True)
        assert done.returncode == 0, (path.name, done.stderr)
