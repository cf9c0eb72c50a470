#!/usr/bin/env python3
"""Opens the report in headless Chromium: no error on the console, the charts are there, the table sorts and filters.

    report_page_test.py --fatune PATH

The pages: reports of journals, of an evolution and of a proof, and a live page while a sweep runs on the recorded device. The
journals have one problem, a suite, two runs, a custom operation, four times, machine code and counters, or nothing measured. A probe
put into a copy of the page acts as a reader would and writes down what it finds. Without a Chromium the test is skipped with the
reason (exit 77); under CI=true that is a failure.
"""
import argparse
import html
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

SKIPPED = 77
DONE, FILES, INTERRUPTED = 0, 4, 130  # exit codes
ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results" / "h200"
RECORDED = ROOT / "configs" / "recorded" / "h200-mission.jsonl.gz"  # 3,460 candidates
FOUR_TIMES = [["in layer", "true"], ["plain", "false"], ["chained", "false"], ["cold", "false"]]
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "chrome"]
MOST_BYTES = 3_000_000
MOST_DRAWING_MS = 10_000  # the promise is a second; a shared machine without a GPU may be much slower

WATCH = """<script>window.__errors = [];
addEventListener('error', (e) => __errors.push(String(e.message)));
addEventListener('unhandledrejection', (e) => __errors.push(String(e.reason)));
addEventListener('securitypolicyviolation', (e) => __errors.push('refused: ' + e.blockedURI));
window.__began = performance.now();
for (const level of ['error', 'warn']) { const old = console[level]; console[level] = (...a) => { __errors.push(a.join(' ')); old(...a); }; }
</script>"""

NARROWEST = 500  # a window of Chromium without a screen is no narrower; a frame is
FRAME = """<!doctype html><body style="margin:0"><iframe src="{page}" style="width:{width}px;height:900px;border:0"></iframe><script>
addEventListener('message', (event) => {{ const out = document.createElement('pre'); out.id = 'found'; out.textContent = event.data; document.body.append(out); }});
</script></body>"""

