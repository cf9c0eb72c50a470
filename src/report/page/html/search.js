// search.js: Draws the course of the search: best so far, and outcomes of the candidates.

/// Returns the step line of the best so far, and its points.
function bestSoFar(list) {
  const steps = [];
  for (const c of list) if (c.us !== null && (!steps.length || c.us < steps.at(-1).us)) steps.push(c);
  return steps;
}

function drawConvergence(problem, over, plot, width) {
  const list = problem.candidates, timed = list.filter((c) => c.us !== null);
  if (!timed.length) { plot.append(el('p', {}, 'No candidate was timed.')); return; }
  const steps = bestSoFar(list), best = steps.at(-1).us;
  const left = 46, top = 26, right = width - 10, bottom = 270;
  const at = over === 'seconds' ? (c) => c.at : (c) => c.number;
  const worst = Math.min(d3.max(timed, (c) => c.us), Math.max(best * 6, d3.quantileSorted(timed.map((c) => c.us).sort(d3.ascending), 0.5) * 1.5));
  const end = over === 'seconds' ? d3.max(list, at) : list.length;
  const x = d3.scaleLinear([0, end], [left, right]);
  const y = d3.scaleLog([best * 0.93, worst * 1.05], [bottom, top]).clamp(true);
  const svg = chart(plot, width, bottom + 42, `best so far over ${over}`);
  xAxis(svg, x, {y: bottom, top: bottom, ticks: x.ticks(width < 400 ? 4 : 6), format: plain, label: over === 'seconds' ? 'seconds' : 'candidates tried', from: left, to: right});
  yAxis(svg, y, {x: left, right, ticks: logTicks(y.domain(), 7), format: plain, label: `µs ${searchWord(problem)}`, top});
  const thick = timed.length > 1500 ? 2.4 : timed.length > 400 ? 3.2 : 4.4, faint = timed.length > 1500 ? 0.4 : 0.55;
  for (const [k, group] of d3.group(timed, (c) => c.k)) {
    svg.append('path').attr('d', group.map((c) => `M${x(at(c)).toFixed(1)} ${y(c.us).toFixed(1)}h0`).join(''))
      .attr('stroke', kernelColour(problem.kernels[k])).attr('stroke-opacity', faint).attr('stroke-width', thick).attr('stroke-linecap', 'round').attr('fill', 'none');
  }
  const line = d3.line().curve(d3.curveStepAfter).x((p) => p[0]).y((p) => p[1]);
  const points = steps.map((c) => [x(at(c)), y(c.us)]);
  svg.append('path').attr('d', line([...points, [x(end), y(best)]])).attr('stroke', 'var(--ink)').attr('stroke-width', 1.75).attr('fill', 'none');
  for (const c of timed.filter((each) => each.warm)) {
    svg.append('circle').attr('cx', x(at(c))).attr('cy', y(c.us)).attr('r', 5).attr('fill', 'none').attr('stroke', 'var(--ink)').attr('stroke-width', 1.25);
  }
  const objective = problem.search_time, baseline = baselinesOf(problem, objective)[0];
  // A chained time is not comparable with launches of another kind.
  if (baseline && timeWord(problem, objective) !== 'chained' && baseline[objective].us < y.domain()[1] && baseline[objective].us > y.domain()[0]) {
    const level = y(baseline[objective].us);
    svg.append('path').attr('d', `M${left} ${level}H${right}`).attr('stroke', 'var(--soft)').attr('stroke-dasharray', '5 4');
    svg.append('text').attr('class', 'soft halo').attr('x', right).attr('y', level - 6).attr('text-anchor', 'end').text(`${implName(baseline.impl)} ${us3(baseline[objective].us)} µs`);
  }
  hoverNearest(svg, timed.map((c) => ({x: x(at(c)), y: y(c.us), c})), width, bottom, ({c}) =>
    [`${us(c.us)} µs · ${c.kernel}`, `candidate ${count(c.number)}, after ${seconds(Math.max(c.at, 0))}`, c.warm ? `warm start, from ${c.warm}` : '', configText(c)]);
}

