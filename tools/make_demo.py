#!/usr/bin/env python3
"""Makes docs/demo.svg: what a sweep prints, from the recording that ships with fatune; needs no GPU.

    make_demo.py FATUNE docs/demo.svg            writes the picture
    make_demo.py FATUNE docs/demo.svg --check    exit 1 when the picture is stale
"""
import html
import pathlib
import re
import subprocess
import sys
import tempfile

COMMAND = ["sweep", "--shape", "4,8,512,64", "--device", "recorded"]
COLUMNS, ROWS = 150, 34
CHARACTER, LINE, MARGIN = 7.2, 17, 16
GREEN = re.compile(r"^( ?1=? .*|.*best is .*|Gate: .*)$")


def screen(fatune):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([fatune, *COMMAND, "--out", folder + "/run", "-q"], capture_output=True, text=True, check=True)
        text = done.stdout.replace(folder + "/run", "runs/demo")
    lines = ["$ ./fatune " + " ".join(COMMAND[:3]), *re.sub(r"in [0-9.]+ s\b", "in a moment", text).splitlines()]
    return [line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…" for line in lines]


def shorten(lines):
    """The beginning and the end, since the middle lists configs and rules."""
    if len(lines) <= ROWS:
        return lines
    tail = 10
    return lines[: ROWS - tail - 1] + ["   …"] + lines[-tail:]


def svg(lines):
    width, height = int(COLUMNS * CHARACTER + 2 * MARGIN), len(lines) * LINE + 2 * MARGIN
    rows = []
    for number, line in enumerate(lines):
        colour = "#7ee787" if GREEN.match(line) else "#8b949e" if line.startswith(("recorded", "-", "$")) else "#e6edf3"
        y = MARGIN + (number + 1) * LINE - 4
        rows.append(f'<text x="{MARGIN}" y="{y}" fill="{colour}" xml:space="preserve">{html.escape(line)}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="ui-monospace, DejaVu Sans Mono, monospace" '
            f'font-size="12">\n<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>\n' + "\n".join(rows) + "\n</svg>\n")


def main():
    fatune, target = sys.argv[1], pathlib.Path(sys.argv[2])
    picture = svg(shorten(screen(fatune)))
    if "--check" not in sys.argv:
        target.write_text(picture)
        return
    if not target.exists() or target.read_text() != picture:
        sys.exit(f"{target} is stale: run `make demo`")


if __name__ == "__main__":
    main()