PROBE = """<script>
const probe = async () => {
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const found = {ready_ms: performance.now() - __began};
  await wait(400);
  const column = (title) => [...document.querySelectorAll('#candidates th')].findIndex((th) => th.textContent === title);
  const values = (i) => [...document.querySelectorAll('#candidates tbody tr[tabindex]')].map((tr) => tr.children[i].textContent);
  const sass = document.querySelector('#sass');
  if (sass) {
    sass.open = true;
    await wait(100);
    found.sass = [...sass.querySelectorAll('.sass tr')].map((tr) => [...tr.children].map((td) => td.textContent));
    found.links = [...document.querySelectorAll('#compare a')].map((a) => a.getAttribute('href'));
    found.counters = [...document.querySelectorAll('#compare tr')].map((tr) => [...tr.children].map((td) => td.textContent)).filter((row) => /tensor|barrier/.test(row[0]));
  }
  const tree = document.querySelector('.tree');
  if (tree) {
    const ids = (list) => [...list].map((item) => item.id), first = document.querySelector('.tree > ul > li');
    found.lineage = [ids(document.querySelectorAll('.tree > ul > li')), ids(first.querySelectorAll('li'))];
    tree.querySelectorAll('details').forEach((d) => { d.open = true; });
    await wait(200);
    const diff = (before, after) => diffLines(before, after).map(({mark, text}) => mark + text).join(' ');
    found.diffs = [diff('a\\nb\\nc\\nd\\ne\\nf\\n', 'a\\nb\\nc\\nX\\ne\\nf\\n'), diff('1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n', '0\\n2\\n3\\n4\\n5\\n6\\n7\\n9\\n'), diff('a\\nb\\n', 'a\\nb\\n'), diff('a\\n', 'a\\nb\\nc\\n'),
      diff('a\\nb\\nc\\nd\\n', 'b\\nx\\nd\\ny\\n'), diff(Array(2100).fill('a').join('\\n'), Array(2100).fill('b').join('\\n')).length];
    found.marked = ['.added', '.removed'].map((css) => tree.querySelectorAll('pre ' + css).length);
    found.lines = [...tree.querySelectorAll('pre span')].map((line) => line.textContent);
  }
  found.title = document.title;
  const cells = (table, what) => [...table.querySelectorAll(what)].map((tr) => [...tr.children].map((cell) => cell.textContent));
  found.tables = Object.fromEntries([...document.querySelectorAll('.problems')].map((box) => [box.querySelector('.scroll').getAttribute('aria-label'), {heads: cells(box, 'thead tr')[0], rows: cells(box, 'tbody tr'),
    links: [...box.querySelectorAll('tbody a')].map((a) => a.getAttribute('href'))}]));
  found.lists = [...document.querySelectorAll('.means li, .verdict')].map((line) => line.textContent);
  found.headline = [...document.querySelectorAll('#headline text')].map((text) => text.textContent);
  found.roof = [...document.querySelectorAll('#roofline-all-0 .strong')].map((text) => text.textContent.split('  ')[0]);
  found.legend = [...document.querySelectorAll('#roofline-all-0 .legend li')].map((li) => li.textContent);
  found.nameless = [...document.querySelectorAll('th, select, input, button, main a')].filter((e) => !e.textContent.trim() && !e.getAttribute('aria-label') || e.tagName === 'SELECT' && !e.getAttribute('aria-label') && !e.closest('label')?.firstChild.textContent.trim()).map((e) => e.outerHTML.slice(0, 60));
  found.levels = [...document.querySelectorAll('main h1, main h2, main h3, main h4')].map((e) => Number(e.tagName[1]));
  found.stops = [...document.querySelectorAll('tbody')].map((body) => body.querySelectorAll(':scope > tr[tabindex="0"]').length);
  found.contents = [...document.querySelectorAll('.contents a')].map((a) => [a.getAttribute('href'), document.getElementById(a.getAttribute('href').split('/')[2]) !== null]);
  const wide = document.querySelector('#finalists .scroll');
  if (wide) {
    const place = () => [...wide.querySelectorAll('tbody tr:first-child td')].slice(0, 2).map((td) => Math.round(td.getBoundingClientRect().left));
    found.fixed = [place()];
    wide.scrollLeft = 300;
    await wait(50);
    found.fixed.push(place());
    wide.scrollLeft = 0;
    found.finalists = cells(wide, 'thead tr')[0];
  }
  const table = document.querySelector('.problems');
  if (table) {
    const rows = () => [...table.querySelectorAll('tbody tr')];
    rows()[0].focus();
    rows()[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}));
    found.moved = [rows().indexOf(document.activeElement), rows().map((tr) => tr.tabIndex).indexOf(0)];
    document.activeElement.blur();
  }
  found.heading = document.querySelector('h1').textContent;
  found.text = document.body.innerText;
  found.charts = [...document.querySelectorAll('figure')].map((f) => [f.id, f.querySelectorAll('svg').length, f.querySelectorAll('svg *').length]);
  found.unnamed = document.querySelectorAll('svg:not([aria-label])').length;
  found.nan = [...document.querySelectorAll('svg *')].filter((e) => [...e.attributes].some((a) => /NaN|Infinity|undefined/.test(a.value))).length;
  found.wider = document.documentElement.scrollWidth - innerWidth;
  found.loaded = performance.getEntriesByType('resource').map((r) => r.name).filter((n) => !n.startsWith('data:'));
  const hot = ['in layer µs', 'hot µs'].map(column).find((i) => i >= 0) ?? -1;
  if (hot >= 0) {
    found.sorted = values(hot).slice(0, 50);
    document.querySelectorAll('#candidates th button')[hot].click();
    found.reversed = values(hot).slice(0, 50);
    const input = document.querySelector('#candidates input');
    input.value = 'BLOCK_M=128 registers<=168'; input.dispatchEvent(new Event('input'));
    found.filtered = [values(column('BLOCK_M')), values(column('registers'))];
    found.count = document.querySelector('#candidates .count').textContent;
    const filtered = (text) => { input.value = text; input.dispatchEvent(new Event('input')); return document.querySelector('#candidates tbody').textContent; };
    found.none = [filtered('BLOCK_M=7'), filtered('NOPE=3')];
    filtered('BLOCK_M=128, registers<=168');
    found.commas = document.querySelector('#candidates .count').textContent;
    const rows = document.querySelectorAll('#candidates tbody tr[tabindex]');
    if (rows.length > 1) {
      const pick = rows[rows.length - 1];
      pick.click();
      const detail = pick.nextSibling.querySelector('div'), box = detail.getBoundingClientRect();
      found.detail = [detail.textContent, box.left, box.right - innerWidth];
      [...detail.querySelectorAll('button')].filter((b) => b.textContent === 'Beside the best').forEach((b) => b.click());
      document.querySelectorAll('#compare details').forEach((d) => { d.open = true; });
      found.compared = document.querySelector('#compare')?.innerText;
    }
  }
  found.times = [...document.querySelectorAll('#bars .choice button')].map((b) => [b.textContent, b.getAttribute('aria-pressed')]);
  const cold = [...document.querySelectorAll('#bars .choice button')].find((b) => b.textContent === 'cold');
  if (cold) { cold.click(); found.cold = document.querySelector('#bars svg').getAttribute('aria-label'); }
  const details = document.querySelector('#bars details');
  if (details) { details.open = true; await wait(50); found.table_rows = details.querySelectorAll('tbody tr').length; }
  const across = document.querySelector('#heat select');
  if (across) { across.selectedIndex = across.options.length - 1; across.dispatchEvent(new Event('change'));
    await wait(100);
    found.heat = document.querySelectorAll('#heat svg rect').length; }
  document.getElementById('theme').click();
  found.theme = document.documentElement.dataset.theme;
  found.paper = getComputedStyle(document.body).backgroundColor;
  const next = document.querySelector('[aria-label="Next problem"]');
  if (next) { const before = document.querySelector('#verdict .result').textContent; next.click(); await wait(100); found.next = [before, document.querySelector('#verdict .eyebrow').textContent]; }
  found.errors = __errors;
  document.querySelectorAll('main details').forEach((d) => { d.open = true; });
  await wait(100);
  const boxes = [...document.querySelectorAll('.scroll')];
  found.unreachable = boxes.filter((box) => box.scrollWidth > box.clientWidth && box.tabIndex < 0).map((box) => box.closest('[id]').id);
  found.regions = boxes.map((box) => box.getAttribute('aria-label')).filter(Boolean);
  found.cut = [...document.querySelectorAll('#layer text')].map((text) => text.textContent).filter((text) => text.includes('…'));
  const out = document.createElement('pre'); out.id = 'found'; out.textContent = JSON.stringify(found); document.body.append(out);
  parent.postMessage(out.textContent, '*');
};
probe().catch((e) => { const out = document.createElement('pre'); out.id = 'found'; out.textContent = JSON.stringify({errors: [String(e.stack)]}); document.body.append(out); });
</script>"""


