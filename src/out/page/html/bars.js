// bars.js - the final phase: contestants as bars, finalists round by round.

const hotOrCold = (problem, key, redraw) => {
  const both = ['hot', 'cold'].filter((which) => problem.finals.some((f) => measured(f, which)));
  return both.length > 1 ? [choice(key, both.map((which) => [which, which]), redraw)] : [];
};

/// The winner, the best finalist of every other kernel, the default config, the baselines; fastest first.
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

/// Bars end where others could not be told apart any more.
function longestBar(rows, which) {
  const all = rows.map((row) => row.final[which].us);
  const fastest = d3.min(rows.filter((row) => isBaseline(row.final)), (row) => row.final[which].us) ?? d3.min(all);
  return Math.min(d3.max(all), 3 * fastest);
}

const partOf = (value) => value < 0.095 ? percent(value, 1) : times(value);

function drawBars(problem, key, plot, width) {
  const which = choices.get(key) ?? problem.finals.map((f) => ['hot', 'cold'].find((w) => measured(f, w))).find(Boolean);
  const rows = barRows(problem, which);
  const narrow = width < 560;
  const rowHeight = narrow ? 44 : 32, bar = 16, top = 4;
  const labels = narrow ? 0 : Math.min(230, d3.max(rows, (row) => textWidth(row.label, 13)) + 16);
  const gain = (final) => !narrow && final.best_over_this && which === choices.get('objective') ? `best takes ${partOf(final.best_over_this)} of it` : '';
  const values = d3.max(rows, ({final}) => textWidth(us(final[which].us) + ' µs', 13) + textWidth(gain(final), 12)) + (narrow ? 14 : 30);
  const longest = longestBar(rows, which);
  const x = d3.scaleLinear([0, longest], [labels, Math.max(labels + 60, width - values)]);
  const height = top + rows.length * rowHeight + 8;
  const svg = chart(plot, width, height, `${which} latency of each implementation`);
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
      .call((s) => hover(s, () => [label, `${us(time.us)} µs ${which}` + (time.low === null ? '' : `, 95 % interval ${us(time.low)} to ${us(time.high)}`),
        final.detail, finalConfig(final), final.external ? 'measured by a program of its own' : '']));
  });
}

function barsFigure(problem, run) {
  const rate = (f) => f.tflops ? digits(f.tflops, 3) : f.gbytes_per_s && digits(f.gbytes_per_s, 3);
  const key = 'bars';
  return figure({
    id: 'bars', title: 'Against the baselines', wide: true,
    note: 'Median over the final phase’s interleaved rounds; whiskers are 95 % intervals. A torn bar goes on beyond the frame.',
    controls: (redraw) => hotOrCold(problem, key, redraw),
    draw: (plot, width) => drawBars(problem, key, plot, width),
    table: () => ({
      columns: [{title: 'implementation'}, {title: 'role'}, ...['hot µs', 'low', 'high', 'cold µs', 'low', 'high', problem.flops ? 'TFLOP/s' : 'GB/s', 'ratio to fastest baseline'].map((title) => ({title, number: true})), {title: 'outcome'}],
      rows: problem.finals.map((f) => [implName(f.impl), f.role, ...['hot', 'cold'].flatMap((w) => f[w] ? [us(f[w].us), f[w].low && us(f[w].low), f[w].high && us(f[w].high)] : ['', '', '']),
        rate(f), f.ratio && times(f.ratio.value), f.outcome + (f.reason ? ': ' + f.reason : '')]),
    }),
  });
}

/// Finalists near the best: beside a far slower one all others would be one line.
function sampleRows(problem, which) {
  const all = problem.finals.filter((f) => !isBaseline(f) && f[which + '_rounds']?.length);
  const limit = 1.6 * d3.min(all, (f) => f[which].us);
  return {near: all.filter((f) => f[which].us <= limit), far: all.filter((f) => f[which].us > limit)};
}

