// matter.js: Draws parameter importance: shares of the variance, and heat maps of pairs.

function kernelOptions(problem) {
  const tried = d3.rollup(problem.candidates, (list) => list.length, (c) => c.k);
  return problem.kernels.map((kernel, k) => [kernel.name, kernel.name, tried.get(k) ?? 0]).sort((a, b) => b[2] - a[2]);
}
function defaultKernel(problem) {
  const best = bestOf(problem)?.kernel, options = kernelOptions(problem);
  const front = options.find(([name]) => name === best);
  return front ? [front, ...options.filter((o) => o !== front)] : options;
}
const chosenKernel = (problem) => problem.kernels.find((k) => k.name === choices.get('kernel')) ?? problem.kernels[0];
const varying = (kernel) => kernel.parameters.filter((p) => p.values.length > 1);

function importanceRows(kernel) {
  const importance = kernel.importance;
  if (!importance) return [];
  const rows = [...importance.parameters.map((p) => ({name: p.name, share: p.share, pair: false})),
    ...importance.pairs.map((p) => ({name: `${p.first} × ${p.second}`, share: p.share, pair: true}))];
  return rows.filter((row) => row.share >= 0.01).sort((a, b) => b.share - a.share).slice(0, 12);
}

function drawImportance(problem, plot, width) {
  const kernel = chosenKernel(problem), rows = importanceRows(kernel);
  if (!rows.length) {
    plot.append(el('p', {}, kernel.importance ? 'Nothing: the timed configs differ by chance.' : `Too few timed configs of ${kernel.name} to say.`));
    return;
  }
  const rowHeight = 28, labels = Math.min(width * 0.55, d3.max(rows, (r) => textWidth(r.name, 13)) + 14);
  const x = d3.scaleLinear([0, d3.max(rows, (r) => r.share)], [labels, width - 52]);
  const svg = chart(plot, width, rows.length * rowHeight + 4, `what the parameters of ${kernel.name} explain`);
  rows.forEach((row, i) => {
    const y = i * rowHeight;
    svg.append('text').attr('x', labels - 10).attr('y', y + 14).attr('dy', '0.33em').attr('text-anchor', 'end').text(fitted(row.name, labels - 10));
    svg.append('rect').attr('x', labels).attr('y', y + 6).attr('width', Math.max(1, x(row.share) - labels)).attr('height', 16).attr('rx', 2)
      .attr('fill', kernelColour(kernel)).attr('fill-opacity', row.pair ? 0.45 : 1);
    svg.append('text').attr('x', x(row.share) + 8).attr('y', y + 14).attr('dy', '0.33em').text(percent(row.share));
  });
}

function importanceFigure(problem, redrawAll) {
  return figure({
    id: 'importance', title: 'Share of the variance explained',
    note: () => {
      const importance = chosenKernel(problem).importance;
      return importance ? `By functional ANOVA of ${plural(importance.measured, 'timed config')}, on log time. Lighter bars: pairs, beyond what each explains alone.` : '';
    },
    controls: () => problem.kernels.length > 1 ? [dropdown('kernel', 'kernel', defaultKernel(problem), redrawAll)] : [],
    draw: (plot, width) => drawImportance(problem, plot, width),
    table: () => ({columns: [{title: 'explained by'}, {title: 'share', number: true}], rows: importanceRows(chosenKernel(problem)).map((r) => [r.name, percent(r.share, 1)])}),
  });
}

/// Returns the two most important parameters: the strongest pair, else the two strongest singles.
function pairOf(kernel) {
  const names = varying(kernel).map((p) => p.name), importance = kernel.importance;
  const known = (name) => names.includes(name);
  const ranked = importance ? importance.parameters.map((p) => p.name).filter(known) : names;
  const strongest = importance?.pairs.find((p) => known(p.first) && known(p.second) && p.share >= 0.02);
  const fallback = strongest ? [strongest.first, strongest.second] : [ranked[0] ?? names[0], ranked[1] ?? names[1]];
  const across = known(choices.get('across')) ? choices.get('across') : fallback[0];
  let down = known(choices.get('down')) ? choices.get('down') : fallback[1];
  if (down === across) down = [...fallback, ...names].find((name) => name !== across);
  return {across, down, names};
}

function heatCells(problem, kernel, across, down) {
  const a = kernel.parameters.findIndex((p) => p.name === across), d = kernel.parameters.findIndex((p) => p.name === down);
  if (a < 0 || d < 0) return {cells: [], columns: [], rows: []};
  const cells = new Map();
  for (const c of problem.candidates) {
    if (c.kernel !== kernel.name || c.config[a] < 0 || c.config[d] < 0) continue;
    const key = c.config[a] + ',' + c.config[d];
    const cell = cells.get(key) ?? {i: c.config[a], j: c.config[d], best: null, timed: 0, tried: 0};
    ++cell.tried;
    if (c.us !== null) { ++cell.timed; if (cell.best === null || c.us < cell.best) cell.best = c.us; }
    cells.set(key, cell);
  }
  return {cells: [...cells.values()], columns: kernel.parameters[a].values, rows: kernel.parameters[d].values};
}