def find_browser():
    for name in BROWSERS:
        if shutil.which(name):
            return shutil.which(name)
    fails = bool(os.environ.get("CI"))
    print(f"{'FAILED' if fails else 'skipped'}: no Chromium here (tools/bootstrap.sh test installs it where apt has it)")
    sys.exit(1 if fails else SKIPPED)


class Browser:
    def __init__(self, path, folder):
        self.line = [path, "--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
                     "--disable-background-networking", "--disable-component-update", f"--user-data-dir={folder}/profile"]
        if os.getuid() == 0:
            self.line.append("--no-sandbox")

    def dump(self, url, budget_ms=6000, width=1200):
        done = subprocess.run([*self.line, f"--window-size={width},900", f"--virtual-time-budget={budget_ms}", "--dump-dom", url],
                              capture_output=True, text=True, timeout=180, check=False)
        return done.stdout

    def probe(self, page, folder, width=1200):
        """Findings of the probe on a copy of the page."""
        text = page.read_text()
        copy = pathlib.Path(folder) / f"probed-{page.name}"
        head, body = text.split("<head>", 1)
        copy.write_text(head + "<head>" + WATCH + body.replace("</body>", PROBE + "</body>"))
        if width < NARROWEST:
            framed = pathlib.Path(folder) / f"framed-{page.name}"
            framed.write_text(FRAME.format(page=copy.name, width=width))
            copy = framed
        dom = self.dump(copy.as_uri(), width=width)
        found = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
        if not found:
            raise SystemExit(f"{page.name}: the page did not come to its end in the browser:\n{dom[-600:]}")
        answer = json.loads(html.unescape(found.group(1)))
        if "paper" not in answer:
            raise SystemExit(f"{page.name}: the probe failed: {answer['errors']}")
        return answer


class Checks:
    def __init__(self):
        self.failures = []

    def check(self, holds, what):
        if not holds:
            self.failures.append(what)

    def common(self, name, found):
        self.check(found["errors"] == [], f"{name}: on the console: {found['errors']}")
        self.check(found["unnamed"] == 0, f"{name}: {found['unnamed']} charts without a name for those who cannot see them")
        self.check(found["nan"] == 0, f"{name}: {found['nan']} marks have no place")
        self.check(found["wider"] <= 0, f"{name}: the page is {found['wider']} pixels wider than the window")
        self.check(found["loaded"] == [], f"{name}: loaded {found['loaded']}")
        self.check(found["nameless"] == [], f"{name}: without a name: {found['nameless']}")
        self.check(found["unreachable"] == [], f"{name}: without a keyboard's focus, though they scroll: {found['unreachable']}")
        self.check(len(set(found["regions"])) == len(found["regions"]), f"{name}: regions share a name: {found['regions']}")
        self.check(found["cut"] == [], f"{name}: cut: {found['cut']}")
        levels = found["levels"]
        self.check(levels[0] == 1 and all(b <= a + 1 for a, b in zip(levels, levels[1:])), f"{name}: the levels of the headings are {levels}")
        self.check(max(found["stops"], default=0) <= 1, f"{name}: rows of a table are {max(found['stops'], default=0)} tab stops")
        self.check(all(there for _, there in found["contents"]), f"{name}: contents lead to {found['contents']}")
        self.check(found.get("moved") in (None, [1, 1]), f"{name}: an arrow key moves the focus to {found.get('moved')}")
        self.check(found["ready_ms"] < MOST_DRAWING_MS, f"{name}: drawn after {found['ready_ms']:.0f} ms")
        for figure, charts, marks in found["charts"]:
            self.check(charts > 0 and marks > 1, f"{name}: figure {figure} is empty")

    def figures(self, name, found, wanted):
        there = {figure for figure, _, _ in found.get("charts", [])}
        self.check(wanted <= there, f"{name}: without {', '.join(sorted(wanted - there))}")


