// overview.js: Compares problems or runs: a table, ratios, latency over length, one roofline.

/// Returns every problem of every run that has a final phase or candidates.
const allEntries = () => data.runs.flatMap((run, r) => run.problems.map((problem, p) => ({run, problem, r, p, key: `${r}/${p}`})));

/// Returns title and cell of each column; one column links to the problem.
function overviewColumns(mixed, word) {
  const time = (e) => e.problem.time, best = (e) => bestOf(e.problem), baseline = (e) => baselinesOf(e.problem, time(e))[0];
  const ratio = (e) => best(e) && baseline(e) ? best(e).ratio : null;
  const bestTime = (e) => us(best(e)[time(e)].us) + (mixed ? ` ${timeWord(e.problem, time(e))}` : '');
  return [
    {title: 'run', cell: (e) => data.runs.length > 1 ? e.run.name : ''},
    {title: 'problem', cell: (e) => problemName(e.problem), links: true},
    {title: mixed ? 'best µs' : `best µs ${word}`, css: 'n', cell: (e) => best(e) ? bestTime(e) : ''},
    {title: 'ratio', css: 'n', cell: (e) => ratio(e) ? times(ratio(e).value) : ''},
    {title: '95 %', css: 'n', cell: (e) => ratio(e) ? `${times(ratio(e).low)} – ${times(ratio(e).high)}` : ''},
    {title: 'verdict', cell: (e) => best(e)?.verdict ?? ''},
    {title: 'SOL score', css: 'n', cell: (e) => e.problem.sol ? times(e.problem.sol.score) : ''},
    {title: 'best of the others', cell: (e) => baseline(e) ? implName(baseline(e).impl) : ''},
    {title: 'µs', css: 'n', cell: (e) => baseline(e) ? us(baseline(e)[time(e)].us) : ''},
    {title: 'kernel', cell: (e) => best(e)?.kernel ?? 'none'},
    {title: 'shape', cell: (e) => e.problem.name ? e.problem.shape : ''}];
}

/// Omits columns without cells.
function overviewTable(entries) {
  const words = [...new Set(entries.map(({problem}) => timeWord(problem, problem.time)))];
  const columns = overviewColumns(words.length > 1, words[0]).filter(({cell}) => entries.some((entry) => cell(entry) !== ''));
  return el('div', {class: 'scroll'}, el('table', {},
    el('thead', {}, el('tr', {}, ...columns.map(({title, css}) => el('th', {class: css ?? null}, title)))),
    el('tbody', {}, ...entries.map((entry) => el('tr', {class: 'link', onclick: () => show(entry.key)},
      ...columns.map(({css, cell, links}) => el('td', {class: css ?? null}, links ? el('a', {href: '#' + entry.key}, cell(entry)) : cell(entry))))))));
}

