// table.js: Lists finalists and candidates in tables that sort, filter and save.

const ROWS_AT_ONCE = 100;

/// A column: title, value(row) or null, text(value), number; why(row) explains a dash.
const columnOf = (title, value, text = String) => ({title, value, text, number: true});
const resourceColumns = (run) => [
  columnOf('margin', (c) => c.margin ?? null, (v) => Number.isFinite(v) ? v.toFixed(2) : '∞'), columnOf('registers', (c) => c.registers ?? null), columnOf('shared', (c) => c.shared ?? null, bytes),
  columnOf('spills', (c) => c.spills ?? null, (v) => v === 0 ? '0' : bytes(v)), columnOf('threads', (c) => c.threads ?? null), columnOf('blocks/SM', (c) => c.resident ?? null),
  columnOf('occupancy', (c) => occupancy(run, c), (v) => percent(v)), {...columnOf('waves', (c) => c.waves ?? null, times), why: (c) => c.wavesUnknown},
];
/// Returns ncu's counters of finalists and compared candidates; only the latter have stalls.
const profileOf = (run, c) => run.profiles?.find((p) => p.id === c.id);
function counterColumns(run, all) {
  const findings = (run.profiles ?? []).flatMap((p) => p.reading.findings).filter((f) => f.value !== undefined && (all || !f.what.startsWith('stall')));
  return [...new Map(findings.map((f) => [f.what, f.unit]))].map(([what, unit]) =>
    columnOf(`${what}, ${unit}`, (c) => profileOf(run, c)?.reading.findings.find((f) => f.what === what)?.value ?? null, (v) => digits(v, 3)));
}
/// Numbers sort as numbers, words as words.
const parameterColumns = (names, rows) => names.map((name) => ({title: name, value: (c) => c.params[name] ?? null, text: valueText,
  number: rows.every((c) => c.params[name] === undefined || typeof c.params[name] === 'number')}));
const filledColumns = (columns, rows) => columns.filter((column) => rows.some((row) => column.value(row) !== null || column.why?.(row)));
/// Returns the cell's text; a dash if the value is missing for a known reason.
const cellText = (column, row) => { const value = column.value(row); return value !== null ? column.cell?.(row) ?? column.text(value, row) : column.why?.(row) ? '–' : ''; };

/// Sorts missing values last in both directions.
function byColumn(column, down) {
  const sign = down ? -1 : 1;
  return (a, b) => {
    const x = column.value(a), y = column.value(b);
    if (x === null || y === null) return (x === null) - (y === null) || a.number - b.number;
    return sign * (column.number ? x - y : d3.ascending(valueText(x), valueText(y))) || a.number - b.number;
  };
}

/// Puts a place to fold after each underscore of a name.
const foldableHead = (title) => title.split(/(?<=_)/).flatMap((part, i) => i ? [el('wbr'), part] : [part]);

/// Moves the focus, and with it the table's only tab stop among the rows, by the arrow keys.
function moveFocus(event) {
  const row = event.currentTarget, rows = [...row.parentNode.children].filter((tr) => tr.hasAttribute('tabindex'));
  const next = rows[rows.indexOf(row) + {ArrowDown: 1, ArrowUp: -1}[event.key]];
  if (!next) return;
  event.preventDefault();
  row.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

/// Makes a table that sorts by a click on a head. A click on a row opens detail(row), or calls chosen(row).
function sortedTable({key, columns, rows, state, css, detail, chosen, none, limit = () => Infinity, changed}) {
  state.column = columns.some((c) => c.title === state.column) ? state.column : columns[0].title;
  choices.set(key, state);
  const body = el('tbody', {});
  const heads = columns.map((column) => el('th', {scope: 'col', class: column.number ? 'n' : null},
    el('button', {type: 'button', onclick: () => {
      state.down = state.column === column.title ? !state.down : false;
      state.column = column.title;
      fill();
    }}, ...foldableHead(column.title))));
  const open = (tr, row) => {
    if (chosen) { chosen(row); return; }
    if (tr.nextSibling?.classList.contains('detail')) { tr.nextSibling.remove(); return; }
    tr.after(el('tr', {class: 'detail'}, el('td', {colspan: columns.length}, el('div', {}, ...detail(row)))));
  };
  const fill = () => {
    const column = columns.find((c) => c.title === state.column);
    heads.forEach((head, i) => head.setAttribute('aria-sort', columns[i] !== column ? 'none' : state.down ? 'descending' : 'ascending'));
    const kept = rows().sort(byColumn(column, state.down));
    const cell = (c, row) => c.key && c.value(row) !== null ? el('a', {href: '#' + c.key(row), tabindex: '-1', onclick: (event) => event.stopPropagation()}, cellText(c, row)) : cellText(c, row);
    body.replaceChildren(...kept.slice(0, limit()).map((row, i) => el('tr', {class: css(row), tabindex: i ? '-1' : '0', onclick: (event) => open(event.currentTarget, row),
      onkeydown: (event) => { if (event.key === 'Enter' && event.target === event.currentTarget) open(event.currentTarget, row); else moveFocus(event); }},
      ...columns.map((c) => el('td', {class: [c.number ? 'n' : '', c.css?.(row) ?? ''].join(' ').trim() || null, title: c.why?.(row) ?? null}, cell(c, row))))));
    if (!kept.length && none) body.append(el('tr', {}, el('td', {colspan: columns.length}, none())));
    changed?.(kept);
  };
  fill();
  return {fill, node: el('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': key.replace(/-0$/, '').replace(/-(\d+)$/, (_, number) => ` ${Number(number) + 1}`)}, el('table', {}, el('thead', {}, el('tr', {}, ...heads)), body))};
}