def report(fatune, out, *runs, expected=0):
    done = subprocess.run([fatune, "report", *map(str, runs), "-o", str(out)], capture_output=True, text=True, timeout=240, check=False)
    if done.returncode != expected:
        raise SystemExit(f"fatune report: exit {done.returncode}: {done.stderr}")
    return out


def numbers(texts):
    return [float(text.replace(",", "")) for text in texts if text]


def one_problem(checks, browser, fatune, folder):
    page = report(fatune, folder / "recorded.html", RECORDED)
    checks.check(page.stat().st_size < MOST_BYTES, f"3,460 candidates make {page.stat().st_size} bytes, more than {MOST_BYTES}")
    for width in (1200, 500):
        name = f"recorded at {width}"
        found = browser.probe(page, folder, width)
        checks.common(name, found)
        checks.figures(name, found, {"bars", "samples", "convergence-evaluations", "convergence-seconds", "outcomes", "importance", "heat", "parallel", "slices", "roofline"})
        hot, down = numbers(found["sorted"]), numbers(found["reversed"])
        checks.check(len(hot) == 50 and hot == sorted(hot), f"{name}: the table does not come sorted: {hot[:5]}")
        checks.check(down == sorted(down, reverse=True) and down[0] > hot[0], f"{name}: a click does not turn the order: {down[:5]}")
        sizes, registers = found["filtered"]
        checks.check(sizes and set(sizes) == {"128"} and max(map(int, registers)) <= 168, f"{name}: the filter lets others through")
        checks.check("BLOCK_M=128" in found["detail"][0] and found["detail"][1] >= 0 and found["detail"][2] <= 0, f"{name}: a row's config is not in sight: {found['detail']}")
        checks.check("candidate " in found["compared"] and "--census" in found["compared"], f"{name}: a candidate does not come beside the best")
        checks.check(found["times"] == FOUR_TIMES, f"{name}: the times to choose are {found['times']}")
        checks.check(found["count"].endswith("of 3,460 candidates"), f"{name}: {found['count']}")
        checks.check(found["commas"] == found["count"], f"{name}: with commas the filter finds {found['commas']}")
        checks.check(found["none"] == ["No candidate matches.", "No column is called nope."], f"{name}: a filter without a hit says {found['none']}")
        checks.check(found["cold"].startswith("cold"), f"{name}: hot and cold do not switch")
        checks.check(found["table_rows"] >= 10, f"{name}: the table under the bars has {found['table_rows']} rows")
        checks.check(found["heat"] > 1, f"{name}: no heat map of another pair")
        checks.check(found["theme"] in ("light", "dark"), f"{name}: the theme does not switch")
        print(f"{name}: {page.stat().st_size} bytes, drawn in {found['ready_ms']:.0f} ms")


def without_fa4(record):
    """Final phases in which FlashAttention-4 was unavailable at two problems."""
    record.pop("crc", None)
    shape = record.get("problem", {})
    if record.get("impl") == "fa4" and shape["head_dim"] == 128 and shape["mask"] == "none":
        for key in record.keys() - {"t", "impl", "role", "problem"}:
            del record[key]
        record |= {"outcome": "unavailable", "reason": "python3 has no FlashAttention-4; install it"}


def suites(checks, browser, fatune, folder):
    found = browser.probe(report(fatune, folder / "suite.html", RESULTS / "suite-mission"), folder)
    checks.common("suite", found)
    checks.figures("suite", found, {"ratios-0", "roofline-all-0", "bars", "headline"})
    checks.check("length-0" not in {figure for figure, _, _ in found["charts"]}, "suite: a line over problems that are not of one model")
    ratios = column(found["tables"]["problems"], "ratio")
    checks.check(len(ratios) == 12 and numbers(ratios) == sorted(numbers(ratios), reverse=True), f"suite: the worst ratio is not the first: {ratios}")
    checks.check(found["lists"][0] == "0.674 of the fastest baseline’s time in the geometric meanbest 0.498 (single-causal), worst 0.876 (stress)", f"suite: the headline says {found['lists'][0]}")
    checks.check(found["headline"][:4] == ["fa_wgmma_interleaved", "6.462 µs", "FlashAttention-4", "9.966 µs"], f"suite: the first picture shows {found['headline']}")
    checks.check(len(found["roof"]) == 12 and "stress-causal" in found["roof"], f"suite: the labels below the roofs are {found['roof']}")
    checks.check(found["legend"] == ["fa_wgmma_interleaved", "fa_wgmma", "fa_wgmma_stream_k"], f"suite: the colours of kernels are explained as {found['legend']}")
    fixed, scrolled = found["fixed"]
    checks.check(fixed == scrolled, f"suite: the first two columns move from {fixed} to {scrolled}")
    found = browser.probe(report(fatune, folder / "lengths.html", changed_run(folder / "lengths", RESULTS / "suite-mission" / "journal.jsonl.gz", 500, of_three_lengths)), folder)
    checks.common("lengths", found)
    checks.figures("lengths", found, {"length-0"})
    checks.check(found.get("next", ["", ""])[1] != "", "suite: the next problem does not open")
    run = changed_run(folder / "absent", RESULTS / "suite-mission" / "journal.jsonl.gz", 500, without_fa4)
    found = browser.probe(report(fatune, folder / "absent.html", run), folder)
    checks.common("absent", found)
    checks.check(found["heading"] == "Faster than every baseline that was measured on 12 of 12 problems", f"absent: the heading is {found['heading']}")
    checks.check(re.search(r"Without FlashAttention-4 at 2 of 12 problems\. Unavailable: ", found["text"]), "absent: nobody says which baseline was not there")
    found = browser.probe(report(fatune, folder / "two.html", RESULTS / "mission", RESULTS / "suite-decode"), folder)
    checks.common("two runs", found)
    checks.check("mission" in found["title"] and "suite-decode" in found["title"], f"two runs: the title is {found['title']}")


