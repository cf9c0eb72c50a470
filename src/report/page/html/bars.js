// bars.js: Draws the final phase: contestants as bars, finalists round by round.

/// Offers the times that a figure can show, the ranking time first.
function timeChoice(problem, key, redraw) {
  const all = timesOf(problem).filter((which) => key !== 'samples' || problem.finals.some((f) => !isBaseline(f) && roundsOf(f, which).length));
  const offered = choice(key, all.map((which) => [which, timeWord(problem, which)]), redraw);
  return all.length > 1 ? [offered] : [];
}
const chosenTime = (problem, key) => timesOf(problem).includes(choices.get(key)) ? choices.get(key) : problem.time;
const roundsOf = (final, which) => final[which + '_rounds_us'] ?? [];
const meaning = (problem, which) => { const word = timeWord(problem, which); return `${word[0].toUpperCase()}${word.slice(1)}: ${TIME_MEANING[word]}.`; };

/// Returns the winner, other kernels' best finalists, default config and baselines, by time.
function barRows(problem, which) {
  const rows = [], seen = new Set();
  const ours = problem.finals.filter((f) => !isBaseline(f) && measured(f, which));
  for (const final of ours) {
    const key = final.role === 'default' ? 'default' : final.kernel;
    if (seen.has(key)) continue;
    seen.add(key);
    rows.push({final, label: final.kernel + (final.role === 'default' ? ', default config' : '')});
  }
  for (const final of problem.finals) {
    if (isBaseline(final) && measured(final, which)) rows.push({final, label: implName(final.impl)});
  }
  return rows.sort((a, b) => a.final[which].us - b.final[which].us);
}

/// Returns the length at which bars are cut, so that shorter bars still differ visibly.
function longestBar(rows, which) {
  const all = rows.map((row) => row.final[which].us);
  const fastest = d3.min(rows.filter((row) => isBaseline(row.final)), (row) => row.final[which].us) ?? d3.min(all);
  return Math.min(d3.max(all), 3 * fastest);
}

function drawBars(problem, key, plot, width, rows = barRows(problem, chosenTime(problem, key))) {
  const which = chosenTime(problem, key), word = timeWord(problem, which);
  const narrow = width < 560;
  const rowHeight = narrow ? 44 : 32, bar = 16, top = 4;
  const labels = narrow ? 0 : Math.min(280, d3.max(rows, (row) => textWidth(row.label, 13)) * 1.1 + 16);
  const gain = (final) => !narrow && final.best_over_this && which === problem.time ? `ratio ${times(final.best_over_this)}` : '';
  const values = d3.max(rows, ({final}) => textWidth(us(final[which].us) + ' µs', 13) + textWidth(gain(final), 12)) + (narrow ? 14 : 30);
  const longest = longestBar(rows, which);
  const x = d3.scaleLinear([0, longest], [labels, Math.max(labels + 60, width - values)]);
  const height = top + rows.length * rowHeight + 8;
  const svg = chart(plot, width, height, `${word} latency of each implementation`);
  const best = problem.finals[0];
  rows.forEach((row, i) => {
    const {final, label} = row, time = final[which], y = top + i * rowHeight + (narrow ? 20 : (rowHeight - bar) / 2);
    const cut = time.us > longest, end = x(Math.min(time.us, longest));
    const g = svg.append('g');
    g.append('text').attr('class', final === best ? 'strong' : null).attr('x', narrow ? 0 : labels - 12)
      .attr('y', narrow ? y - 6 : y + bar / 2).attr('dy', narrow ? 0 : '0.33em').attr('text-anchor', narrow ? 'start' : 'end')
      .text(fitted(label, narrow ? width : labels - 12));
    g.append('rect').attr('x', x(0)).attr('y', y).attr('width', end - x(0)).attr('height', bar).attr('rx', 2).attr('fill', finalColour(final));
    if (cut) {
      for (const shift of [-12, -7]) g.append('path').attr('d', `M${end + shift - 3} ${y + bar + 2}L${end + shift + 3} ${y - 2}`).attr('stroke', 'var(--paper)').attr('stroke-width', 2);
    } else if (time.low !== null) {
      const middle = y + bar / 2;
      g.append('path').attr('d', `M${x(time.low)} ${middle}H${x(time.high)}M${x(time.low)} ${middle - 4}v8M${x(time.high)} ${middle - 4}v8`).attr('stroke', 'var(--ink)').attr('stroke-width', 1.25);
    }
    const value = g.append('text').attr('x', (cut ? end : Math.max(end, x(time.high ?? time.us))) + 8).attr('y', y + bar / 2).attr('dy', '0.33em');
    value.append('tspan').attr('class', final === best ? 'strong' : null).text(us(time.us) + ' µs');
    if (gain(final)) value.append('tspan').attr('class', 'soft').attr('dx', 10).text(gain(final));
    g.append('rect').attr('x', 0).attr('y', top + i * rowHeight).attr('width', width).attr('height', rowHeight).attr('fill', 'transparent').datum(final)
      .call((s) => hover(s, () => [label, `${us(time.us)} µs ${word}` + (time.low === null ? '' : `, 95 % interval ${us(time.low)} to ${us(time.high)}`),
        final.detail, finalConfig(final)]));
  });
}

