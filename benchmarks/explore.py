"""Does the page of ``herder explore`` keep up? Steps and frames a second in Chromium.

Each scene runs at the speed of its slider; what the page has drawn is read from it. Nothing is
measured where there is no Chromium.
"""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import herder

RESULTS = Path(__file__).parent / "results" / "explore.json"

#: Scene, place of the slider, wanted steps a second, seconds.
RUNS = (("system", 8, 10_000, 10), ("system", 9, 30_000, 10), ("field", 2, 20, 10),
        ("field", 3, 60, 10), ("field", 5, 960, 10))  # fmt: skip

READY = "body[data-ready]"


def steps(page: Any) -> int:
    found = re.match("[0-9,]+", page.inner_text("#status"))
    return int(found[0].replace(",", "")) if found else 0


def measure(page: Any, scene: str, place: int, seconds: int) -> dict[str, Any]:
    """Return steps drawn a second, and the fewest frames drawn in half a second, times two."""
    page.click(f"#tab-{scene}")
    if scene == "system":
        page.fill("#heat-number", "0")
        page.press("#heat-number", "Enter")
    page.evaluate(
        "n => { const s = document.getElementById('speed'); s.value = n; s.oninput(); }", place
    )
    page.click("#restart")
    page.wait_for_timeout(1000)
    page.click("#run")
    page.wait_for_timeout(1500)  # compiling, if it is the first time
    page.click("#run")
    page.wait_for_timeout(200)
    first, begin, frames = steps(page), time.perf_counter(), []
    page.click("#run")
    for _ in range(seconds):
        page.wait_for_timeout(1000)
        frames += map(int, re.findall("and ([0-9]+) frames", page.inner_text("#status")))
    page.click("#run")
    taken = time.perf_counter() - begin
    page.wait_for_timeout(200)
    return {
        "steps_a_second": round((steps(page) - first) / taken),
        "least_frames_a_second": min(frames),
    }


def main() -> None:
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        print("there is no Chromium on this machine")
        return
    words = [sys.executable, "-m", "herder", "explore", "--no-browser"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address, rows = server.stdout.readline().strip(), []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1300, "height": 800})
        page.goto(address)
        page.wait_for_selector(READY)
        for scene, place, wanted, seconds in RUNS:
            row = {"scene": scene, "wanted": wanted, **measure(page, scene, place, seconds)}
            rows.append(row)
            print(row)
        browser.close()
    server.send_signal(signal.SIGINT)
    server.wait()
    text = json.dumps({"herder": herder.__version__, "rows": rows}, indent=1)
    RESULTS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