def of_three_lengths(record):
    """Problems without a name, of batch 1 at 128, 512 and 4,096 keys among others."""
    record.pop("crc", None)
    for entry in record.get("plan", {}).get("problems", []):
        entry["name"] = ""
    for problem in [record.get("problem", {}), *(entry["problem"] for entry in record.get("plan", {}).get("problems", []))]:
        if problem.get("seq_kv") == 128:
            problem["batch"] = 1


def column(table, title):
    return [row[table["heads"].index(title)] for row in table["rows"]]


def two_runs(checks, browser, fatune, folder):
    """A suite on two GPUs, the second 1.5 times slower: problems stand side by side, and no mean or line is of both."""

    def slower(record):
        record.pop("crc", None)
        if "environment" in record:
            record["environment"]["name"] = "NVIDIA H100"
        for time in ("in_layer", "plain", "hot", "cold"):
            if record.get("t") == "final" and time in record:
                record[time] = {key: scaled(value, 1.5) if key.endswith("_us") else value for key, value in record[time].items()}

    suite = RESULTS / "suite-mission"
    for folder_of, change, labels in (("h100", slower, ["NVIDIA H200", "NVIDIA H100"]), ("later", lambda record: None, ["h200", "later"])):
        (folder / folder_of).mkdir()
        run = changed_run(folder / folder_of / "suite-mission", suite / "journal.jsonl.gz", 500, change)
        for width in (1200, 390):
            name = f"two runs of {folder_of} at {width}"
            found = browser.probe(report(fatune, folder / f"{folder_of}.html", suite, run), folder, width)
            checks.common(name, found)
            checks.check(found["title"] == "fatune: " + ", ".join(labels), f"{name}: the title is {found['title']}")
            table, times = found["tables"]["compared"], [f"{label}, µs in layer" for label in labels]
            factor = 1.5 if change is slower else 1
            checks.check(len(table["rows"]) == 12, f"{name}: {len(table['rows'])} rows of 12 problems")
            both = list(zip(*(numbers(column(table, title)) for title in times)))
            checks.check(len(both) == 12 and all(abs(b / a / factor - 1) < 2e-3 for a, b in both), f"{name}: the times are {both}")
            ratios = numbers(column(table, f"time, {labels[1]} / {labels[0]}"))
            checks.check(ratios == 12 * [factor], f"{name}: the ratios of the runs are {ratios}")
            checks.check(found["heading"] == f"{labels[1]} takes {factor:.2f} of the time of {labels[0]}, in the geometric mean of 12 problems", f"{name}: the heading is {found['heading']}")
            means = [line for line in found["lists"] if line.startswith(tuple(labels))]
            checks.check(len(means) == 2 and all("0.674 of the fastest baseline" in line for line in means), f"{name}: the means are {means}")
            checks.check("0/0" in "".join(table["links"]) and "1/0" in "".join(table["links"]), f"{name}: the table leads to {table['links'][:4]}")
            checks.figures(name, found, {"ratios-0", "ratios-1"})


def changed_run(run, journal, lines, change):
    """A run of the journal's first lines and of all later lines without a candidate; `change` edits each."""
    run.mkdir()
    recorded = subprocess.run(["zcat", journal], capture_output=True, text=True, check=True).stdout.splitlines()
    with open(run / "journal.jsonl", "w") as out:
        for number, line in enumerate(recorded):
            record = json.loads(line)
            if record.get("t") == "candidate" and number > lines:
                continue
            change(record)
            out.write(json.dumps(record) + "\n")
    return run