function barsFigure(problem) {
  const rate = (f) => f.tflops ? digits(f.tflops, 3) : f.gbytes_per_s && digits(f.gbytes_per_s, 3);
  const key = 'bars', all = timesOf(problem);
  return figure({
    id: 'bars', title: 'Against the baselines', wide: true,
    note: () => `Median over the final phase’s interleaved rounds; whiskers are 95 % intervals; ratio: the best’s time over this one’s. ${meaning(problem, chosenTime(problem, key))}`,
    controls: (redraw) => timeChoice(problem, key, redraw),
    draw: (plot, width) => drawBars(problem, key, plot, width),
    table: () => ({
      columns: [{title: 'implementation'}, {title: 'role'}, ...[...all.flatMap((w) => [timeWord(problem, w) + ' µs', 'low', 'high']), `${problem.flops ? 'TFLOP/s' : 'GB/s'}${problem.finals.some((f) => f.plain) ? ', plain' : ''}`, 'ratio to fastest baseline'].map((title) => ({title, number: true})), {title: 'outcome'}],
      rows: problem.finals.map((f) => [implName(f.impl), f.role, ...all.flatMap((w) => f[w] ? [us(f[w].us), f[w].low && us(f[w].low), f[w].high && us(f[w].high)] : ['', '', '']),
        rate(f), f.ratio && times(f.ratio.value), f.outcome + (f.reason ? ': ' + f.reason : '')]),
    }),
  });
}

const HEADLINE_BASELINES = 5;

/// Draws the best beside its nearest baselines, for the first screen.
function headlineFigure(problem) {
  const best = bestOf(problem), baselines = baselinesOf(problem, problem.time), limit = baselines.length ? 3 * baselines[0][problem.time].us : 0;
  if (!baselines.length) return null;
  const rows = [{final: best, label: best.kernel}, ...baselines.filter((f) => f[problem.time].us <= limit).slice(0, HEADLINE_BASELINES).map((final) => ({final, label: implName(final.impl)}))];
  return figure({id: 'headline', note: `µs ${timeWord(problem, problem.time)}; grey: baselines`, draw: (plot, width) => drawBars(problem, 'headline', plot, width, rows.sort((a, b) => a.final[problem.time].us - b.final[problem.time].us))});
}

