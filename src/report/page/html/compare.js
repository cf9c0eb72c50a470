// compare.js: Compares two configs: times, resources, counters, differing parameters, machine code.

/// Returns the finalists and the selected candidate, by id.
function comparable(problem) {
  const finals = problem.finals.filter((f) => !isBaseline(f) && f.id).map((f, i) => ({...f, params: f.config, ...wavesOf(problem, f), label: `${i + 1}  ${f.kernel}${f.role === 'default' ? ' (default)' : ''}, ${f[problem.time] ? us(f[problem.time].us) + ' µs' : f.outcome}`}));
  const picked = problem.candidates.filter((c) => [choices.get('left'), choices.get('right')].includes(c.id) && !finals.some((f) => f.id === c.id));
  return [...finals, ...picked.map((c) => ({...c, [problem.search_time]: c.us === null ? undefined : {us: c.us}, label: `candidate ${count(c.number)}  ${c.kernel}`}))];
}

function compareRows(problem, run, [a, b]) {
  const value = (of, text) => [a, b].map((x) => { const v = of(x); return v === null || v === undefined ? '' : text(v); });
  const rows = timesOf(problem).map((which) => [timeWord(problem, which) + ' µs', ...value((x) => x[which]?.us, us)]);
  for (const column of [...resourceColumns(run), ...counterColumns(run, true)]) rows.push([column.title, cellText(column, a), cellText(column, b)]);
  if (a.kernel !== b.kernel) rows.push(['kernel', a.kernel, b.kernel]);
  const names = [...new Set([...Object.keys(a.params), ...Object.keys(b.params)])];
  const parameters = names.map((name) => [name, ...[a, b].map((x) => name in x.params ? valueText(x.params[name]) : '')]);
  return {facts: rows.filter((row) => row[1] || row[2]), parameters: parameters.filter((row) => row[1] !== row[2]), same: parameters.filter((row) => row[1] === row[2]).length};
}

/// Shows the bottleneck by counters, and ncu's report if the page lies beside the run.
function profileLines(run, pair) {
  return pair.filter((x) => profileOf(run, x)).map((x) => {
    const {reading, report} = profileOf(run, x), name = `ncu’s report, ${report}`;
    const link = !report ? null : run.folder ? el('a', {href: encodeURI(`${run.folder}/${report}`), download: true}, name) : name + ' in the run’s folder';
    return el('p', {}, el('b', {}, `${x.label.trim()}: `), `${reading.sentence}. `, link);
  });
}

/// Returns commands for data that the page lacks: [description, lines].
function missingLines(problem, run, pair) {
  const best = bestOf(problem), wanted = run.recorded ? [] : pair.filter((x) => !profileOf(run, x)), lines = [];
  const written = (x, name) => `echo '${JSON.stringify({kernel: x.kernel, config: x.params})}' > ${name}.json`;
  for (const x of wanted) {
    lines.push([`Counters of ${x.label.split(',')[0].trim()}`, x.id === best?.id ? `fatune profile --config runs/${run.name}/best.json`
      : `${written(x, 'c')}\nfatune profile --config c.json ${problemOptions(problem)} --out runs/${run.name}`]);
  }
  if (pair.every((x) => codeOf(run, x))) return lines;
  if (!run.code) lines.push(['Machine code of the finalists', `fatune report runs/${run.name} --sass -o report.html`]);
  const census = (name) => `fatune inspect --config ${name}.json ${problemOptions(problem)} --census`;
  lines.push(['Instructions of any two', `${written(pair[0], 'a')}\n${written(pair[1], 'b')}\ndiff <(${census('a')}) <(${census('b')})`]);
  return lines;
}

function compareSection(problem, run) {
  const section = el('section', {id: 'compare'});
  const draw = () => {
    const all = comparable(problem), usual = problem.finals.find((f) => f.role === 'default')?.id;
    if (!all.some((x) => x.id === choices.get('left'))) choices.set('left', all[0]?.id);
    if (!all.some((x) => x.id === choices.get('right'))) choices.set('right', all.some((x) => x.id === usual) && usual !== all[0].id ? usual : all[1]?.id);
    const options = all.map((x) => [x.id, x.label]), pair = ['left', 'right'].map((side) => all.find((x) => x.id === choices.get(side)));
    const {facts, parameters, same} = compareRows(problem, run, pair), lines = missingLines(problem, run, pair);
    const line = (css) => ([name, a, b]) => el('tr', {class: css}, el('td', {}, name), el('td', {class: 'n'}, a), el('td', {class: 'n'}, b));
    section.replaceChildren(el('h2', {}, 'Two configs side by side'), el('p', {}, `They differ in ${plural(parameters.length, 'parameter')} and share ${same}. “Beside the best”, in a row of the tables, brings any candidate here.`),
      el('div', {class: 'controls'}, dropdown('left', 'left', options, draw), dropdown('right', 'right', options, draw)),
      el('div', {class: 'scroll pair', tabindex: '0'}, el('table', {}, el('thead', {}, el('tr', {}, el('th', {}, 'what'), ...pair.map((x) => el('th', {class: 'n'}, foldable(x.kernel))))),
        el('tbody', {}, ...facts.map(line(null)), ...parameters.map(line('differs'))))),
      ...profileLines(run, pair), ...codeSection(run, pair), ...(lines.length ? [el('details', {}, el('summary', {}, 'How to get their hardware counters and machine code'), ...lines.map(([what, text]) => commandLine(text, what)))] : []));
  };
  if (problem.finals.filter((f) => !isBaseline(f) && f.id).length < 2) return null;
  draw();
  compareWith = (id) => { choices.set('left', bestOf(problem)?.id); choices.set('right', id); draw(); section.scrollIntoView(); };
  return section;
}
let compareWith = () => {};
