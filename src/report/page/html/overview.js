// overview.js: Compares problems or runs: a table, ratios, latency over length, one roofline.

/// Returns every problem of every run that has a final phase or candidates.
const allEntries = () => data.runs.flatMap((run, r) => run.problems.map((problem, p) => ({run, problem, r, p, key: `${r}/${p}`})));

const ratioOf = ({problem}) => bestOf(problem)?.ratio ?? null;
const timeOf = ({problem}) => bestOf(problem)?.[problem.time]?.us ?? null;
const wordOf = ({problem}) => timeWord(problem, problem.time);
const geometricMean = (values) => Math.exp(d3.mean(values, Math.log));
/// Returns the word of the ranking time if all entries share it; else nothing.
const sharedWord = (entries) => new Set(entries.map(wordOf)).size === 1 ? ' ' + wordOf(entries[0]) : '';

/// A column of links to the problems of the rows.
const linkColumn = (title, value, text, key) => ({title, value, text, key, number: title !== 'problem'});

function overviewColumns(entries) {
  const shared = sharedWord(entries), baseline = ({problem}) => baselinesOf(problem, problem.time)[0];
  const words = (title, value) => ({title, value, text: String});
  return filledColumns([
    linkColumn('problem', (e) => problemName(e.problem), String, (e) => e.key), columnOf(`best µs${shared}`, timeOf, us), ...(shared ? [] : [words('time', wordOf)]),
    columnOf('ratio', (e) => ratioOf(e)?.value ?? null, times), {...columnOf('95 %', (e) => ratioOf(e)?.low ?? null), cell: (e) => ratioOf(e) ? `${times(ratioOf(e).low)} – ${times(ratioOf(e).high)}` : ''}, words('verdict', (e) => bestOf(e.problem)?.verdict || null),
    columnOf('SOL score', (e) => e.problem.sol?.score ?? null, times), words('fastest baseline', (e) => baseline(e) ? implName(baseline(e).impl) : null),
    columnOf('its µs', (e) => baseline(e)?.[e.problem.time].us ?? null, us), words('kernel', (e) => bestOf(e.problem)?.kernel ?? 'none'), words('shape', (e) => e.problem.name ? e.problem.shape : null),
  ], entries);
}

/// Makes a table of problems that sorts, opens the problem of a row, and saves.
function problemTable(key, columns, rows, state) {
  const table = sortedTable({key, columns, rows: () => [...rows], state: choices.get(key) ?? state, css: () => 'link', chosen: (row) => show(row.key)});
  return el('div', {class: 'problems'}, table.node, el('div', {class: 'under'},
    el('button', {type: 'button', onclick: () => saveCsv(key, {columns, rows: rows.map((row) => columns.map((c) => c.cell?.(row) ?? c.value(row)))})}, 'CSV')));
}
const overviewTable = (entries, key) => problemTable(key, overviewColumns(entries), entries.map((e, i) => ({...e, number: i})), {column: 'ratio', down: true});

/// Returns a row for each problem, with its entry of each run or nothing.
function comparedRows(entries) {
  const rows = [...d3.group(entries, (e) => JSON.stringify(e.problem.problem)).values()];
  return rows.map((same, number) => ({number, key: same[0].key, problem: same[0].problem, of: data.runs.map((run) => same.find((e) => e.run === run) ?? null)}));
}
/// Returns the time of a run's problem over that of the first run; nothing for different kinds of time.
function timeRatio({of: [first, ...later]}, i) {
  const other = later[i - 1];
  return first && other && wordOf(first) === wordOf(other) && timeOf(first) && timeOf(other) ? timeOf(other) / timeOf(first) : null;
}
function comparedColumns(entries) {
  const shared = sharedWord(entries), first = data.runs[0].label, each = data.runs.map((run, i) => ({label: run.label, of: (row) => row.of[i]}));
  const text = (of) => (value, row) => us(value) + (shared ? '' : ' ' + wordOf(of(row)));
  return filledColumns([linkColumn('problem', (row) => problemName(row.problem), String, (row) => row.key), {title: 'shape', value: (row) => row.problem.name ? row.problem.shape : null, text: String},
    ...each.flatMap(({label, of}) => [linkColumn(`${label}, µs${shared}`, (row) => of(row) && timeOf(of(row)), text(of), (row) => of(row).key), columnOf(`${label}, ratio to baseline`, (row) => (of(row) && ratioOf(of(row))?.value) ?? null, times)]),
    ...each.slice(1).map(({label}, i) => columnOf(`time, ${label} / ${first}`, (row) => timeRatio(row, i + 1), times))], comparedRows(entries));
}