/// Draws attention between the products of a layer, for the best and the fastest baseline, on one
/// time scale. The products' boxes have no scale, because their time is subtracted.
function drawLayer(problem, plot, width) {
  const p = problem.problem, rows = [bestOf(problem), baselinesOf(problem, 'in_layer')[0]].filter(Boolean);
  const hidden = p.heads * p.head_dim, narrow = width < 560, box = narrow ? 60 : 150, rowHeight = 62, gap = 14;
  const scale = d3.scaleLinear([0, d3.max(rows, (f) => f.in_layer.us)], [0, width - 2 * box - 2 * gap]);
  const svg = chart(plot, width, rows.length * rowHeight, 'attention between the matrix products of a layer');
  const product = (x, y, text, small) => {
    svg.append('rect').attr('x', x).attr('y', y).attr('width', box).attr('height', 34).attr('rx', 4).attr('fill', 'var(--raised)').attr('stroke', 'var(--axis)').attr('stroke-dasharray', '4 3');
    svg.append('text').attr('x', x + box / 2).attr('y', y + (narrow ? 21 : 14)).attr('text-anchor', 'middle').text(narrow ? 'product' : text);
    if (!narrow) svg.append('text').attr('class', 'soft').attr('x', x + box / 2).attr('y', y + 29).attr('text-anchor', 'middle').text(small);
  };
  const cached = p.seq_q !== p.seq_kv, columns = cached ? hidden : hidden + p.kv_heads * (p.head_dim + (p.value_dim ?? p.head_dim));
  rows.forEach((f, i) => {
    const y = i * rowHeight + 20, length = Math.max(30, scale(f.in_layer.us)), end = box + gap + length;
    svg.append('text').attr('class', i ? 'soft' : 'strong').attr('x', 0).attr('y', y - 6).text(`${implName(f.impl)}: ${us(f.in_layer.us)} µs`);
    product(0, y, cached ? 'q product' : 'q, k, v product', `${count(hidden)} → ${count(columns)}`);
    svg.append('rect').attr('x', box + gap).attr('y', y).attr('width', length).attr('height', 34).attr('rx', 4).attr('fill', finalColour(f));
    svg.append('text').attr('x', box + gap + length / 2).attr('y', y + 21).attr('text-anchor', 'middle').attr('style', `fill:${inkOn(finalColour(f), 1)}`)
      .text([`attention ${us3(f.in_layer.us)} µs`, 'attention', ''].find((text) => textWidth(text) <= length - 6));
    product(end + gap, y, 'out product', `${count(hidden)} → ${count(hidden)}`);
    for (const x of [box, end]) svg.append('path').attr('d', `M${x + 2} ${y + 17}h${gap - 5}m-4 -4l4 4l-4 4`).attr('stroke', 'var(--soft)').attr('fill', 'none');
  });
}

function layerFigure(problem) {
  const {batch, seq_q: tokens} = problem.problem;
  return figure({
    id: 'layer', title: 'In a layer', wide: true,
    note: `What attention adds to a layer of ${count(batch * tokens)} tokens: the layer with it less the layer without, so the products’ own time is taken off. Lengths of attention are to scale.`,
    draw: (plot, width) => drawLayer(problem, plot, width),
    table: () => ({columns: [{title: 'implementation'}, ...['in layer µs', 'low', 'high'].map((title) => ({title, number: true}))],
      rows: problem.finals.filter((f) => measured(f, 'in_layer')).map((f) => [implName(f.impl), us(f.in_layer.us), f.in_layer.low && us(f.in_layer.low), f.in_layer.high && us(f.in_layer.high)])}),
  });
}

/// Returns finalists near the best, because a far slower finalist would flatten the scale.
function sampleRows(problem, key) {
  const which = chosenTime(problem, key), limit = {near: 1.1, wide: 1.6, all: Infinity}[choices.get('near') ?? 'near'];
  const all = problem.finals.filter((f) => !isBaseline(f) && roundsOf(f, which).length), best = d3.min(all, (f) => f[which].us);
  return {which, near: all.filter((f) => f[which].us <= limit * best), far: all.filter((f) => f[which].us > limit * best), limit};
}