function drawSamples(problem, key, plot, width) {
  const which = choices.get(key) ?? 'hot';
  const rows = sampleRows(problem, which).near;
  const narrow = width < 560, rowHeight = 30, top = 6;
  const label = (f, i) => `${i + 1}  ` + (f.role !== 'default' ? f.kernel : narrow ? 'default config' : `${f.kernel} (default)`);
  const labels = narrow ? 136 : d3.max(rows, (f, i) => textWidth(label(f, i))) + 20;
  const all = rows.flatMap((f) => f[which + '_rounds']).sort(d3.ascending);
  const low = all[0], high = Math.max(d3.quantile(all, 0.995), d3.max(rows, (f) => f[which].us));
  const x = d3.scaleLinear([low, high], [labels + 6, width - 12]).nice(6);
  const bottom = top + rows.length * rowHeight;
  const svg = chart(plot, width, bottom + 42, `${which} time of each round, finalist by finalist`);
  xAxis(svg, x, {y: bottom, top, ticks: x.ticks(narrow ? 4 : 8), format: (t) => plain(t), label: `µs ${which}`, from: labels, to: width});
  const spread = d3.randomUniform.source(d3.randomLcg(0.42))(-8, 8);
  rows.forEach((f, i) => {
    const middle = top + (i + 0.5) * rowHeight, time = f[which], colour = kernelColour(f.kernel);
    svg.append('text').attr('x', 0).attr('y', middle).attr('dy', '0.33em').attr('class', i === 0 && problem.has_best ? 'strong' : null).text(fitted(label(f, i), labels - 6));
    const inside = f[which + '_rounds'].filter((value) => value <= x.domain()[1]);
    svg.append('path').attr('d', inside.map((value) => `M${x(value).toFixed(1)} ${(middle + spread()).toFixed(1)}h0`).join(''))
      .attr('stroke', colour).attr('stroke-opacity', 0.45).attr('stroke-width', 4).attr('stroke-linecap', 'round');
    if (time.low !== null) svg.append('rect').attr('x', x(time.low)).attr('width', Math.max(2, x(time.high) - x(time.low))).attr('y', middle - 11).attr('height', 22).attr('fill', colour).attr('fill-opacity', 0.25);
    svg.append('path').attr('d', `M${x(time.us)} ${middle - 11}v22`).attr('stroke', 'var(--ink)').attr('stroke-width', 2);
    svg.append('rect').attr('x', 0).attr('y', middle - rowHeight / 2).attr('width', width).attr('height', rowHeight).attr('fill', 'transparent').datum(f)
      .call((s) => hover(s, () => [`${f.kernel}: ${us(time.us)} µs`, time.low === null ? '' : `95 % interval ${us(time.low)} to ${us(time.high)}, ${plural(f[which + '_rounds'].length, 'round')}`,
        f.ties_with_best ? 'cannot be told from the best' : '', finalConfig(f)]));
  });
}

function samplesFigure(problem) {
  const key = 'samples';
  return figure({
    id: 'samples', title: 'Finalists, round by round', wide: true,
    note: () => {
      const far = sampleRows(problem, choices.get(key) ?? 'hot').far.length;
      return 'A dot a round, in a fresh process, the finalists in random order. Line: median; band: its 95 % interval.' +
        (far ? ` ${plural(far, 'finalist')} of more than 1.6 times the best’s time: in the table only.` : '');
    },
    controls: (redraw) => hotOrCold({finals: problem.finals.filter((f) => !isBaseline(f))}, key, redraw),
    draw: (plot, width) => drawSamples(problem, key, plot, width),
    table: () => ({
      columns: [{title: '#', number: true}, {title: 'kernel'}, ...['hot µs', 'first quartile', 'third quartile', 'rounds'].map((title) => ({title, number: true})), {title: 'config'}],
      rows: problem.finals.filter((f) => !isBaseline(f)).map((f, i) => [i + 1, f.kernel, f.hot && us(f.hot.us), f.hot && us(f.hot.q1), f.hot && us(f.hot.q3), f.hot && f.hot.samples, finalConfig(f)]),
    }),
  });
}
