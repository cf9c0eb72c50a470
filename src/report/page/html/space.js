// space.js: Draws the whole space: parallel coordinates, and time over each parameter.

const LINES_DRAWN = 300, DOTS_DRAWN = 1200;

/// Returns the kernel's timed candidates by time, and its varying parameters by importance.
function timedSpace(problem, most) {
  const kernel = chosenKernel(problem), order = new Map(kernel.importance?.parameters.map((p, i) => [p.name, i]) ?? []);
  const list = problem.candidates.filter((c) => c.kernel === kernel.name && c.us !== null).sort((a, b) => a.us - b.us);
  const axes = kernel.parameters.map((p, i) => ({...p, i})).filter((p) => new Set(list.map((c) => c.config[p.i])).size > 1)
    .sort((a, b) => (order.get(a.name) ?? 99) - (order.get(b.name) ?? 99)).slice(0, most);
  return {kernel, list, axes};
}
const isSpace = ({list, axes}) => list.length >= 3 && axes.length > 0;
/// Returns an evenly spaced selection of a sorted list.
const thinned = (list, most) => list.length <= most ? list : d3.range(most).map((i) => list[Math.floor(i * list.length / most)]);

function drawParallel(problem, plot, width) {
  const {kernel, list, axes} = timedSpace(problem, width < 560 ? 4 : 9);
  const top = 40, bottom = 300, left = 20, right = width - 56, x = d3.scalePoint([...axes.map((a) => a.name), ''], [left, right]);
  const place = axes.map((a) => d3.scalePoint(a.values.map((_, i) => i), [bottom, top]).padding(0.3));
  const best = list[0].us, y = d3.scaleLog([best, Math.min(list.at(-1).us, best * 3)], [bottom, top]).clamp(true);
  const svg = chart(plot, width, bottom + 24, `configs of ${kernel.name} as lines over their parameters`);
  const jitter = d3.randomUniform.source(d3.randomLcg(0.42))(-5, 5);
  const line = (c) => { const shift = jitter(); return 'M' + [...axes.map((a, i) => c.config[a.i] < 0 ? null : `${x(a.name).toFixed(1)} ${(place[i](c.config[a.i]) + shift).toFixed(1)}`).filter(Boolean), `${right} ${y(c.us).toFixed(1)}`].join('L'); };
  const near = list.filter((c) => c.us <= best * 1.05), others = thinned(list.slice(near.length), LINES_DRAWN);
  svg.append('path').attr('d', others.map(line).join('')).attr('fill', 'none').attr('stroke', 'var(--axis)').attr('stroke-opacity', 0.22);
  svg.append('path').attr('d', thinned(near, LINES_DRAWN).map(line).join('')).attr('fill', 'none').attr('stroke', kernelColour(kernel)).attr('stroke-opacity', 0.7).attr('stroke-width', 1.4);
  svg.append('path').attr('d', line(list[0])).attr('fill', 'none').attr('stroke', 'var(--ink)').attr('stroke-width', 2);
  const room = (right - left) / axes.length;
  axes.forEach((a, i) => {
    svg.append('path').attr('class', 'axisline').attr('d', `M${x(a.name)} ${top - 6}V${bottom + 4}`);
    svg.append('text').attr('class', 'soft').attr('x', Math.max(0, x(a.name) - (i ? 10 : 20))).attr('y', i % 2 ? 12 : 26).text(fitted(a.name, 1.9 * room, 12));
    a.values.forEach((value, j) => svg.append('text').attr('class', 'tick halo').attr('x', x(a.name) + 5).attr('y', place[i](j)).attr('dy', '0.33em').text(fitted(valueText(value), room - 8, 12)));
  });
  yAxis(svg, y, {x: right + 50, right: right + 50, ticks: logTicks(y.domain(), 5), format: plain, top: 0});
  svg.append('path').attr('class', 'axisline').attr('d', `M${right} ${top - 6}V${bottom + 4}`);
  svg.append('text').attr('class', 'soft').attr('x', width).attr('y', 26).attr('text-anchor', 'end').text(`µs ${searchWord(problem)}`);
}