/// Says how many problems a run wins, and the mean, best and worst ratio.
function ratioSummary(entries) {
  const rows = entries.filter(ratioOf).sort((a, b) => ratioOf(a).value - ratioOf(b).value);
  if (!rows.length) return {title: plural(entries.length, 'problem'), parts: []};
  const absent = absencesOf(entries.map((e) => e.problem)).size, faster = rows.filter((e) => ratioOf(e).high < 1).length;
  const end = (word, e) => `${word} ${times(ratioOf(e).value)} (${problemName(e.problem)})`;
  return {title: `Faster than every baseline${absent ? ' that was measured' : ''} on ${faster} of ${plural(rows.length, 'problem')}${rows.length < entries.length ? ' that have one' : ''}`,
    parts: [el('span', {}, `${times(geometricMean(rows.map((e) => ratioOf(e).value)))} of the fastest baseline’s time in the geometric mean`), ...(rows.length > 1 ? [el('span', {class: 'range'}, `${end('best', rows[0])}, ${end('worst', rows.at(-1))}`)] : [])]};
}

function drawRatios(rows, plot, width) {
  const narrow = width < 560, rowHeight = 24, top = 22, name = (e) => problemName(e.problem);
  const labels = Math.min(width * 0.4, d3.max(rows, (e) => textWidth(name(e))) + 14);
  const ratio = ratioOf;
  const bottom = top + rows.length * rowHeight;
  const x = d3.scaleLinear([d3.min(rows, (e) => ratio(e).low) * 0.94, Math.max(1.1, d3.max(rows, (e) => ratio(e).high) * 1.03)], [labels, width - 56]);
  const svg = chart(plot, width, bottom + 40, 'ratio to the fastest baseline, problem by problem');
  const ticks = narrow ? [0.5, 0.8, 1] : [0.5, 0.8, 0.95, 1.05];
  xAxis(svg, x, {y: bottom, top, ticks: ticks.filter((t) => t > x.domain()[0]), format: (t) => t.toFixed(2).replace(/0$/, ''), label: 'time over the fastest baseline’s', from: labels, to: width - 56});
  svg.append('path').attr('d', `M${x(1)} ${top - 4}V${bottom}`).attr('stroke', 'var(--ink)');
  svg.append('text').attr('class', 'soft').attr('x', x(1)).attr('y', 12).attr('text-anchor', 'middle').text('as fast');
  rows.forEach((e, i) => {
    const r = ratio(e), y = top + (i + 0.5) * rowHeight, colour = kernelColour(bestOf(e.problem));
    svg.append('text').attr('x', labels - 10).attr('y', y).attr('dy', '0.33em').attr('text-anchor', 'end').text(fitted(name(e), labels - 10));
    svg.append('path').attr('d', `M${x(r.low)} ${y}H${x(r.high)}M${x(r.low)} ${y - 4}v8M${x(r.high)} ${y - 4}v8`).attr('stroke', colour).attr('stroke-width', 1.5);
    svg.append('circle').attr('cx', x(r.value)).attr('cy', y).attr('r', 4.5).attr('fill', colour).attr('stroke', 'var(--paper)');
    svg.append('text').attr('x', width - 48).attr('y', y).attr('dy', '0.33em').text(times(r.value));
    svg.append('rect').attr('x', 0).attr('y', y - rowHeight / 2).attr('width', width).attr('height', rowHeight).attr('fill', 'transparent').style('cursor', 'pointer').datum(e)
      .on('click', () => show(e.key)).call((s) => hover(s, () => [problemTitle(e.problem), `${times(r.value)} of ${implName(baselinesOf(e.problem, e.problem.time)[0].impl)}, 95 % ${times(r.low)} to ${times(r.high)}`, bestOf(e.problem).kernel]));
  });
}

/// Explains the colours of the kernels that won.
function kernelLegend(plot, entries) {
  const winners = new Map(entries.map((e) => bestOf(e.problem)).filter(Boolean).map((best) => [best.kernel, kernelColour(best)]));
  legend(plot, [...winners].map(([name, colour]) => [colour, name]));
}

