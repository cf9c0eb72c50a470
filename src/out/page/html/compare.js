// compare.js - two configs side by side: times, resources, the parameters that differ, and how to see their machine code.

/// Finalists and the candidate that the reader picked, by id.
function comparable(problem) {
  const finals = problem.finals.filter((f) => !isBaseline(f) && f.id).map((f, i) => ({...f, params: f.config, waves: wavesOf(problem, f), label: `${i + 1}  ${f.kernel}${f.role === 'default' ? ' (default)' : ''}, ${f[problem.time] ? us(f[problem.time].us) + ' µs' : f.outcome}`}));
  const picked = candidatesOf(problem).filter((c) => c.params && [choices.get('left'), choices.get('right')].includes(c.id) && !finals.some((f) => f.id === c.id));
  return [...finals, ...picked.map((c) => ({...c, [problem.search_time]: c.us === null ? undefined : {us: c.us}, label: `candidate ${count(c.number)}  ${c.kernel}`}))];
}

function compareRows(problem, run, [a, b]) {
  const value = (of, text) => [a, b].map((x) => { const v = of(x); return v === null || v === undefined ? '' : text(v); });
  const rows = timesOf(problem).map((which) => [timeWord(problem, which) + ' µs', ...value((x) => x[which]?.us, us)]);
  for (const column of resourceColumns(run)) rows.push([column.title, ...value(column.value, column.text)]);
  if (a.kernel !== b.kernel) rows.push(['kernel', a.kernel, b.kernel]);
  const names = [...new Set([...Object.keys(a.params), ...Object.keys(b.params)])];
  const parameters = names.map((name) => [name, ...[a, b].map((x) => name in x.params ? valueText(x.params[name]) : '')]);
  return {facts: rows.filter((row) => row[1] || row[2]), parameters: parameters.filter((row) => row[1] !== row[2]), same: parameters.filter((row) => row[1] === row[2]).length};
}

/// The page has no machine code: lines that write it out and compare it.
function codeLines(problem, pair) {
  const file = (x, name) => `echo '${JSON.stringify({kernel: x.kernel, config: x.params})}' > ${name}.json`;
  const census = (name) => `fatune inspect --config ${name}.json ${problemOptions(problem)} --census`;
  return [file(pair[0], 'a'), file(pair[1], 'b'), `diff <(${census('a')}) <(${census('b')})`].join('\n');
}

function compareSection(problem, run) {
  const section = el('section', {id: 'compare'});
  const draw = () => {
    const all = comparable(problem), usual = problem.finals.find((f) => f.role === 'default')?.id;
    if (!all.some((x) => x.id === choices.get('left'))) choices.set('left', all[0]?.id);
    if (!all.some((x) => x.id === choices.get('right'))) choices.set('right', all.some((x) => x.id === usual) && usual !== all[0].id ? usual : all[1]?.id);
    const options = all.map((x) => [x.id, x.label]), pair = ['left', 'right'].map((side) => all.find((x) => x.id === choices.get(side)));
    const {facts, parameters, same} = compareRows(problem, run, pair);
    const line = (css) => ([name, a, b]) => el('tr', {class: css}, el('td', {}, name), el('td', {class: 'n'}, a), el('td', {class: 'n'}, b));
    section.replaceChildren(el('h2', {}, 'Two configs side by side'), el('p', {}, `They differ in ${plural(parameters.length, 'parameter')} and share ${same}. “Beside the best”, in a row of the tables, brings any candidate here.`),
      el('div', {class: 'controls'}, dropdown('left', '', options, draw), dropdown('right', '', options, draw)),
      el('div', {class: 'scroll pair'}, el('table', {}, el('thead', {}, el('tr', {}, el('th', {}, ''), ...pair.map((x) => el('th', {class: 'n'}, x.kernel)))),
        el('tbody', {}, ...facts.map(line(null)), ...parameters.map(line('differs'))))),
      el('p', {}, 'The page holds no machine code. These lines count its instructions, config against config:'), commandLine(codeLines(problem, pair)));
  };
  if (problem.finals.filter((f) => !isBaseline(f) && f.id).length < 2) return null;
  draw();
  compareWith = (id) => { choices.set('left', bestOf(problem)?.id); choices.set('right', id); draw(); section.scrollIntoView(); };
  return section;
}
let compareWith = () => {};
