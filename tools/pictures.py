#!/usr/bin/env python3
"""pictures.py - makes the pictures of docs/ from the recorded device and results/; needs no GPU.

    pictures.py FATUNE demo [--check]      docs/demo.svg: the terminal after a sweep; --check: exit 1 when the picture is stale
    pictures.py FATUNE report [FOLDER]     report-*.png and live.png in FOLDER [docs]; needs a Chromium, and pngquant makes them
                                           smaller. Look at them before you commit.
"""
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
COMMAND = ["sweep", "--shape", "4,8,512,64", "--device", "recorded"]
COLUMNS, ROWS = 100, 66
CHARACTER, LINE, MARGIN = 7.2, 17, 16
PLAIN, FAINT = "#e6edf3", "#8b949e"
# The look of each escape sequence of the program on a dark terminal.
STYLES = {"": f'fill="{PLAIN}"', "1": 'fill="#ffffff" font-weight="bold"', "2": f'fill="{FAINT}"', "31": 'fill="#ff7b72"',
          "32": 'fill="#7ee787"', "33": 'fill="#e3b341"'}
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "chrome"]
MOST_BYTES = 300_000
ESCAPE = re.compile(r"\x1b\[([0-9]*)m")


def output_on_terminal(command):
    """stdout of a command that writes to a terminal of its own, colours included."""
    master, slave = os.openpty()
    env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=slave, env=dict(env, TERM="xterm", COLUMNS=str(COLUMNS))) as process:
        os.close(slave)
        text = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:  # the program has ended
                break
            if not part:
                break
            text += part
    os.close(master)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    return text.decode().replace("\r\n", "\n")


def pieces(line):
    """A line as (style, text), cut to the picture's width."""
    parts = ESCAPE.split(line)
    result, room = [], COLUMNS
    for style, text in zip(["", *parts[1::2]], parts[0::2]):
        if len(text) > room:
            text = text[: max(room - 1, 0)] + "…"
        room -= len(text)
        if text:
            result.append(("" if style == "0" else style, text))
        if text.endswith("…") and room <= 0:
            break
    return result


def screen(fatune):
    with tempfile.TemporaryDirectory() as folder:
        text = output_on_terminal([fatune, *COMMAND, "--out", folder + "/run", "-q"]).replace(folder + "/run", "runs/demo")
    text = re.sub(r"in [0-9.]+ s\b", "in a moment", text)
    return ["\x1b[2m$ ./fatune " + " ".join(COMMAND[:3]) + "\x1b[0m", *text.splitlines()]


def shorten(lines):
    """The beginning and the end, since the middle lists configs and rules."""
    if len(lines) <= ROWS:
        return lines
    tail = 13
    return lines[: ROWS - tail - 1] + ["   …"] + lines[-tail:]


def svg(lines):
    width, height = int(COLUMNS * CHARACTER + 2 * MARGIN), len(lines) * LINE + 2 * MARGIN
    rows = []
    for number, line in enumerate(lines):
        y = MARGIN + (number + 1) * LINE - 4
        spans = "".join(f"<tspan {STYLES[style]}>{html.escape(text)}</tspan>" for style, text in pieces(line))
        rows.append(f'<text x="{MARGIN}" y="{y}" xml:space="preserve">{spans}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="ui-monospace, DejaVu Sans Mono, monospace" '
            f'font-size="12">\n<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>\n' + "\n".join(rows) + "\n</svg>\n")


def browser_line(profile):
    path = next((shutil.which(name) for name in BROWSERS if shutil.which(name)), None)
    if path is None:
        sys.exit("pictures.py needs a Chromium: apt-get install chromium")
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


def demo(fatune, check):
    target = ROOT / "docs" / "demo.svg"
    picture = svg(shorten(screen(fatune)))
    if not check:
        target.write_text(picture)
    elif not target.exists() or target.read_text() != picture:
        sys.exit(f"{target} is stale: run `make demo`")


def reports(fatune, docs):
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


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[2] not in ("demo", "report"):
        sys.exit(__doc__)
    fatune = str(pathlib.Path(sys.argv[1]).resolve())
    if sys.argv[2] == "demo":
        demo(fatune, "--check" in sys.argv)
    else:
        reports(fatune, pathlib.Path(sys.argv[3] if len(sys.argv) == 4 else ROOT / "docs").resolve())


if __name__ == "__main__":
    main()