def custom_operation(checks, browser, fatune, folder):
    """The recording as a custom operation without flops: the page shows GB/s and no roofline."""
    own = {"operation": "rmsnorm", "sizes": {"ROWS": 4096, "COLUMNS": 1024}, "bytes_read": 8390656, "bytes_written": 8388608, "dtype": "f16"}

    def change(record):
        if "plan" in record:
            record["plan"]["problems"] = [{"name": "", "problem": own}]
        if "problem" in record:
            record["problem"] = own

    run = changed_run(folder / "own", RECORDED, 200, change)
    found = browser.probe(report(fatune, folder / "own.html", run), folder)
    checks.common("custom operation", found)
    checks.figures("custom operation", found, {"bars", "samples", "outcomes"})
    checks.check("roofline" not in {figure for figure, _, _ in found["charts"]}, "custom operation: a roofline without flops")
    for text in ["rmsnorm ROWS=4096,COLUMNS=1024 f16", "GB/s", "of the memory’s peak"]:
        checks.check(text in found["text"], f"custom operation: '{text}' is not on the page")
    found = browser.probe(report(fatune, folder / "beside.html", RESULTS / "mission", run), folder)
    checks.common("custom operation beside attention", found)


def scaled(us, factor):
    """A time, or both ends of an interval."""
    return [each * factor for each in us] if isinstance(us, list) else us * factor


def four_times(checks, browser, fatune, folder):
    """The recording's finals with in-layer and plain times: the page ranks by these and shows the layer."""

    def change(record):
        if record.get("t") == "final" and record["outcome"] == "measured":
            for time, factor in (("in_layer", 1.25), ("plain", 1.1)):
                record[time] = {key: scaled(value, factor) if key.endswith("_us") else value for key, value in record["hot"].items()}
                record[time + "_rounds_us"] = [value * factor for value in record.get("hot_rounds_us", [])]
        if "plan" in record:
            record["plan"]["objective"] = "in_layer"

    run = changed_run(folder / "layers", RECORDED, 300, change)
    page = report(fatune, folder / "layers.html", run)
    checks.check(str(folder) not in page.read_text(), "four times: the page names a folder of the machine that made it")
    for width in (1200, 500):
        found = browser.probe(page, folder, width)
        checks.common(f"four times at {width}", found)
        checks.figures(f"four times at {width}", found, {"layer", "bars", "samples"})
        checks.check(found["heading"].endswith("µs in layer"), f"four times: the heading is {found['heading']}")
        checks.check(found["times"] == FOUR_TIMES, f"four times: the times to choose are {found['times']}")


def machine_code(checks, browser, fatune, folder):
    """Two configs with listings and counters: the page shows differences side by side and omits equal lines."""
    page = report(fatune, folder / "code.html", RESULTS / "mission")
    text = page.read_text()
    found = re.search(r'(?<=<script id="data" type="application/json">).*?(?=</script>)', text, re.DOTALL)
    data = json.loads(found.group(0))
    run = data["runs"][0]
    pair = [run["problems"][0]["finals"][0]["id"], next(f["id"] for f in run["problems"][0]["finals"] if f["role"] == "default")]
    lines = ["fa_wgmma:", "MOV R1, R2", "LDG.E R0, [R2]", "LDG.E R4, [R6]", "HGMMA.64x64x16.F32 R24", "@P0 BRA `(.L_x_1)", "@!P1 BRA `(.L_x_2)", "FADD R1, R1, R2", "EXIT"]
    listed = [[0] + 9 * [1] + [2, 5, 7, 8], [0] + 9 * [1] + [3, 4, 6, 8]]
    counts = [{"wgmma (HGMMA, QGMMA)": number, "stmatrix (STSM)": 0} for number in (0, 1)]
    run["code"] = {"lines": lines, "listings": [{"id": name, "instructions": 14, "counts": counts[i], "lines": listed[i]} for i, name in enumerate(pair)]}
    finding = lambda what, value: {"what": what, "value": value, "unit": "%", "mark": "good", "sentence": ""}
    run["folder"] = "mission"
    run["profiles"] = [{"id": name, "report": f"profiles/{name}.ncu-rep", "reading": {"bound_by": "barrier", "sentence": f"sentence {i}",
                        "findings": [finding("tensor active", 61.25 - i), finding("stall: barrier", 3 + i)]}} for i, name in enumerate(pair)]
    page.write_text(text[:found.start()] + json.dumps(data) + text[found.end():])
    for width in (1200, 500):
        name = f"machine code at {width}"
        found = browser.probe(page, folder, width)
        checks.common(name, found)
        wanted = [["9 lines alike"], 2 * ["MOV R1, R2"], ["LDG.E R0, [R2]", "LDG.E R4, [R6]"], ["", "HGMMA.64x64x16.F32 R24"], ["@P0 BRA `(.L_x_1)", "@!P1 BRA `(.L_x_2)"],
                  ["FADD R1, R1, R2", ""], 2 * ["EXIT"]]
        checks.check(found["sass"] == wanted, f"{name}: the listings show {found['sass']}")
        checks.check(found["links"] == [f"mission/profiles/{each}.ncu-rep" for each in pair], f"{name}: ncu's reports are at {found['links']}")
        checks.check(found["counters"] == [["tensor active, %", "61.3", "60.3"], ["stall: barrier, %", "3.00", "4.00"]], f"{name}: the counters are {found['counters']}")
        for words in ("2 of 15 lines differ", "sentence 0", "sentence 1", "wgmma (HGMMA, QGMMA)"):
            checks.check(words in found["text"], f"{name}: '{words}' is not on the page")
        checks.check("stmatrix" not in found["text"], f"{name}: a class of instructions that neither has is counted")