function convergenceFigure(problem, over) {
  const list = problem.candidates, steps = bestSoFar(list);
  const near = steps.find((c) => c.us <= steps.at(-1).us * 1.05);
  const note = () => !near ? '' : over === 'seconds'
    ? `Within 5 % of its best after ${seconds(Math.max(near.at, 0))}.`
    : `Within 5 % of its best after ${plural(near.number, 'candidate')} of ${count(list.length)}.`;
  return figure({
    id: `convergence-${over}`, title: over === 'seconds' ? 'Over seconds' : 'Over evaluations', note,
    draw: (plot, width) => drawConvergence(problem, over, plot, width),
    table: () => ({
      columns: [{title: 'candidate', number: true}, {title: 'after s', number: true}, {title: 'best so far µs', number: true}, {title: 'kernel'}, {title: 'config'}],
      rows: steps.map((c) => [count(c.number), digits(Math.max(c.at, 0.001), 3), us(c.us), c.kernel, configText(c)]),
    }),
  });
}

const OUTCOME_COLOUR = {
  measured: 'var(--accent)', pruned: 'var(--other)', duplicate: 'var(--k2)', infeasible: 'var(--k5)', compile_error: 'var(--k1)',
  launch_error: 'var(--k4)', wrong_result: 'var(--bad)', timeout: 'var(--warn)', crashed: 'var(--bad)', unavailable: 'var(--other)',
};
const OUTCOME_MEANING = {
  infeasible: 'ruled out by a rule of the manifest or the device', compile_error: 'did not compile', duplicate: 'same machine code as another', launch_error: 'did not launch',
  wrong_result: 'refused by a gate of correctness', timeout: 'did not end in time', crashed: 'took the device worker with it', pruned: 'given up early: hopeless or clearly slower',
  measured: 'timed, and right by every gate', unavailable: 'not on this machine',
};
const outcomeText = (outcome) => outcome.replace('_', ' ');

function drawOutcomes(problem, plot, width) {
  const total = d3.sum(problem.outcomes, (o) => o.count);
  const svg = chart(plot, width, 26, 'outcomes of the candidates');
  const sorted = [...problem.outcomes].sort((a, b) => b.count - a.count);
  const x = d3.scaleLinear([0, total], [0, width]);
  let from = 0;
  for (const outcome of sorted) {
    svg.append('rect').attr('x', x(from)).attr('width', Math.max(1.5, x(outcome.count) - 1)).attr('height', 22).attr('rx', 2)
      .attr('fill', OUTCOME_COLOUR[outcome.outcome]).datum(outcome)
      .call((s) => hover(s, (o) => [`${outcomeText(o.outcome)}: ${count(o.count)}`, OUTCOME_MEANING[o.outcome]]));
    from += outcome.count;
  }
  const rows = sorted.flatMap((o) => [
    el('tr', {}, el('td', {}, el('i', {class: 'swatch', style: `background:${OUTCOME_COLOUR[o.outcome]}`}), outcomeText(o.outcome)),
      el('td', {class: 'n'}, count(o.count)), el('td', {class: 'n'}, percent(o.count / total, 1)), el('td', {}, OUTCOME_MEANING[o.outcome] ?? '')),
    ...o.reasons.map((r) => el('tr', {class: 'reason'}, el('td', {}), el('td', {class: 'n'}, count(r.count)), el('td', {}), el('td', {}, (r.count > 1 ? 'such as: ' : '') + r.example)))]);
  plot.append(el('div', {class: 'scroll outcomes', tabindex: '0'}, el('table', {},
    el('thead', {}, el('tr', {}, el('th', {}, 'outcome'), el('th', {class: 'n'}, 'candidates'), el('th', {class: 'n'}, 'share'), el('th', {}, 'what it means, and why'))),
    el('tbody', {}, ...rows))));
}

function outcomesFigure(problem) {
  const total = d3.sum(problem.outcomes, (o) => o.count);
  return figure({
    id: 'outcomes', title: `What became of ${plural(total, 'candidate')}`, wide: true,
    draw: (plot, width) => drawOutcomes(problem, plot, width),
  });
}