const parallelFigure = (problem) => figure({
  id: 'parallel', title: 'Configs as lines', wide: true,
  note: () => `A line a config, over the parameters that matter most, to its time. Coloured: within 5 % of the best; black or white: the best; grey: ${LINES_DRAWN} of the others at most.`,
  draw: (plot, width) => drawParallel(problem, plot, width),
});

function drawSlices(problem, plot, width) {
  const {kernel, list, axes} = timedSpace(problem, 12);
  const columns = Math.max(1, Math.min(4, Math.floor((width + 24) / (width < 560 ? 180 : 240)))), each = Math.floor((width - 24 * (columns - 1)) / columns);
  const holder = el('div', {class: 'panels', style: `grid-template-columns:repeat(${columns},minmax(0,1fr))`});
  const best = list[0].us, y = d3.scaleLog([best * 0.97, Math.min(list.at(-1).us, best * 3) * 1.03], [130, 8]).clamp(true), dots = thinned(list, DOTS_DRAWN);
  for (const axis of axes) {
    const box = el('div', {}, el('h4', {}, axis.name)), values = d3.range(axis.values.length).filter((i) => list.some((c) => c.config[axis.i] === i));
    const svg = chart(box, each, 156, `time by ${axis.name}`), x = d3.scalePoint(values, [40, each - 8]).padding(0.5);
    const spread = Math.min(14, x.step() * 0.3), jitter = d3.randomUniform.source(d3.randomLcg(0.42))(-spread, spread);
    yAxis(svg, y, {x: 36, right: each, ticks: logTicks(y.domain(), 3), format: plain, top: 0});
    svg.append('path').attr('d', dots.filter((c) => c.config[axis.i] >= 0).map((c) => `M${(x(c.config[axis.i]) + jitter()).toFixed(1)} ${y(c.us).toFixed(1)}h0`).join(''))
      .attr('stroke', kernelColour(kernel)).attr('stroke-opacity', dots.length > 400 ? 0.25 : 0.5).attr('stroke-width', 3).attr('stroke-linecap', 'round').attr('fill', 'none');
    const fastest = values.map((i) => list.find((c) => c.config[axis.i] === i));
    svg.append('path').attr('d', 'M' + fastest.map((c) => `${x(c.config[axis.i])} ${y(c.us)}`).join('L')).attr('stroke', 'var(--ink)').attr('stroke-width', 1.5).attr('fill', 'none');
    fastest.forEach((c) => svg.append('circle').attr('cx', x(c.config[axis.i])).attr('cy', y(c.us)).attr('r', 3.5).attr('fill', 'var(--ink)')
      .datum(c).call((s) => hover(s, () => [`${axis.name}=${valueText(axis.values[c.config[axis.i]])}: ${us(c.us)} µs`, configText(c)])));
    for (const i of values) svg.append('text').attr('class', 'tick').attr('x', x(i)).attr('y', 148).attr('text-anchor', 'middle').text(fitted(valueText(axis.values[i]), x.step() - 3, 12));
    holder.append(box);
  }
  plot.append(holder);
}

const slicesFigure = (problem) => figure({
  id: 'slices', title: 'Time against each parameter', wide: true,
  note: () => `µs ${searchWord(problem)} of the timed configs, the slowest on the upper edge; black or white: the fastest with that value.`,
  draw: (plot, width) => drawSlices(problem, plot, width),
  table: () => {
    const {list, axes} = timedSpace(problem, 99);
    return {columns: [{title: 'parameter'}, {title: 'value'}, {title: 'best µs', number: true}, {title: 'median µs', number: true}, {title: 'timed', number: true}],
      rows: axes.flatMap((axis) => axis.values.map((value, i) => [value, list.filter((c) => c.config[axis.i] === i)]).filter(([, same]) => same.length)
        .map(([value, same]) => [axis.name, valueText(value), us(same[0].us), us(d3.median(same, (c) => c.us)), same.length]))};
  },
});