def evolution(checks, browser, fatune, folder):
    """A run of evolve: curves, the final rounds, and the lineage with diffs; what programs wrote stays text."""
    found = browser.probe(report(fatune, folder / "evolution.html", RESULTS / "evolve" / "full"), folder)
    checks.common("evolution", found)
    checks.figures("evolution", found, {"best", "validity"})
    checks.check(found["diffs"] == [" b  c -d +X  e  f", "-1 +0  2  3 ⋯  6  7 -8 +9", "", " a +b +c", "-a  b -c +x  d +y", 3 * 4200 - 1], f"evolution: the diffs are {found['diffs']}")
    for words in ("poor_rows, evolved: 5.91×", "93.3 %", "mission 4,8,512,64 f16", "832 µs", "5.90 to 5.91"):
        checks.check(words in found["text"], f"evolution: '{words}' is not on the page")
    checks.check(found["marked"][0] > 40, f"evolution: the diffs have {found['marked'][0]} added lines")
    run = folder / "evolved"
    run.mkdir()
    parents = {1: "t0", 2: "t0", 3: "t2", 4: "t0"}
    with open(run / "ledger.jsonl", "w") as out:
        for line in subprocess.run(["zcat", RESULTS / "evolve" / "full" / "ledger.jsonl.gz"], capture_output=True, text=True, check=True).stdout.splitlines():
            record = json.loads(line)
            record.pop("crc", None)
            if record["t"] == "trial" and record["number"] < 5:
                record |= {"source": f"int main;\n// <script>alert({record['number']})</script>\n", "manifest": "{}", "thought": "</details><img src=x>", "parents": [parents[record["number"]]] if record["number"] else []}
            if record["t"] == "header" or record.get("number", 5) < 5:
                out.write(json.dumps(record) + "\n")
    page = report(fatune, folder / "evolved.html", run)
    for width in (1200, 500):
        name, found = f"changed evolution at {width}", browser.probe(page, folder, width)
        checks.common(name, found)
        # A leaf stands below its parent, before the line of descent goes on.
        checks.check(found["lineage"] == [["t0", "t2"], ["t1", "t4"]], f"{name}: the lineage is {found['lineage']}")
        for words in ("The run is not complete", "</details><img src=x>"):
            checks.check(words in found["text"], f"{name}: '{words}' is not on the page")
        checks.check("+ // <script>alert(3)</script>" in found["lines"], f"{name}: the diffs show {found['lines'][:6]}")


def fleet(checks, browser, fatune, folder):
    """A suite on two devices: the first lines tell how many there were, and how long they took."""
    run = folder / "fleet"
    shutil.copytree(RESULTS / "suite-mission", run)
    best = json.loads((run / "best.json").read_text())
    problem = best["problems"][0]["label"] if "label" in best["problems"][0] else "mission 4,8,512,64 f16 packed"
    worked = {"problem": problem, "begin_s": 0.5, "end_s": 40, "failed": False}
    best["fleet"] = {"seconds": 62.9, "workers": [{"name": f"cuda:{i}", "work": [worked]} for i in range(2)]}
    (run / "best.json").write_text(json.dumps(best))
    found = browser.probe(report(fatune, folder / "fleet.html", run), folder)
    checks.common("fleet", found)
    checks.figures("fleet", found, {"fleet"})
    checks.check("12 problems on 2 devices, 62.9 s: NVIDIA H200" in found["text"], "fleet: the first lines do not tell of two devices")


def proof(checks, browser, fatune, folder):
    """The proof of a step, as python/fatune/optimizing.py writes it."""
    page = report(fatune, folder / "proof.html", ROOT / "tests" / "data" / "proof" / "proof.json")
    checks.check("GPU-186b" not in page.read_text(), "proof: the page names the GPU's UUID")
    for width in (1200, 500):
        name, found = f"proof at {width}", browser.probe(page, folder, width)
        checks.common(name, found)
        checks.figures(name, found, {"site-1", "site-2", "site-3"})
        checks.check((found["title"], found["heading"]) == ("layers: fatune", "layers"), f"{name}: the title is {found['title']}")
        for words in ("Faster, and right", "NVIDIA H200 (a recording stood in for it); PyTorch 2.9.0+cu130", "No gate has checked a59a029a046083d0", "layers.* (Layer)", "12 × 4,8,512,64 f16",
                      "4,8,512,64 f16, causal (a tensor)", "tuned as 4-8-512-64-causal", "not tuned: head dim 48 is not tuned <b>", "23.1 % of the step", "802 µs", "0.834", "0.833 to 0.835", "18 of 19",
                      "1830 MHz, and by flash 1845 MHz", "measured 135 µs; predicted from the times in a layer of its calls: 122 µs, 1.11 of it", "The step in a CUDA graph", "no engine for head dim 48",
                      "PyTorch: head dim 48 is not tuned", "incomparable", "by flash, the best of PyTorch’s"):
            checks.check(words in found["text"], f"{name}: '{words}' is not on the page")