function drawSamples(problem, key, plot, width) {
  const {which, near: rows} = sampleRows(problem, key), word = timeWord(problem, which);
  const narrow = width < 560, rowHeight = 30, top = 6;
  const label = (f) => `${problem.finals.indexOf(f) + 1}  ` + (f.role !== 'default' ? f.kernel : narrow ? 'default config' : `${f.kernel} (default)`);
  const labels = Math.min(narrow ? 180 : 400, d3.max(rows, (f) => textWidth(label(f))) * 1.1 + 14);
  const all = rows.flatMap((f) => roundsOf(f, which)).sort(d3.ascending);
  const low = all[0], high = Math.max(d3.quantile(all, 0.98), d3.max(rows, (f) => f[which].us));
  const x = d3.scaleLinear([low, high], [labels + 6, width - 12]).nice(6);
  const bottom = top + rows.length * rowHeight;
  const svg = chart(plot, width, bottom + 42, `${word} time of each round, finalist by finalist`);
  xAxis(svg, x, {y: bottom, top, ticks: x.ticks(narrow ? 4 : 8), format: (t) => plain(t), label: `µs ${word}`, from: labels, to: width});
  const spread = d3.randomUniform.source(d3.randomLcg(0.42))(-8, 8);
  rows.forEach((f, i) => {
    const middle = top + (i + 0.5) * rowHeight, time = f[which], colour = kernelColour(f);
    svg.append('text').attr('x', 0).attr('y', middle).attr('dy', '0.33em').attr('class', f === bestOf(problem) ? 'strong' : null).text(fitted(label(f), labels - 6));
    const inside = roundsOf(f, which).filter((value) => value <= x.domain()[1]);
    svg.append('path').attr('d', inside.map((value) => `M${x(value).toFixed(1)} ${(middle + spread()).toFixed(1)}h0`).join(''))
      .attr('stroke', colour).attr('stroke-opacity', 0.45).attr('stroke-width', 4).attr('stroke-linecap', 'round');
    if (time.low !== null) svg.append('rect').attr('x', x(time.low)).attr('width', Math.max(2, x(time.high) - x(time.low))).attr('y', middle - 11).attr('height', 22).attr('fill', colour).attr('fill-opacity', 0.25);
    svg.append('path').attr('d', `M${x(time.us)} ${middle - 11}v22`).attr('stroke', 'var(--ink)').attr('stroke-width', 2);
    svg.append('rect').attr('x', 0).attr('y', middle - rowHeight / 2).attr('width', width).attr('height', rowHeight).attr('fill', 'transparent').datum(f)
      .call((s) => hover(s, () => [`${f.kernel}: ${us(time.us)} µs`, time.low === null ? '' : `95 % interval ${us(time.low)} to ${us(time.high)}, ${plural(roundsOf(f, which).length, 'round')}`,
        f.ties_with_best ? 'cannot be told from the best' : '', finalConfig(f)]));
  });
}

function samplesFigure(problem) {
  const key = 'samples';
  return figure({
    id: 'samples', title: 'Finalists, round by round', wide: true,
    note: () => {
      const {which, far, limit} = sampleRows(problem, key);
      return `A dot a round, in a fresh process, the finalists in random order; the number is the place. Line: median; band: its 95 % interval. ${meaning(problem, which)}` +
        (problem.finals[0]?.timed_again ? ' Those of the best came after it was chosen.' : '') +
        (far.length ? ` Not drawn: ${far.length} beyond ${limit} times the best.` : '');
    },
    controls: (redraw) => [...timeChoice(problem, key, redraw), choice('near', [['near', 'within 10 %'], ['wide', 'within 60 %'], ['all', 'all']], redraw)],
    draw: (plot, width) => drawSamples(problem, key, plot, width),
    table: () => ({
      columns: [{title: '#', number: true}, {title: 'kernel'}, ...[timeWord(problem, chosenTime(problem, key)) + ' µs', 'first quartile', 'third quartile', 'rounds'].map((title) => ({title, number: true})), {title: 'config'}],
      rows: problem.finals.filter((f) => !isBaseline(f)).map((f, i) => { const t = f[chosenTime(problem, key)]; return [i + 1, f.kernel, t && us(t.us), t && us(t.q1), t && us(t.q3), t && t.samples, finalConfig(f)]; }),
    }),
  });
}
