"""The page in a real browser: `make browser`."""

import base64
import io
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]

SIZES = {"desktop": (1300, 800), "phone": (390, 844)}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    words = [sys.executable, "-m", "herder", "explore", "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        # without a sandbox, which Chromium has none of as root
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=SIZES)
def page(request: pytest.FixtureRequest, chromium: Any, address: str) -> Iterator[Any]:
    """A page that has loaded; what it complains of fails the test."""
    width, height = SIZES[request.param]
    context = chromium.new_context(
        viewport={"width": width, "height": height}, accept_downloads=True
    )
    page, faults = context.new_page(), []
    page.on("console", lambda one: faults.append(one.text) if one.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    yield page
    context.close()
    assert faults == []


def picture(page: Any, name: str) -> np.ndarray:
    """The pixels of a canvas."""
    address = page.evaluate("name => document.getElementById(name).toDataURL()", name)
    image = Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))
    return np.array(image.convert("RGB"))


def steps(page: Any) -> int:
    found = re.match("[0-9,]+", page.inner_text("#status"))
    assert found is not None
    return int(found[0].replace(",", ""))


def run_for(page: Any, seconds: float) -> None:
    page.click("#run")
    page.wait_for_timeout(1000 * seconds)
    page.click("#run")
    page.wait_for_timeout(300)  # the last frame may still be on its way


@pytest.mark.parametrize("tab", ["system", "points", "neuron", "field"])
def test_every_tab_runs_and_pauses(page, tab):
    page.click(f"#tab-{tab}")
    page.wait_for_timeout(500)
    assert page.inner_text("#run") == "Run"
    run_for(page, 1.5)
    done = steps(page)
    assert done > 0
    page.wait_for_timeout(300)
    assert steps(page) == done
    page.click("#step")
    page.wait_for_timeout(300)
    assert steps(page) == done + 1
    for name in page.eval_on_selector_all(f"#{tab} canvas", "all => all.map(one => one.id)"):
        assert len(np.unique(picture(page, name).reshape(-1, 3), axis=0)) > 1, name
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    page.click("#restart")
    page.wait_for_timeout(300)
    assert steps(page) == 0


def test_the_token_is_not_in_the_address(page):
    assert "token" not in page.url
    assert "#tab=system&states=" in page.url


def test_a_drag_changes_picture_and_view(page):
    before, view = picture(page, "plane"), page.url
    page.locator("#plane").scroll_into_view_if_needed()
    box = page.locator("#plane").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    grid = [(x + dx, y + dy) for dx in range(-150, 151, 15) for dy in range(-90, 91, 15)]
    for place in grid:  # somewhere there is a state
        page.mouse.move(*place)
        page.mouse.down()
        page.mouse.move(place[0] + 20, place[1] + 12)
        page.mouse.up()
        if page.url != view:
            break
    page.wait_for_timeout(300)
    assert page.url != view
    assert (picture(page, "plane") != before).any()
    assert page.is_hidden("#message")


def test_arrow_keys_move_a_state(page):
    view = page.url
    page.focus("#plane")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    found = [re.search("states=([^;]*),", url) for url in (view, page.url)]
    assert None not in found
    old, new = (float(one[1]) for one in found if one)
    assert new > old


def test_the_period_doubles_as_the_temperature_falls(page):
    for temperature, period in ((0.6, "1"), (0.3, "2"), (0.13, "4"), (0.11, "8")):
        page.fill("#heat-number", str(temperature))
        page.press("#heat-number", "Enter")
        page.wait_for_timeout(400)
        assert page.inner_text("#period") == f"Period {period}"
        assert page.input_value("#heat") == str(temperature)


def test_a_view_is_opened_by_its_fragment(page):
    page.evaluate("location.hash = 'tab=neuron&rate=3/7&speed=100'")
    page.wait_for_timeout(500)
    assert page.inner_text("#neuron-period") == "Period 7"
    assert page.inner_text("#speed-text").startswith("100 ")
    page.evaluate("location.hash = 'tab=system&states=0,0;1,x&T=nonsense&speed=7'")
    page.wait_for_timeout(500)
    assert page.is_hidden("#message")


def test_an_upload_and_a_bad_one(page, tmp_path: Path):
    page.click("#tab-points")
    page.select_option("#source", "csv")
    rows = np.random.default_rng(0).normal(size=(300, 3))
    good, bad = tmp_path / "draws.csv", tmp_path / "bad.csv"
    np.savetxt(good, rows, delimiter=",", header="a,b,c", comments="")
    bad.write_text("a,b\n1,2\n3\n")
    page.set_input_files("#upload", bad)
    page.wait_for_selector("#message:not([hidden])")
    assert page.inner_text("#message").startswith("line 3 of bad.csv must have 2 fields")
    page.set_input_files("#upload", good)
    page.wait_for_selector("#message", state="hidden")
    run_for(page, 2)
    assert "of 300; compared over 3 columns" in page.inner_text("#status")
    assert "times closer" in page.inner_text("#better")


def test_a_drawing_is_herded(page):
    page.click("#tab-points")
    page.select_option("#source", "drawn")
    page.locator("#herded").scroll_into_view_if_needed()
    box = page.locator("#herded").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x - 60, y - 60)
    page.mouse.down()
    page.mouse.move(x + 60, y + 60, steps=20)
    page.mouse.up()
    page.wait_for_timeout(500)
    run_for(page, 1)
    assert steps(page) > 3
    assert "dabs=0." in page.url


def test_what_is_saved(page, tmp_path: Path):
    run_for(page, 1)
    with page.expect_download() as saved:
        page.click("#save-png")
    saved.value.save_as(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (tmp_path / "picture.png").stat().st_size > 5000
    page.fill("#heat-number", "0")
    page.press("#heat-number", "Enter")
    page.evaluate("const s = document.getElementById('speed'); s.value = 6; s.oninput()")
    run_for(page, 1)
    with page.expect_download() as saved:
        page.click("#save-csv")
    saved.value.save_as(tmp_path / "data.csv")
    lines = (tmp_path / "data.csv").read_text().splitlines()
    assert lines[0] == "step,weight_1,weight_2,best_state"
    assert len(lines) > 100


def test_a_view_can_be_shared(page):
    page.click("#share")
    page.wait_for_selector("#message:not([hidden])")
    assert "herder explore 'tab=system&states=-1.4241,0.1935;" in page.inner_text("#message")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.wait_for_timeout(300)
    corner = picture(page, "plane")[2, 2]
    assert (corner.mean() > 200) == (scheme == "light")
