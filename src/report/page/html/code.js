// code.js: Compares the machine code of two configs by instruction classes and line by line.

const LINES_AROUND = 2, LINES_AT_ONCE = 200, MOST_CELLS = 64e6;

const codeOf = (run, x) => run.code?.listings.find((listing) => listing.id === x.id);
/// Returns the opcode, which aligns lines: predicates and registers differ, labels are equal.
const opcodeOf = (line) => line.endsWith(':') ? ':' : line.replace(/^@\S+ /, '').split(' ', 1)[0];

/// Returns pairs of positions along a longest common subsequence; null where a line has no partner.
function alignment(a, b) {
  const n = a.length, m = b.length, step = new Uint8Array(n * m), pairs = [];
  let below = new Uint16Array(m + 1), row = new Uint16Array(m + 1);
  for (let i = n - 1; i >= 0; --i) {
    for (let j = m - 1; j >= 0; --j) {
      const same = a[i] === b[j];
      step[i * m + j] = same ? 0 : below[j] >= row[j + 1] ? 1 : 2;
      row[j] = same ? below[j + 1] + 1 : Math.max(below[j], row[j + 1]);
    }
    [below, row] = [row, below];
  }
  let i = 0, j = 0;
  while (i < n || j < m) {
    const way = i === n ? 2 : j === m ? 1 : step[i * m + j];
    pairs.push([way === 2 ? null : i, way === 1 ? null : j]);
    if (way !== 2) ++i;
    if (way !== 1) ++j;
  }
  return pairs;
}

/// Returns rows of two texts; lines without a partner stand beside each other.
function differenceRows(code, a, b) {
  const opcodes = code.opcodes ??= code.lines.map(opcodeOf), of = (listing) => listing.lines.map((line) => opcodes[line]);
  const rows = [], left = [], right = [];
  const flush = () => {
    while (left.length || right.length) rows.push({a: left.shift() ?? '', b: right.shift() ?? '', differs: true});
  };
  for (const [i, j] of alignment(of(a), of(b))) {
    const one = i === null ? null : code.lines[a.lines[i]], other = j === null ? null : code.lines[b.lines[j]];
    if (one !== null && other !== null) { flush(); rows.push({a: one, b: other}); }
    else if (one !== null) left.push(one);
    else right.push(other);
  }
  flush();
  return rows;
}

/// Returns differing rows with some context, and the numbers of omitted rows between.
function hunks(rows) {
  const shown = new Set();
  rows.forEach((row, i) => { if (row.differs) for (let near = i - LINES_AROUND; near <= i + LINES_AROUND; ++near) shown.add(near); });
  const kept = [];
  rows.forEach((row, i) => {
    if (shown.has(i)) kept.push(row);
    else if (kept.at(-1)?.skipped) ++kept.at(-1).skipped;
    else kept.push({skipped: 1});
  });
  return kept;
}

function countsTable(pair, [a, b]) {
  const rows = Object.keys(a.counts).map((what) => [what, a.counts[what], b.counts[what]]).filter(([, x, y]) => x || y);
  const line = ([what, x, y]) => el('tr', {class: x === y ? null : 'differs'}, el('td', {}, what), ...[count(x), count(y), x === y ? '' : (y > x ? '+' : '−') + count(Math.abs(y - x))].map((text) => el('td', {class: 'n'}, text)));
  return el('div', {class: 'scroll pair', tabindex: '0'}, el('table', {}, el('thead', {}, el('tr', {}, el('th', {}, 'instructions'), ...[...pair.map((x) => foldable(x.kernel)), '±'].map((title) => el('th', {class: 'n'}, title)))),
    el('tbody', {}, line(['all', a.instructions, b.instructions]), ...rows.map(line))));
}

/// Compares listings on request only, because listings have thousands of lines.
function listings(code, a, b) {
  const details = el('details', {id: 'sass', open: choices.get('sass')}, el('summary', {}, 'Line by line'));
  const line = (row) => row.skipped ? el('tr', {class: 'skipped'}, el('td', {colspan: 2}, `${plural(row.skipped, 'line')} alike`)) : el('tr', {class: row.differs ? 'differs' : null}, el('td', {}, row.a), el('td', {}, row.b));
  const fill = () => {
    const rows = differenceRows(code, a, b), differ = rows.filter((row) => row.differs).length, kept = hunks(rows), body = el('tbody', {}, ...kept.slice(0, LINES_AT_ONCE).map(line));
    details.append(el('p', {}, differ ? `${count(differ)} of ${plural(rows.length, 'line')} differ. They are aligned by opcode: registers and addresses may differ in what is alike.` : 'Opcode by opcode it is the same.'));
    if (differ) details.append(el('table', {class: 'sass', 'aria-label': 'Lines in which the machine code differs'}, body));
    if (kept.length > LINES_AT_ONCE) details.append(el('button', {type: 'button', class: 'quiet more', onclick: (event) => { body.replaceChildren(...kept.map(line)); event.currentTarget.remove(); }}, `Show all ${count(kept.length)} lines`));
  };
  details.addEventListener('toggle', () => { choices.set('sass', details.open); if (details.open && details.children.length === 1) fill(); });
  return details;
}

function codeSection(run, pair) {
  const both = pair.map((x) => codeOf(run, x)), [a, b] = both;
  if (!a || !b) return run.code ? [el('p', {}, `The page holds the machine code of ${plural(run.code.listings.length, 'finalist')}, not of both of these.`)] : [];
  const parts = [el('h3', {}, 'Machine code'), countsTable(pair, both)];
  if (a.remade || b.remade) parts.push(el('p', {class: 'notice'}, 'Compiled anew by another NVRTC, or from another text: not byte for byte what was measured.'));
  return [...parts, a.lines.length * b.lines.length > MOST_CELLS ? el('p', {}, 'Too long to be compared line by line here.') : listings(run.code, a, b)];
}
