"""page.py - a proof's document to one HTML page: no script, nothing fetched, light and dark, also on a phone."""
from __future__ import annotations

import html
import math
from typing import Any, Dict, Iterable, List, Tuple

from .capturing import words_of

Row = Dict[str, Any]

_STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#15181c, #e7eaee); --soft: light-dark(#5b6570, #9aa5b1);
  --line: light-dark(#dde1e6, #2a3038); --paper: light-dark(#ffffff, #101317); --raised: light-dark(#f6f7f8, #181c22);
  --other: light-dark(#a9b1ba, #5d6772); --good: light-dark(#12805c, #3fb984); --bad: light-dark(#b42318, #f2786b); }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 60rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
p { margin: .25rem 0; } .soft { color: var(--soft); font-size: .875rem; }
.verdict { font-size: 1.125rem; font-weight: 600; color: var(--good); } .verdict.bad { color: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.tile { background: var(--raised); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
.tile b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.site { border-top: 1px solid var(--line); padding: .75rem 0; }
.site p:first-child { font-weight: 600; }
.bar { display: grid; grid-template-columns: 4rem 1fr 6.5rem; gap: .5rem; align-items: center; font-size: .875rem; }
.bar span:last-child { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar i { display: block; height: .75rem; border-radius: .2rem; min-width: 2px; background: var(--other); }
.bar i.after { background: var(--good); }
table { width: 100%; border-collapse: collapse; font-size: .875rem; }
th, td { text-align: left; padding: .35rem .5rem .35rem 0; border-top: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.wrong { color: var(--bad); }
"""

_VERDICTS = {"faster": "Faster, and right", "equal": "Right, but no faster", "slower": "Right, but slower",
             "wrong": "Wrong: not installed", "unserved": "No call was served"}


def _text(value: object) -> str:
    return html.escape(str(value))


def _time(us: float) -> str:
    """In three digits."""
    value, unit = (us / 1e6, "s") if us >= 1e6 else (us / 1e3, "ms") if us >= 1e3 else (us, "µs")
    return f"{value:.{max(0, 2 - math.floor(math.log10(max(value, 1))))}f} {unit}"


def _same(row: Row) -> Tuple[str, ...]:
    """Returns the fields that identify a call in another capture."""
    return tuple(str(row[key]) for key in ("function", "site", "module", "query", "key", "value", "mask", "scale"))


def _bars(before_us: float, after_us: float, most_us: float) -> str:
    rows = [("before", before_us, ""), ("after", after_us, "after")]
    return "".join(f'<div class="bar"><span>{name}</span><span><i class="{kind}" '
                   f'style="width:{100 * us / most_us:.1f}%"></i></span><span>{_time(us)}</span></div>'
                   for name, us, kind in rows)


def _site(row: Row, after: Row, most_us: float) -> str:
    fate = f"tuned as {row['problem']}" if row["problem"] else f"not tuned: {row['reason']}"
    return (f'<div class="site"><p>{_text(row["module"] or row["site"])}</p>'
            f'<p class="soft">{_text(row["site"])} · {row["counts"][-1]} × {_text(words_of(row))} · '
            f'{row["share"]:.1%} of the step · {_text(fate)}</p>{_bars(row["us"], after["us"], most_us)}</div>')


def _sites(document: Row) -> str:
    rows, later = document["before"]["calls"], {_same(row): row for row in document["after"]["calls"]}
    most_us = max([each["us"] for each in (*rows, *later.values())], default=0) or 1.0
    return "".join(_site(row, later.get(_same(row), {"us": 0.0}), most_us) for row in rows) or "<p>None was seen.</p>"


def _table(heads: Iterable[Tuple[str, str]], rows: Iterable[List[Tuple[str, str]]]) -> str:
    head = "".join(f'<th class="{kind}">{_text(text)}</th>' for text, kind in heads)
    body = "".join("<tr>" + "".join(f'<td class="{kind}">{_text(text)}</td>' for text, kind in row) + "</tr>"
                   for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _outputs(document: Row) -> str:
    if not document["outputs"]:
        return "<p>They were not compared.</p>"
    rows = [[(row["name"], "" if row["right"] else "wrong"),
             ("incomparable" if row["error"] is None else f"{row['error']:.3g}", "n"), (f"{row['limit']:.3g}", "n"),
             ("right" if row["right"] else "wrong", "" if row["right"] else "wrong")] for row in document["outputs"]]
    return _table((("output", ""), ("off by", "n"), ("allowed", "n"), ("", "")), rows)


def _served(document: Row) -> str:
    rows = sorted(document["calls"], key=lambda row: row["reason"] is not None)
    return _table((("calls", "n"), ("what", ""), ("done by", "")),
                  [[(str(row["calls"]), "n"), (row["call"], ""),
                    ("a kernel" if row["reason"] is None else f"PyTorch: {row['reason']}", "")] for row in rows])


def _counting(document: Row) -> Row:
    """The times that the verdict is of."""
    return document["sustained"] or document["times"]


def _tiles(document: Row) -> str:
    tiles, times = [], _counting(document)
    if times:
        middle, (low, high) = times["medians_us"], times["ci95"]
        by = f", by {times['best']}, the best of PyTorch's" if document["before"]["graph"] else ""
        tiles += [(_time(middle[times["best"]]), f"the step before{by}"), (_time(middle["fatune"]), "after"),
                  (f"{times['ratio']:.3f}", f"of its time, 95 %: {low:.3f} to {high:.3f}")]
    tiles.append((f"{document['before']['attention_share']:.0%}", "attention's share before"))
    served = sum(row["calls"] for row in document["calls"] if row["reason"] is None)
    tiles.append((f"{served} of {sum(row['calls'] for row in document['calls'])}", "calls by kernels"))
    return "".join(f'<div class="tile"><b>{_text(value)}</b><span class="soft">{_text(name)}</span></div>'
                   for value, name in tiles)


def _graphs(document: Row) -> str:
    """The step in a graph, by every contender."""
    if not document["before"]["graph"] or not document["times"]:
        return ""
    times = document["times"]
    rows = [[(name, ""), (_time(us), "n"), ("best of PyTorch's" if name == times["best"] else "", "")]
            for name, us in times["medians_us"].items()]
    rows += [[(name, ""), ("-", "n"), (reason, "")] for name, reason in document["failed"].items()]
    return ("<h2>The step in a CUDA graph</h2>\n<p class=\"soft\">pytorch is PyTorch's own choice; its backends by "
            "themselves are not shown mask tensors that say no more than full or causal, as kernels are not.</p>"
            + _table((("attention", ""), ("median", "n"), ("", "")), rows))


def _going_on(document: Row) -> str:
    """Returns the paragraph on times at the power limit; empty if none were measured."""
    times, short = document["sustained"], document["times"]
    if times is None:
        return ""
    ours, theirs = times["mhz"]["fatune"], times["mhz"][times["best"]]
    return (f"<p>The GPU is at its power limit, which gives each step a clock of its own: {ours:.0f} MHz, and by "
            f"{_text(times['best'])} {theirs:.0f} MHz. So these are times of turns that go on; in short turns, with one "
            f"clock for all, the step takes {short['ratio']:.3f} of its time.</p>")


def _saving(document: Row) -> str:
    saving = document["saving"]
    if saving is None:
        return ""
    predicted = "none is predicted, as a call has no time in a layer"
    if saving["predicted_us"] is not None:
        predicted = f"predicted from the times in a layer of its calls: {saving['predicted_us']:.0f} µs"
    share = "" if saving["share"] is None else f", {saving['share']:.2f} of it"
    left = "" if saving["sustained_us"] is None else f" Going on it is {saving['sustained_us']:.0f} µs."
    return f"<p>Saving, with one clock for all: measured {saving['measured_us']:.0f} µs; {predicted}{share}.{left}</p>"


def page_of(document: Row) -> str:
    """The page of fatune.proof/1."""
    good, before = document["verdict"] in ("faster", "equal"), document["before"]
    device = document["device"]["name"] + (" (a recording stood in for it)" if document["recorded"] else "")
    notes = [f"{device}; PyTorch {before['torch']}; times by call site: {before['clock']}, run {document['run']}."]
    notes += ["Masks were taken to be those captured, unread (assume_masks=\"captured\")."] * document["masks_assumed"]
    notes += [f"No gate has checked {', '.join(document['unverified'])}."] * bool(document["unverified"])
    notes += ["They include waiting for Python."] * before["waits_for_python"]
    times = _counting(document)
    rounds = f"{len(times['rounds_us']['fatune'])} interleaved rounds in random order." if times else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(document['name'])}: fatune</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{_text(document['name'])}</h1>
<p class="verdict{'' if good else ' bad'}">{_VERDICTS[document['verdict']]}</p>
<p class="soft">{_text(' '.join(notes))} {rounds}</p>
<div class="tiles">{_tiles(document)}</div>
{_going_on(document)}
{_saving(document)}
{_graphs(document)}
<h2>Attention by call site</h2>
{_sites(document)}
<h2>Who did the calls</h2>
{_served(document)}
<h2>Outputs</h2>
<p class="soft">Against the same step with attention in double precision; allowed is twice what PyTorch's own attention,
and one that rounds after every step, are off by.</p>
{_outputs(document)}
</body>
</html>
"""