function ratiosFigure(entries) {
  const rows = entries.filter(ratioOf);
  if (rows.length < 2) return null;
  return figure({
    id: `ratios-${entries[0].r}`, title: 'Against the fastest baseline, problem by problem', wide: true, note: 'Left of the line is faster; whiskers are 95 % intervals. A colour is a kernel.',
    draw: (plot, width) => { drawRatios(rows, plot, width); kernelLegend(plot, rows); },
    table: () => ({columns: [{title: 'problem'}, {title: 'ratio', number: true}, {title: 'low', number: true}, {title: 'high', number: true}],
      rows: rows.map((e) => { const r = ratioOf(e); return [problemName(e.problem), times(r.value), times(r.low), times(r.high)]; })}),
  });
}

const FEWEST_LENGTHS = 3;  // two points make no curve
/// Groups problems of one model that differ in length only, or in length and batch at constant tokens.
function lengthPanels(entries) {
  const of = (e) => e.problem.problem, lengths = (list) => new Set(list.map((e) => of(e).seq_kv)).size;
  const base = (e) => { const p = of(e); return [e.problem.name.split(/[-_]/)[0], p.dtype, p.mask, p.head_dim, p.value_dim, p.heads, p.kv_heads, p.seq_q === p.seq_kv ? '' : p.seq_q, JSON.stringify(p.layout ?? ''), e.problem.time].join('|'); };
  const panels = [];
  for (const same of d3.group(entries.filter((e) => bestOf(e.problem)), base).values()) {
    const by = [(e) => `batch ${of(e).batch}`, (e) => `${count(of(e).batch * of(e).seq_kv)} tokens`].map((key) => [...d3.group(same, key)].filter(([, list]) => lengths(list) >= FEWEST_LENGTHS));
    for (const [what, list] of by[0].length >= by[1].length ? by[0] : by[1]) {
      const p = of(list[0]), parts = [`head dim ${p.head_dim}${p.value_dim ? ` (v ${p.value_dim})` : ''}`, p.mask === 'none' ? 'full mask' : p.mask, p.dtype, what];
      if (p.heads !== p.kv_heads) parts.push('grouped heads');
      if (p.seq_q !== p.seq_kv) parts.push(p.seq_q === 1 ? 'one query' : `${p.seq_q} queries`);
      if (p.layout) parts.push(typeof p.layout === 'string' ? p.layout : 'strides');
      panels.push({list: [...list].sort((a, b) => of(a).seq_kv - of(b).seq_kv), title: parts.join(', ')});
    }
  }
  return panels;
}

const LENGTH_VALUES = {
  latency: {text: 'latency', unit: 'µs', of: (e, us) => us, log: true},
  rate: {text: 'TFLOP/s', unit: 'TFLOP/s', of: (e, us) => e.problem.flops / us * 1e-6, log: false},
};

const RIVALS_DRAWN = 5;

/// Returns the baselines nearest to the best, by geometric mean over shared problems.
function nearestBaselines(entries) {
  const ratios = new Map();
  for (const {problem} of entries) {
    const objective = problem.time, best = bestOf(problem);
    for (const baseline of best ? baselinesOf(problem, objective) : []) {
      if (!ratios.has(baseline.impl)) ratios.set(baseline.impl, []);
      ratios.get(baseline.impl).push(Math.log(baseline[objective].us / best[objective].us));
    }
  }
  const most = d3.max(ratios.values(), (list) => list.length);
  return [...ratios].filter(([, list]) => list.length * 2 >= most).sort((a, b) => d3.mean(a[1]) - d3.mean(b[1])).slice(0, RIVALS_DRAWN).map(([impl]) => impl);
}

/// Returns the lines of one panel: fatune's, and the baselines with enough points.
function lengthLines(list, value, baselines) {
  const lines = new Map();
  for (const e of list) {
    const objective = e.problem.time;
    const best = bestOf(e.problem);
    for (const final of [best, ...baselinesOf(e.problem, objective).filter((f) => baselines.includes(f.impl))]) {
      const name = final === best ? 'fatune' : final.impl;
      if (!lines.has(name)) lines.set(name, []);
      lines.get(name).push({e, final, name, length: e.problem.problem.seq_kv, value: value.of(e, final[objective].us)});
    }
  }
  return [...lines].filter(([, points]) => points.length >= FEWEST_LENGTHS);
}