function drawHeat(problem, plot, width) {
  const kernel = chosenKernel(problem);
  const {across, down} = pairOf(kernel);
  if (!across || !down) { plot.append(el('p', {}, `Fewer than two parameters of ${kernel.name} vary.`)); return; }
  const {cells, columns, rows} = heatCells(problem, kernel, across, down);
  const left = Math.min(130, d3.max(rows, (v) => textWidth(valueText(v), 13)) + 14), top = 24;
  const cellWidth = (width - left) / columns.length, cellHeight = rows.length < 5 ? 48 : 36;
  const svg = chart(plot, width, top + rows.length * cellHeight + 30, `best time by ${across} and ${down}`);
  const best = d3.min(cells, (c) => c.best);
  const strength = d3.scaleLog([best, best * 2.5], [1, 0.06]).clamp(true);
  svg.append('text').attr('class', 'soft').attr('x', 0).attr('y', 12).text(down);
  columns.forEach((value, i) => svg.append('text').attr('class', 'tick').attr('x', left + (i + 0.5) * cellWidth).attr('y', top + rows.length * cellHeight + 16)
    .attr('text-anchor', 'middle').text(fitted(valueText(value), cellWidth - 4, 12)));
  svg.append('text').attr('class', 'soft').attr('x', left + columns.length * cellWidth).attr('y', 12).attr('text-anchor', 'end').text(across);
  rows.forEach((value, j) => svg.append('text').attr('class', 'tick').attr('x', left - 8).attr('y', top + (j + 0.5) * cellHeight).attr('dy', '0.33em').attr('text-anchor', 'end').text(fitted(valueText(value), left - 10, 12)));
  for (const cell of cells) {
    const share = cell.best === null ? 0 : strength(cell.best), g = svg.append('g');
    g.append('rect').attr('x', left + cell.i * cellWidth + 1).attr('y', top + cell.j * cellHeight + 1).attr('width', cellWidth - 2).attr('height', cellHeight - 2).attr('rx', 2)
      .attr('fill', kernelColour(kernel)).attr('fill-opacity', share).attr('stroke', 'var(--line)').datum(cell)
      .call((s) => hover(s, (c) => [`${across}=${columns[c.i]} · ${down}=${rows[c.j]}`, c.best === null ? 'none was timed' : `best ${us(c.best)} µs, ${times(c.best / best)} of the kernel’s best`, `${count(c.timed)} timed of ${count(c.tried)} tried`]));
    const text = cell.best === null ? '–' : us3(cell.best);
    if (textWidth(text, 12) < cellWidth - 4) g.append('text').attr('x', left + (cell.i + 0.5) * cellWidth).attr('y', top + (cell.j + 0.5) * cellHeight).attr('dy', '0.33em').attr('text-anchor', 'middle')
      .attr('pointer-events', 'none').attr('style', `font-size:12px;fill:${inkOn(kernelColour(kernel), share)}`).text(text);
  }
}

function heatFigure(problem, redrawAll) {
  const kernel = chosenKernel(problem), {across, down, names} = pairOf(kernel);
  const options = names.map((name) => [name, name]);
  const front = (name) => [...options.filter((o) => o[0] === name), ...options.filter((o) => o[0] !== name)];
  return figure({
    id: 'heat', title: 'Two parameters at a time',
    note: 'Best µs of all configs with these two values. A stronger colour is faster; an empty field was never tried.',
    controls: () => names.length > 1 ? [dropdown('down', 'down', front(down), redrawAll), dropdown('across', 'across', front(across), redrawAll)] : [],
    draw: (plot, width) => drawHeat(problem, plot, width),
    table: () => {
      const pair = pairOf(chosenKernel(problem)), heat = heatCells(problem, chosenKernel(problem), pair.across, pair.down);
      return {columns: [{title: pair.down}, {title: pair.across}, {title: 'best µs', number: true}, {title: 'timed', number: true}, {title: 'tried', number: true}],
        rows: heat.cells.sort((x, y) => (x.best ?? Infinity) - (y.best ?? Infinity)).map((c) => [heat.rows[c.j], heat.columns[c.i], c.best && us(c.best), c.timed, c.tried])};
    },
  });
}

/// Makes the figures that share the choice of a kernel.
function matterFigures(problem) {
  const holder = el('div', {class: 'grid2'});
  const redraw = () => holder.replaceChildren(importanceFigure(problem, redraw), heatFigure(problem, redraw), ...(isSpace(timedSpace(problem, 1)) ? [parallelFigure(problem), slicesFigure(problem)] : []));
  if (!problem.kernels.some((k) => k.name === choices.get('kernel'))) choices.set('kernel', defaultKernel(problem)[0]?.[0]);
  redraw();
  return holder;
}