def bad_input(checks, browser, fatune, folder):
    """A run without measurements, with reasons that look like markup and an unknown GPU."""
    run = folder / "none"
    run.mkdir()
    with open(run / "journal.jsonl", "w") as out:
        for line in subprocess.run(["zcat", RECORDED], capture_output=True, text=True, check=True).stdout.splitlines()[:3]:
            record = json.loads(line)
            if "schema" in record:
                record["environment"]["arch"] = "sm_61"
            if record.get("t") == "candidate":
                record.pop("hot", None)
                record.pop("cold", None)
                record["outcome"], record["reason"] = "compile_error", "</script><img src=x onerror=alert(1)> & \"quoted\""
            out.write(json.dumps(record) + "\n")
    found = browser.probe(report(fatune, folder / "none.html", run), folder)
    checks.common("nothing measured", found)
    checks.check("No candidate was measured" in found["heading"], f"nothing measured: the heading is {found['heading']}")
    checks.check("<img src=x onerror=alert(1)>" in found["text"], "nothing measured: the reason is not shown as text")
    checks.check("no end" in found["text"], "nothing measured: nothing says that the journal has no end")


def served(fatune, out):
    """A sweep on the recorded device, held open by a large budget, and its page's address."""
    sweep = subprocess.Popen([fatune, "sweep", "--shape", "4,8,512,64", "--device", "recorded", "--kernel", "fa_mma,fa_wgmma", "--budget", "6000",
                              "--strategy", "random", "--serve", "0", "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while True:
        line = sweep.stderr.readline()
        if not line:
            raise SystemExit("the sweep ended before it served anything")
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        if found:
            return sweep, found.group(0)


def waited_for(path):
    """The page is served before there is a journal."""
    end = time.monotonic() + 30
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)


def ends(checks, sweep, url, expected, how):
    """The sweep ends by itself, and its address no longer answers."""
    try:
        sweep.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        sweep.kill()
        sweep.communicate()
    checks.check(sweep.returncode in expected, f"live: {how} ends the sweep with {sweep.returncode}")
    try:
        urllib.request.urlopen(url, timeout=2)
        checks.check(False, f"live: the server outlives a sweep that ended by {how}")
    except (urllib.error.URLError, ConnectionError):
        pass


def live(checks, browser, fatune, folder):
    """A served sweep, seen by a browser and by another client, and each of its endings."""
    sweep, url = served(fatune, folder / "live")
    try:
        request = urllib.request.Request(url + "data.json", headers={"Host": "attacker.example"})
        try:
            urllib.request.urlopen(request, timeout=10)
            checks.check(False, "live: another host name is answered")
        except urllib.error.HTTPError as refused:
            checks.check(refused.code == 403, f"live: another host name gets {refused.code}")
        dom = browser.dump(url, budget_ms=3000)
        checks.check("<main" in dom and 'data-ready="yes"' in dom, "live: the page does not come up")
        checks.check(re.search(r'id="live"[^>]*>[^<]*(of|candidate|phase|ended)', dom) is not None, "live: nothing says how far the sweep is")
    finally:
        sweep.terminate()
    ends(checks, sweep, url, (DONE, INTERRUPTED), "SIGTERM")  # the sweep may end before the browser
    sweep, url = served(fatune, folder / "interrupted")
    viewer = http.client.HTTPConnection(url.split("/")[2])  # keeps its connection, as a browser does
    viewer.request("GET", "/data.json")
    viewer.getresponse().read()
    waited_for(folder / "interrupted" / "journal.jsonl")
    sweep.send_signal(signal.SIGINT)
    ends(checks, sweep, url, (INTERRUPTED,), "Ctrl-C")
    viewer.close()
    sweep, url = served(fatune, folder / "interrupted")  # the folder holds a run already
    ends(checks, sweep, url, (FILES,), "an error")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fatune", required=True)
    fatune = os.path.abspath(parser.parse_args().fatune)
    path = find_browser()
    checks = Checks()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        browser = Browser(path, folder)
        for part in (one_problem, suites, two_runs, custom_operation, four_times, machine_code, evolution, fleet, proof, bad_input, live):
            part(checks, browser, fatune, folder)
    for failure in checks.failures:
        print(failure)
    print(f"report-page: {len(checks.failures)} failures")
    sys.exit(1 if checks.failures else 0)


if __name__ == "__main__":
    main()
