"""Pages with blocks that measurements fill, between `<!-- begin NAME -->` and `<!-- end NAME -->`."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def filled(text, name, content, page):
    block = f"<!-- begin {name} -->\n{content}\n<!-- end {name} -->"
    text, found = re.subn(rf"<!-- begin {name} -->.*?<!-- end {name} -->", lambda _: block, text, flags=re.S)
    if found != 1:
        sys.exit(f"{page}: no block {name}")
    return text


def fill(page, blocks):
    """Writes each block, a name and a function that gives its text. With --check among the arguments of the program it
    writes nothing, and exits with 1 when the page says something else."""
    path = ROOT / page
    before = text = path.read_text()
    for name, make in blocks:
        text = filled(text, name, make(), page)
    if "--check" not in sys.argv:
        path.write_text(text)
    elif text != before:
        sys.exit(f"{page} is stale: run {pathlib.Path(sys.argv[0]).name}")