/// Shows a row's whole config and its actions.
function rowDetail(problem, run, c) {
  const best = bestOf(problem), text = Object.entries(c.params).map((pair) => pair.join('=')).join(' ');
  return [c.reason ? el('p', {}, c.reason) : null, c.warm ? el('p', {}, `Warm start, from ${c.warm}.`) : null, c.wavesUnknown ? el('p', {class: 'soft'}, `Waves are unknown: ${c.wavesUnknown}.`) : null, el('p', {class: 'config'}, `${c.kernel} ${text}`),
    el('p', {class: 'config soft'}, c.id), best && c.id !== best.id ? el('button', {type: 'button', class: 'quiet', onclick: (event) => { event.stopPropagation(); compareWith(c.id); }}, 'Beside the best') : null].filter(Boolean);
}

/// Parses "registers<=128", "BLOCK_M=128", or a word of the row. `strange` takes conditions on unknown columns.
function matcher(term, columns, list, strange) {
  const found = /^([\w/]+)(<=|>=|=|<|>)(.+)$/.exec(term), column = found && columns.find((c) => c.title.toLowerCase() === found[1]);
  const limit = found && Number(found[3].replace(/%$/, '')) / (found[3].endsWith('%') ? 100 : 1);
  if (found && !column && !list.some((c) => c.words.includes(found[1] + '='))) strange.push(found[1]);
  if (!column) return (c) => c.words.includes(term);
  if (found[2] === '=') return (c) => { const value = column.value(c); return value !== null && (valueText(value).toLowerCase() === found[3] || value === limit); };
  const test = {'<=': (v) => v <= limit, '>=': (v) => v >= limit, '<': (v) => v < limit, '>': (v) => v > limit}[found[2]];
  return (c) => { const value = column.value(c); return value !== null && test(value); };
}

/// Lists the finalists and their differing parameters.
function finalistsTable(problem, run) {
  const rows = problem.finals.filter((f) => !isBaseline(f)).map((f, i) => ({...f, number: i + 1, params: f.config ?? {}, ...wavesOf(problem, f), final: f}));
  if (!rows.length) return null;
  const best = bestOf(problem), all = timesOf(problem), usual = rows.find((c) => c.role === 'default' && c.kernel === best?.kernel);
  const names = differing(rows.map((c) => ({kernel: c.kernel, config: c.params}))), decisive = usual ? names.filter((name) => best.config[name] !== usual.params[name]) : names;
  const columns = filledColumns([columnOf('#', (c) => c.number), {title: 'kernel', value: (c) => c.kernel + (c.role === 'default' ? ' (default)' : ''), text: String},
    ...all.map((which) => columnOf(timeWord(problem, which) + ' µs', (c) => c[which]?.us ?? null, us)),
    ...(best ? [columnOf('over the best', (c) => c[problem.time]?.us / best[problem.time].us || null, times)] : []),
    ...parameterColumns(decisive, rows), ...resourceColumns(run), ...counterColumns(run, false), ...parameterColumns(names.filter((name) => !decisive.includes(name)), rows)], rows);
  const table = sortedTable({key: 'finalists', columns, rows: () => [...rows], state: choices.get('finalists') ?? {column: '#', down: false},
    css: (c) => c.final === best ? 'best' : null, detail: (c) => rowDetail(problem, run, c)});
  return el('div', {id: 'finalists', class: 'candidates'}, el('h3', {}, 'Finalists'),
    el('p', {class: 'soft'}, 'A column for each parameter in which they differ, first those of the best that are not the kernel’s default. A click on a head sorts, on a row shows its whole config.'), table.node,
    el('div', {class: 'under'}, el('button', {type: 'button', onclick: () => saveCsv('finalists', {columns, rows: rows.map((c) => columns.map((col) => col.value(c)))})}, 'CSV')));
}

