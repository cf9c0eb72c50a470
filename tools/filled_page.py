"""Pages with blocks that measurements fill, between `<!-- begin NAME -->` and `<!-- end NAME -->`."""
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]


def wrapped(content, width):
    """The content with lines of prose that fit; tables and fenced blocks stay as they are."""
    lines, fenced = [], False
    for line in content.split("\n"):
        fenced ^= line.startswith("```")
        if fenced or len(line) <= width or line.startswith(("|", "```")):
            lines.append(line)
            continue
        mark = re.match(r"(> |- )?", line)[0]
        lines += textwrap.wrap(line, width, subsequent_indent=mark.replace("-", " "), break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def filled(text, name, content, page):
    block = f"<!-- begin {name} -->\n{content}\n<!-- end {name} -->"
    text, found = re.subn(rf"<!-- begin {name} -->.*?<!-- end {name} -->", lambda _: block, text, flags=re.S)
    if found != 1:
        sys.exit(f"{page}: no block {name}")
    return text


def fill(page, blocks, width=120):
    """Writes each block, a name and a function that gives its text, wrapped. With --check among the arguments of the program it
    writes nothing, and exits with 1 when the page says something else."""
    path = ROOT / page
    before = text = path.read_text()
    for name, make in blocks:
        text = filled(text, name, wrapped(make(), width), page)
    if "--check" not in sys.argv:
        path.write_text(text)
    elif text != before:
        sys.exit(f"{page} is stale: run {pathlib.Path(sys.argv[0]).name}")
