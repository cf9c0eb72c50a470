#!/usr/bin/env python3
"""make_screenshots.py - committed results to the pictures of the report in docs/.

    make_screenshots.py FATUNE [FOLDER]

Writes report-wide.png, report-phone.png, report-dark.png, report-suite.png (of results/h200) and live.png (a sweep on the recorded
device) into FOLDER [docs]. Needs a Chromium; pngquant makes the pictures small where it is installed. Look at them before you commit.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "chrome"]
MOST_BYTES = 300_000


def browser_line(profile):
    path = next((shutil.which(name) for name in BROWSERS if shutil.which(name)), None)
    if path is None:
        sys.exit("make_screenshots.py needs a Chromium: apt-get install chromium")
    line = [path, "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", f"--user-data-dir={profile}"]
    return line + (["--no-sandbox"] if os.getuid() == 0 else [])


def take(line, url, out, size, scale=1, dark=False):
    flags = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else ["--blink-settings=preferredColorScheme=1"]
    subprocess.run([*line, *flags, f"--window-size={size[0]},{size[1]}", f"--force-device-scale-factor={scale}", "--virtual-time-budget=3000",
                    f"--screenshot={out}", url], check=True, capture_output=True, timeout=120)
    if shutil.which("pngquant"):
        subprocess.run(["pngquant", "--force", "--skip-if-larger", "--speed", "1", "--strip", "--output", out, "128", out], check=False)
    if out.stat().st_size > MOST_BYTES:
        print(f"{out.name}: {out.stat().st_size} bytes are more than {MOST_BYTES}; install pngquant", file=sys.stderr)
    print(f"{out}: {out.stat().st_size} bytes")


def report(fatune, out, run):
    subprocess.run([fatune, "report", run, "-o", out], check=True, cwd=ROOT)
    return out.as_uri()


def live(fatune, line, folder, out):
    """A long search on the recorded device, seen after a few seconds."""
    sweep = subprocess.Popen([fatune, "sweep", "--shape", "4,8,512,64", "--device", "recorded", "--kernel", "fa_mma,fa_wgmma,fa_wgmma_interleaved", "--strategy", "evo",
                              "--budget", "3000", "--serve", "0", "--out", folder / "live"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        url = None
        for text in sweep.stderr:
            url = re.search(r"http://127\.0\.0\.1:\d+/", text)
            if url:
                break
        if not url:
            sys.exit("the sweep served nothing")
        journal = folder / "live" / "journal.jsonl"
        for _ in range(600):  # until there is something to see, a minute at most
            if journal.exists() and journal.read_bytes().count(b'"candidate"') > 200:
                break
            time.sleep(0.1)
        take(line, url.group(0), out, (1200, 1150))
    finally:
        sweep.kill()
        sweep.wait()


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    fatune = str(pathlib.Path(sys.argv[1]).resolve())
    docs = pathlib.Path(sys.argv[2] if len(sys.argv) == 3 else ROOT / "docs").resolve()
    docs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        line = browser_line(folder / "profile")
        mission = report(fatune, folder / "mission.html", "results/h200/mission")
        take(line, mission, docs / "report-wide.png", (1200, 2280))
        take(line, mission, docs / "report-phone.png", (500, 1800))
        take(line, report(fatune, folder / "recorded.html", "configs/recorded/h200-mission.jsonl.gz"), docs / "report-dark.png", (1200, 2280), dark=True)
        take(line, report(fatune, folder / "suite.html", "results/h200/suite-mission"), docs / "report-suite.png", (1200, 2000))
        live(fatune, line, folder, docs / "live.png")


if __name__ == "__main__":
    main()