function candidateColumns(problem, run, list, kernel) {
  const shown = problem.kernels.filter((k) => !kernel || k.name === kernel);
  const names = [...new Set(shown.flatMap((k) => varying(k).map((p) => p.name)))];
  return filledColumns([columnOf('#', (c) => c.number, count), ...(kernel ? [] : [{title: 'kernel', value: (c) => c.kernel, text: String}]),
    {title: 'outcome', value: (c) => c.outcome, text: outcomeText, css: (c) => `outcome ${c.outcome}`}, {title: 'start', value: (c) => c.warm && 'warm', text: String},
    ...(problem.search_time === 'in_layer' ? [columnOf('in layer µs', (c) => c.in_layer, us)] : []), columnOf('hot µs', (c) => c.hot, us), columnOf('cold µs', (c) => c.cold, us), ...parameterColumns(names, list), ...resourceColumns(run)], list);
}

function candidatesSection(problem, run) {
  const list = problem.candidates, best = bestOf(problem)?.id;
  for (const c of list)
    c.words ??= `${configText(c)} ${c.kernel} ${c.id} ${c.outcome} ${c.reason} ${c.warm ? 'warm' : ''}`.toLowerCase();
  const state = choices.get('table') ?? {column: `${searchWord(problem)} µs`, down: false, text: '', kernel: kernelOptions(problem)[0]?.[0] === undefined ? '' : defaultKernel(problem)[0][0], outcome: ''};
  if (!problem.kernels.some((k) => k.name === state.kernel)) state.kernel = '';
  let shown = ROWS_AT_ONCE, table, kept = [], columns = [], strange = [];
  const counter = el('span', {class: 'count', role: 'status'}), place = el('div', {});
  const more = el('button', {type: 'button', class: 'quiet more', onclick: () => { shown += 5 * ROWS_AT_ONCE; table.fill(); }}, '');
  const rows = () => {
    strange = [];
    const tests = state.text.toLowerCase().split(/[\s,]+/).filter(Boolean).map((term) => matcher(term, columns, list, strange));
    return list.filter((c) => (!state.kernel || c.kernel === state.kernel) && (!state.outcome || c.outcome === state.outcome) && tests.every((test) => test(c)));
  };
  const build = () => {
    columns = candidateColumns(problem, run, list.filter((c) => !state.kernel || c.kernel === state.kernel), state.kernel);
    table = sortedTable({key: 'table', columns, rows, state, css: (c) => c.id === best ? 'best' : null, detail: (c) => rowDetail(problem, run, c), limit: () => shown, none: () => strange.length ? `No column is called ${strange.join(', ')}.` : 'No candidate matches.', changed: (now) => {
      kept = now;
      counter.textContent = kept.length === list.length ? plural(list.length, 'candidate') : `${count(kept.length)} of ${plural(list.length, 'candidate')}`;
      more.hidden = kept.length <= shown;
      more.textContent = `Show ${count(Math.min(5 * ROWS_AT_ONCE, kept.length - shown))} more of ${count(kept.length - shown)}`;
    }});
    place.replaceChildren(table.node);
  };
  const pick = (name, label, values, redraw, text = String) => {
    const options = [['', label], ...values.map((value) => [value, text(value)])];
    const select = el('select', {'aria-label': label, onchange: () => { state[name] = options[select.selectedIndex][0]; shown = ROWS_AT_ONCE; redraw(); }},
      ...options.map(([value, text]) => el('option', {selected: value === state[name]}, text)));
    return values.length > 1 ? select : null;
  };
  const search = el('input', {type: 'search', placeholder: 'BLOCK_M=128 registers<=168 spills=0', 'aria-label': 'Filter candidates', value: state.text,
    oninput: () => { state.text = search.value; shown = ROWS_AT_ONCE; table.fill(); }});
  build();
  const plainRow = (c) => ({number: c.number, id: c.id, kernel: c.kernel, config: c.params, outcome: c.outcome, reason: c.reason || undefined, at_s: c.at, in_layer_us: c.in_layer ?? undefined, hot_us: c.hot, cold_us: c.cold,
    margin: c.margin, registers: c.registers, shared_bytes: c.shared, spill_bytes: c.spills, threads: c.threads, blocks_per_sm: c.resident, waves: c.waves, warm_start: c.warm ?? undefined});
  return el('section', {id: 'candidates', class: 'candidates'}, el('h2', {}, 'All candidates'),
    el('p', {}, 'Times of the search: few samples each, a hint. The final phase above decides. A margin below 1 is right. A click on a row shows its whole config. Filter by words, or by a column: BLOCK_M=128, registers<=168, spills=0, occupancy>=25%.'),
    el('div', {class: 'filters'}, search, pick('kernel', 'every kernel', problem.kernels.map((k) => k.name), build), pick('outcome', 'every outcome', problem.outcomes.map((o) => o.outcome), () => table.fill(), outcomeText), counter),
    place, more, el('div', {class: 'under'}, el('button', {type: 'button', onclick: () => saveCsv('candidates', {columns: [{title: 'id'}, ...columns], rows: kept.map((c) => [c.id, ...columns.map((col) => col.value(c))])})}, 'CSV'),
      el('button', {type: 'button', onclick: () => saveText('candidates.json', 'application/json', JSON.stringify(kept.map(plainRow), null, 1))}, 'JSON')));
}
