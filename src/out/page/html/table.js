// table.js - all candidates: sorted by any column, filtered, a hundred rows at a time.

const ROWS_AT_ONCE = 100;

const CANDIDATE_COLUMNS = [
  {title: '#', value: (c) => c.number, text: (c) => count(c.number), number: true},
  {title: 'kernel', value: (c) => c.kernel, text: (c) => c.kernel},
  {title: 'outcome', value: (c) => c.outcome, text: (c) => outcomeText(c.outcome)},
  {title: 'hot µs', value: (c) => c.hot, text: (c) => c.hot === null ? '' : us(c.hot), number: true, needs: 'hot'},
  {title: 'cold µs', value: (c) => c.cold, text: (c) => c.cold === null ? '' : us(c.cold), number: true, needs: 'cold'},
  {title: 'margin', value: (c) => c.margin, text: (c) => c.margin === null ? '' : c.margin.toFixed(2), number: true, needs: 'margin'},
  {title: 'registers', value: (c) => c.registers, text: (c) => c.registers ?? '', number: true, needs: 'registers'},
  {title: 'shared', value: (c) => c.shared, text: (c) => c.shared === null ? '' : bytes(c.shared), number: true, needs: 'shared'},
  {title: 'spills', value: (c) => c.spills, text: (c) => c.spills === null ? '' : c.spills === 0 ? '0' : bytes(c.spills), number: true, needs: 'spills'},
  {title: 'config, and why not', value: (c) => c.text, text: (c) => c.text + (c.reason ? ' — ' + c.reason : ''), css: 'config'},
];

/// Missing values come last, whichever way the others go.
function byColumn(column, down) {
  const sign = down ? -1 : 1;
  return (a, b) => {
    const x = column.value(a), y = column.value(b);
    if (x === null || y === null) return (x === null) - (y === null) || a.number - b.number;
    return sign * (column.number ? x - y : d3.ascending(x, y)) || a.number - b.number;
  };
}

function candidatesSection(problem, run) {
  const objective = objectiveOf(run), list = candidatesOf(problem, objective);
  for (const c of list) c.text ??= configText(problem, c);
  const columns = CANDIDATE_COLUMNS.filter((column) => !column.needs || list.some((c) => c[column.needs] !== null));
  const state = choices.get('table') ?? {column: `${objective} µs`, down: false, text: '', kernel: '', outcome: ''};
  choices.set('table', state);
  let shown = ROWS_AT_ONCE;
  const body = el('tbody', {}), counter = el('span', {class: 'count', role: 'status'});
  const more = el('button', {type: 'button', class: 'quiet more', onclick: () => { shown += 5 * ROWS_AT_ONCE; fill(); }}, '');
  const heads = columns.map((column) => el('th', {scope: 'col', class: column.number ? 'n' : null},
    el('button', {type: 'button', onclick: () => {
      state.down = state.column === column.title ? !state.down : false;
      state.column = column.title;
      fill();
    }}, column.title)));
  const fill = () => {
    const column = columns.find((c) => c.title === state.column) ?? columns[0];
    heads.forEach((head, i) => head.setAttribute('aria-sort', columns[i] !== column ? 'none' : state.down ? 'descending' : 'ascending'));
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = list.filter((c) => (!state.kernel || c.kernel === state.kernel) && (!state.outcome || c.outcome === state.outcome) &&
      words.every((word) => `${c.text} ${c.kernel} ${c.id} ${c.outcome} ${c.reason}`.toLowerCase().includes(word)));
    kept.sort(byColumn(column, state.down));
    const best = bestOf(problem)?.id;
    body.replaceChildren(...kept.slice(0, shown).map((c) => el('tr', {class: c.id === best ? 'best' : null, onclick: (event) => event.currentTarget.classList.toggle('open')},
      ...columns.map((col) => el('td', {class: [col.number ? 'n' : '', col.css ?? '', col.title === 'outcome' ? `outcome ${c.outcome}` : ''].join(' ').trim() || null}, String(col.text(c)))))));
    counter.textContent = kept.length === list.length ? plural(list.length, 'candidate') : `${count(kept.length)} of ${plural(list.length, 'candidate')}`;
    more.hidden = kept.length <= shown;
    more.textContent = `Show ${count(Math.min(5 * ROWS_AT_ONCE, kept.length - shown))} more of ${count(kept.length - shown)}`;
  };
  const pick = (name, label, values) => {
    const options = [['', label], ...values.map((value) => [value, outcomeText(value)])];
    const select = el('select', {'aria-label': label, onchange: () => { state[name] = options[select.selectedIndex][0]; shown = ROWS_AT_ONCE; fill(); }},
      ...options.map(([value, text]) => el('option', {selected: value === state[name]}, text)));
    return values.length > 1 ? select : null;
  };
  const search = el('input', {type: 'search', placeholder: 'Filter: BLOCK_M=128 warp', 'aria-label': 'Filter candidates', value: state.text,
    oninput: () => { state.text = search.value; shown = ROWS_AT_ONCE; fill(); }});
  fill();
  return el('section', {id: 'candidates', class: 'candidates'}, el('h2', {}, 'All candidates'),
    el('p', {}, 'Times of the search: few samples each, a hint. The final phase above decides. A margin below 1 is right. A click on a row shows its whole config.'),
    el('div', {class: 'filters'}, search, pick('kernel', 'every kernel', problem.kernels.map((k) => k.name)), pick('outcome', 'every outcome', problem.outcomes.map((o) => o.outcome)), counter),
    el('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'All candidates'}, el('table', {}, el('thead', {}, el('tr', {}, ...heads)), body)), more);
}