const lineColour = (name, baselines) => name === 'fatune' ? 'var(--accent)' : `var(--k${1 + baselines.indexOf(name)})`;

function drawLengthPanel(panel, value, baselines, holder, width) {
  const left = 50, top = 26, right = width - 12, bottom = 190;
  const lines = lengthLines(panel.list, value, baselines), colour = (name) => lineColour(name, baselines), points = lines.flatMap(([, list]) => list);
  const lengths = [...new Set(points.map((p) => p.length))].sort(d3.ascending);
  const x = d3.scaleLog(d3.extent(lengths), [left + 10, right - 6]);
  const extent = d3.extent(points, (p) => p.value);
  const y = value.log ? d3.scaleLog([extent[0] / 1.2, extent[1] * 1.2], [bottom, top]) : d3.scaleLinear([0, extent[1] * 1.05], [bottom, top]);
  const svg = chart(holder, width, bottom + 40, `${value.text} over length: ${panel.title}`);
  const room = Math.max(1, Math.ceil(lengths.length * 44 / (right - left)));
  xAxis(svg, x, {y: bottom, top: bottom, ticks: lengths.filter((_, i) => i % room === 0), format: count, label: 'keys', from: left, to: right});
  yAxis(svg, y, {x: left, right, ticks: value.log ? logTicks(y.domain(), 5) : y.ticks(5), format: plain, label: value.unit, top});
  for (const [name, list] of [...lines].reverse()) {
    svg.append('path').attr('d', d3.line((p) => x(p.length), (p) => y(p.value))(list)).attr('fill', 'none').attr('stroke', colour(name)).attr('stroke-width', name === 'fatune' ? 2.5 : 1.5)
      .attr('stroke-dasharray', name === 'fatune' ? null : ['6 3', '2 3', '8 3 2 3', '4 4', '1 4'][baselines.indexOf(name)]);
    for (const p of list) svg.append('circle').attr('cx', x(p.length)).attr('cy', y(p.value)).attr('r', name === 'fatune' ? 3.5 : 2.5).attr('fill', colour(name));
  }
  hoverNearest(svg, points.map((p) => ({x: x(p.length), y: y(p.value), p})), width, bottom, ({p}) =>
    [`${p.name === 'fatune' ? p.final.kernel : implName(p.name)}: ${us(p.final[p.e.problem.time].us)} µs`, problemTitle(p.e.problem), `${digits(p.e.problem.flops / p.final[p.e.problem.time].us * 1e-6, 3)} TFLOP/s`]);
}

function lengthFigure(entries) {
  const panels = lengthPanels(entries);
  if (!panels.length) return null;
  const baselines = nearestBaselines(panels.flatMap(({list}) => list)), key = 'length';
  return figure({
    id: `length-${entries[0].r}`, title: 'Latency against sequence length', wide: true, note: 'Problems that differ in length alone, or that share a number of tokens, share a panel, with the five baselines that come nearest; the table has all.',
    controls: (redraw) => [choice(key, Object.entries(LENGTH_VALUES).map(([name, v]) => [name, v.text]), redraw)],
    draw: (plot, width) => {
      const value = LENGTH_VALUES[choices.get(key)], columns = Math.max(1, Math.min(3, panels.length, Math.floor((width + 32) / 332)));
      const each = Math.floor((width - 32 * (columns - 1)) / columns), holder = el('div', {class: 'panels', style: `grid-template-columns:repeat(${columns},minmax(0,1fr))`});
      for (const panel of panels) {
        const box = el('div', {}, el('h4', {}, panel.title));
        drawLengthPanel(panel, value, baselines, box, each);
        holder.append(box);
      }
      plot.append(holder);
      const names = new Set(panels.flatMap(({list}) => lengthLines(list, value, baselines).map(([name]) => name)));
      legend(plot, [...names].map((name) => [lineColour(name, baselines), name === 'fatune' ? 'fatune, best' : implName(name), 'line']));
    },
    table: () => ({columns: [{title: 'problem'}, {title: 'keys', number: true}, {title: 'implementation'}, {title: 'µs', number: true}],
      rows: panels.flatMap(({list}) => list.flatMap((e) => [bestOf(e.problem), ...baselinesOf(e.problem, e.problem.time)].map((f) => [problemName(e.problem), e.problem.problem.seq_kv, implName(f.impl), us(f[e.problem.time].us)])))}),
  });
}

