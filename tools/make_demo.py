#!/usr/bin/env python3
"""Makes docs/demo.svg: what a sweep prints, from the recording that ships with fatune; needs no GPU.

    make_demo.py FATUNE docs/demo.svg            writes the picture
    make_demo.py FATUNE docs/demo.svg --check    exit 1 when the picture is stale
"""
import html
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMMAND = ["sweep", "--shape", "4,8,512,64", "--device", "recorded"]
COLUMNS, ROWS = 100, 66
CHARACTER, LINE, MARGIN = 7.2, 17, 16
PLAIN, FAINT = "#e6edf3", "#8b949e"
# What each escape sequence of the program looks like on a dark terminal.
STYLES = {"": f'fill="{PLAIN}"', "1": 'fill="#ffffff" font-weight="bold"', "2": f'fill="{FAINT}"', "31": 'fill="#ff7b72"',
          "32": 'fill="#7ee787"', "33": 'fill="#e3b341"'}
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