function drawRatios(rows, plot, width) {
  const several = data.runs.length > 1, narrow = width < 560, rowHeight = 24, top = 22;
  const name = (e) => (several ? e.run.name + ': ' : '') + problemName(e.problem);
  const labels = Math.min(width * 0.4, d3.max(rows, (e) => textWidth(name(e))) + 14);
  const ratio = (e) => bestOf(e.problem).ratio;
  const bottom = top + rows.length * rowHeight;
  const x = d3.scaleLinear([d3.min(rows, (e) => ratio(e).low) * 0.94, Math.max(1.1, d3.max(rows, (e) => ratio(e).high) * 1.03)], [labels, width - 56]);
  const svg = chart(plot, width, bottom + 40, 'ratio to the fastest baseline, problem by problem');
  const ticks = narrow ? [0.5, 0.8, 1] : [0.5, 0.8, 0.95, 1.05];
  xAxis(svg, x, {y: bottom, top, ticks: ticks.filter((t) => t > x.domain()[0]), format: (t) => t.toFixed(2).replace(/0$/, ''), label: 'time over the fastest other’s', from: labels, to: width - 56});
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

function ratiosFigure(entries) {
  const rows = entries.filter((e) => bestOf(e.problem)?.ratio);
  if (rows.length < 2) return null;
  const mean = Math.exp(d3.mean(rows, (e) => Math.log(bestOf(e.problem).ratio.value)));
  return figure({
    id: 'ratios', title: 'Against the fastest other, problem by problem', wide: true,
    note: `Left of the line is faster; whiskers are 95 % intervals. Geometric mean of ${rows.length}: ${times(mean)}.`,
    draw: (plot, width) => drawRatios(rows, plot, width),
    table: () => ({columns: [{title: 'problem'}, {title: 'ratio', number: true}, {title: 'low', number: true}, {title: 'high', number: true}],
      rows: rows.map((e) => { const r = bestOf(e.problem).ratio; return [problemName(e.problem), times(r.value), times(r.low), times(r.high)]; })}),
  });
}

/// Groups problems that differ in length only, or in length and batch at constant tokens.
function lengthPanels(entries) {
  const of = (e) => e.problem.problem, lengths = (list) => new Set(list.map((e) => of(e).seq_kv)).size;
  const base = (e) => { const p = of(e); return [p.dtype, p.mask, p.head_dim, p.heads, p.kv_heads, p.seq_q === p.seq_kv ? '' : p.seq_q, JSON.stringify(p.layout ?? ''), e.problem.time].join('|'); };
  const panels = [];
  for (const same of d3.group(entries.filter((e) => bestOf(e.problem)), base).values()) {
    const by = [(e) => `batch ${of(e).batch}`, (e) => `${count(of(e).batch * of(e).seq_kv)} tokens`].map((key) => [...d3.group(same, key)].filter(([, list]) => lengths(list) > 1));
    for (const [what, list] of by[0].length >= by[1].length ? by[0] : by[1]) {
      const p = of(list[0]), parts = [`head dim ${p.head_dim}`, p.mask === 'causal' ? 'causal' : 'full mask', p.dtype, what];
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

/// Returns the lines of one panel: fatune's, and the baselines with at least two points.
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
  return [...lines].filter(([, points]) => points.length > 1);
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
    id: 'length', title: 'Latency against sequence length', wide: true, note: 'Problems that differ in length alone, or that share a number of tokens, share a panel, with the five others that come nearest; the table has all.',
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

/// Draws all problems on one roofline if one device with known peaks measured them.
function sharedRoofline(entries) {
  const known = entries.filter((e) => bestOf(e.problem) && e.problem.flops && !e.problem.hardware.unknown);
  if (known.length < 2 || new Set(known.map((e) => e.run.device.name + e.problem.hardware.tensor_tflops)).size > 1) return null;
  const points = known.flatMap((e) => {
    const all = rooflinePoints(e.problem), best = all.find((p) => p.final === bestOf(e.problem)), baseline = all.find((p) => isBaseline(p.final));
    return [best, baseline].filter(Boolean);
  });
  const h = known[0].problem.hardware;
  return figure({
    id: 'roofline-all', title: 'All problems under one roof', wide: true, note: 'Coloured: the best kernel of each problem. Grey: the fastest other. ' + originText(h),
    draw: (plot, width) => drawRoofline(points, h, plot, width, false), table: () => rooflineTable(points),
  });
}

function overview(entries) {
  const devices = [...new Set(entries.map((e) => e.run.device.name))].join(', ');
  const rows = entries.filter((e) => bestOf(e.problem)?.ratio), faster = rows.filter((e) => bestOf(e.problem).ratio.high < 1).length;
  const absent = absenceNotices(entries.map((e) => e.problem)), others = absent.length ? 'every other that was measured' : 'every other';
  const compared = rows.length < entries.length ? ' that another has a time for' : '';
  const parts = [ratiosFigure(entries), lengthFigure(entries), sharedRoofline(entries), ...data.runs.filter((run) => run.fleet).map(fleetFigure)].filter(Boolean);
  return el('section', {id: 'overview', class: 'hero'},
    el('p', {class: 'eyebrow'}, `${data.runs.length > 1 ? plural(data.runs.length, 'run') + ', ' : ''}${plural(entries.length, 'problem')} on ${devices}`),
    el('h1', {}, rows.length ? `Faster than ${others} on ${faster} of ${rows.length} problems${compared}` : plural(entries.length, 'problem')),
    ...notices(data.runs), ...absent, overviewTable(entries), ...parts);
}