const MOST_LABELS = 14;  // more do not fit the height
/// Draws the problems of a run on one roofline if its device has known peaks.
function sharedRoofline(entries) {
  const known = entries.filter((e) => bestOf(e.problem) && e.problem.flops && !e.problem.hardware.unknown);
  if (known.length < 2 || new Set(known.map((e) => e.problem.hardware.tensor_tflops)).size > 1) return null;
  const points = known.flatMap((e) => {
    const all = rooflinePoints(e.problem), best = all.find((p) => p.final === bestOf(e.problem)), baseline = all.find((p) => isBaseline(p.final));
    return [best, baseline].filter(Boolean);
  });
  const h = known[0].problem.hardware, named = known.length > MOST_LABELS ? [] : points.filter((p) => !isBaseline(p.final)).map((p) => ({...p, label: problemName(p.problem)}));
  return figure({
    id: `roofline-all-${entries[0].r}`, title: 'All problems under one roof', wide: true, note: `Coloured: the best kernel of each problem. Grey: the fastest baseline. Rates are those of the time${sharedWord(known) || ' that ranks'}. ${originText(h)}`,
    draw: (plot, width) => { drawRoofline(points, h, plot, width, width < 560 ? [] : named); kernelLegend(plot, known); }, table: () => rooflineTable(points),
  });
}

const overviewFigures = (entries, run) => [ratiosFigure(entries), lengthFigure(entries), sharedRoofline(entries), run.fleet ? fleetFigure(run) : null].filter(Boolean);
/// Names the GPU, and the number of devices and the time of a run on several.
const deviceText = (run) => (run.fleet ? `${plural(run.fleet.workers.length, 'device')}, ${seconds(run.fleet.seconds)}: ` : '') + run.device.name;

/// Shows the problems of one run: what it reached, a table, and charts.
function runOverview(entries, run) {
  const {title, parts} = ratioSummary(entries), figures = overviewFigures(entries, run), absent = absenceNotices(entries.map((e) => e.problem));
  const several = data.runs.length > 1, body = [el('div', {class: 'verdict'}, ...parts), ...(several ? [] : notices(data.runs)), ...absent, overviewTable(entries, `problems-${entries[0].r}`)];
  const charts = figures.length ? [el(several ? 'h3' : 'h2', {class: 'charts'}, 'Problem by problem'), ...figures] : [];
  if (several) return el('section', {id: `run-${entries[0].r}`}, el('h2', {}, run.label), el('p', {}, `${title}, on ${deviceText(run)}.`), ...body, ...charts);
  return el('section', {id: 'overview', class: 'hero'}, el('p', {class: 'eyebrow'}, `${plural(entries.length, 'problem')} on ${deviceText(run)}`), el('h1', {}, title), ...body, ...charts);
}

/// Compares runs: a row a problem, a column a run.
function comparison(entries) {
  const rows = comparedRows(entries), columns = comparedColumns(entries), first = data.runs[0].label;
  const lines = data.runs.slice(1).map((run, i) => {
    const shared = rows.map((row) => timeRatio(row, i + 1)).filter((ratio) => ratio !== null);
    return shared.length ? `${run.label} takes ${times(geometricMean(shared))} of the time of ${first}` + (shared.length > 1 ? `, in the geometric mean of ${plural(shared.length, 'problem')}` : '') : `${run.label} shares no timed problem with ${first}`;
  });
  const means = data.runs.map((run) => { const {title, parts} = ratioSummary(entries.filter((e) => e.run === run)); return el('li', {}, el('b', {}, run.label), ` on ${deviceText(run)}. ${title}`, ...parts.flatMap((part) => ['; ', part]), '.'); });
  return el('section', {id: 'overview', class: 'hero'}, el('p', {class: 'eyebrow'}, `${plural(data.runs.length, 'run')}, ${plural(rows.length, 'problem')}`), el('h1', {}, lines[0]), ...lines.slice(1).map((line) => el('p', {class: 'verdict'}, line)),
    el('ul', {class: 'means'}, ...means), ...notices(data.runs), problemTable('compared', columns, rows, {column: columns.at(-1).title, down: true}));
}

function overview(entries) {
  const runs = data.runs.map((run) => entries.filter((e) => e.run === run)).filter((list) => list.length);
  return [...(data.runs.length > 1 ? [comparison(entries)] : []), ...runs.filter((list) => list.length > 1).map((list) => runOverview(list, list[0].run))];
}
