// hardware.js: Draws the limits of the device: rooflines and the minimum time of a problem.

/// Returns the best and the baselines; none for a problem without a number of operations.
function rooflinePoints(problem) {
  if (!problem.flops) return [];
  const intensity = problem.flops / problem.least_bytes;
  return barRows(problem, problem.time).map((row) => ({problem, final: row.final, label: row.label, intensity, rate: problem.flops / row.final[problem.time].us * 1e-6}));
}

/// Draws points below the roofs, with labels for those in `labelled`.
function drawRoofline(points, hardware, plot, width, labelled) {
  const left = 50, top = 28, right = width - 8, bottom = Math.min(400, Math.max(280, width * 0.42));
  const ridge = hardware.tensor_tflops / hardware.memory_tbs;
  const intensities = points.map((p) => p.intensity);
  const x = d3.scaleLog([Math.min(d3.min(intensities) / 2.5, ridge / 8), Math.max(d3.max(intensities) * (labelled !== points ? 3 : width < 560 ? 60 : 8), ridge * 5)], [left, right]);
  const lowest = Math.max(d3.min(points, (p) => p.rate), d3.max(points, (p) => p.rate) / 400);
  const y = d3.scaleLog([lowest / 1.6, hardware.tensor_tflops * 1.5], [bottom, top]).clamp(true);
  const svg = chart(plot, width, bottom + 42, 'roofline');
  xAxis(svg, x, {y: bottom, top: bottom, ticks: logTicks(x.domain(), width < 500 ? 3 : 6), format: plain, label: 'operations a byte that must move', from: left, to: right});
  yAxis(svg, y, {x: left, right, ticks: logTicks(y.domain(), 6), format: plain, label: 'TFLOP/s', top});
  const roof = (tbs, dash) => {
    const from = Math.max(x.domain()[0], y.domain()[0] / tbs), knee = hardware.tensor_tflops / tbs;
    if (from < knee) svg.append('path').attr('d', `M${x(from)} ${y(from * tbs)}L${x(knee)} ${y(hardware.tensor_tflops)}`).attr('stroke', 'var(--ink)').attr('stroke-width', 1.5).attr('stroke-dasharray', dash).attr('fill', 'none');
    return {from, knee};
  };
  const cache = roof(hardware.cache_tbs, '5 4'), memory = roof(hardware.memory_tbs, null);
  svg.append('path').attr('d', `M${x(Math.max(cache.knee, x.domain()[0]))} ${y(hardware.tensor_tflops)}H${right}`).attr('stroke', 'var(--ink)').attr('stroke-width', 1.5);
  svg.append('text').attr('class', 'soft halo').attr('x', right).attr('y', y(hardware.tensor_tflops) - 7).attr('text-anchor', 'end').text(`tensor cores ${digits(hardware.tensor_tflops, 4)} TFLOP/s`);
  const along = (tbs, {from, knee}, text, below) => {
    if (from >= knee) return;
    const middle = Math.sqrt(from * knee), angle = Math.atan2(y(knee * tbs) - y(from * tbs), x(knee) - x(from)) * 180 / Math.PI;
    svg.append('text').attr('class', 'soft halo').attr('transform', `translate(${x(middle)} ${y(middle * tbs)}) rotate(${angle})`).attr('dy', below ? 15 : -6).attr('text-anchor', 'middle').text(text);
  };
  // On a phone the roofs are too short for labels.
  if (width < 560) {
    legend(plot, [['var(--ink)', `memory ${digits(hardware.memory_tbs, 2)} TB/s`, 'line'], ['var(--ink)', `L2 cache ${digits(hardware.cache_tbs, 2)} TB/s`, 'line dash']]);
  } else {
    along(hardware.memory_tbs, memory, `memory ${digits(hardware.memory_tbs, 2)} TB/s`, true);
    along(hardware.cache_tbs, cache, `L2 cache ${digits(hardware.cache_tbs, 2)} TB/s`, false);
  }
  const ordered = [...points].sort((a, b) => Number(isBaseline(b.final)) - Number(isBaseline(a.final)));
  for (const p of ordered) {
    svg.append('circle').attr('cx', x(p.intensity)).attr('cy', y(p.rate)).attr('r', isBaseline(p.final) ? 4.5 : 5.5).attr('fill', finalColour(p.final)).attr('stroke', 'var(--paper)').attr('stroke-width', 1.5);
  }
  if (labelled.length) labelStack(svg, labelled, x, y, right, bottom);
  hoverNearest(svg, points.map((p) => ({x: x(p.intensity), y: y(p.rate), p})), width, bottom, ({p}) =>
    [`${p.label}: ${digits(p.rate, 3)} TFLOP/s`, problemTitle(p.problem), `${percent(p.rate / hardware.tensor_tflops)} of the tensor cores’ peak, ${digits(p.intensity, 3)} operations a byte`]);
}

/// Moves overlapping labels of points apart and ties each label to its point.
function labelStack(svg, points, x, y, right, bottom) {
  const sorted = [...points].sort((a, b) => b.rate - a.rate), gap = 17;
  const places = sorted.map((p) => y(p.rate));
  for (let i = 1; i < places.length; ++i) places[i] = Math.max(places[i], places[i - 1] + gap);
  for (let i = places.length - 1, limit = bottom - 8; i >= 0; --i, limit = places[i + 1] - gap) places[i] = Math.min(places[i], limit);
  sorted.forEach((p, i) => {
    const from = x(p.intensity) + 7, to = x(p.intensity) + 30;
    svg.append('path').attr('d', `M${from} ${y(p.rate)}L${to - 4} ${places[i]}`).attr('stroke', 'var(--axis)').attr('fill', 'none');
    svg.append('text').attr('class', isBaseline(p.final) ? 'halo' : 'halo strong').attr('x', to).attr('y', places[i]).attr('dy', '0.33em').text(fitted(`${p.label}  ${digits(p.rate, 3)}`, right - to));
  });
}

const rooflineTable = (points) => ({
  columns: [{title: 'problem'}, {title: 'implementation'}, {title: 'operations a byte', number: true}, {title: 'TFLOP/s', number: true}],
  rows: points.map((p) => [problemName(p.problem), p.label, digits(p.intensity, 3), digits(p.rate, 3)]),
});

const originText = (h) => `Roofs are the highest that the device can do. Tensor cores: ${h.tensor_origin}; memory: ${h.memory_origin}; L2 cache: ${h.cache_origin}. ` +
  'Counts, widths and clocks are those that the driver told; what a multiprocessor does in a clock is from NVIDIA’s data sheets.';

function floorTable(problem) {
  const best = bestOf(problem), h = problem.hardware;
  if (!best) return null;
  const floor = (which) => h.floor[which];
  const row = (which) => best[which] ? el('tr', {}, el('td', {}, timeWord(problem, which)), el('td', {class: 'n'}, us(best[which].us) + ' µs'), el('td', {class: 'n'}, us3(floor(which).time_us) + ' µs'),
    el('td', {class: 'n'}, percent(floor(which).time_us / best[which].us)), el('td', {class: 'n'}, which === problem.sol?.time ? times(problem.sol.score) : ''), el('td', {class: 'roomy'}, floor(which).why)) : null;
  return scrolling(el('thead', {}, el('tr', {}, el('th', {}, 'time'), el('th', {class: 'n'}, 'best'), el('th', {class: 'n'}, 'floor'), el('th', {class: 'n'}, 'reached'), el('th', {class: 'n'}, 'SOL score'), el('th', {class: 'roomy'}, 'the floor is'))),
    el('tbody', {}, ...timesOf(problem).map(row).filter(Boolean)));
}

function hardwareSection(problem) {
  const section = el('section', {id: 'hardware'}, el('h2', {}, 'How far from the hardware'));
  const h = problem.hardware;
  if (h.unknown) {
    section.append(el('p', {}, `No roofline: ${h.unknown}.`));
    return section;
  }
  const points = rooflinePoints(problem);
  section.append(el('p', {}, 'The floor is the least time that any right kernel needs: its arithmetic at the tensor cores’ peak, or its tensors moved once, whichever takes longer. ' +
    'Launches are not counted, so short problems stay far above it; the SOL score is 1 at the floor and 0.5 as fast as the fastest baseline.'));
  const floors = floorTable(problem);
  if (floors) section.append(floors);
  if (points.length) section.append(figure({
    id: 'roofline', title: 'Roofline', wide: true, note: `Rates are those of the time ${timeWord(problem, problem.time)}. ${originText(h)}`,
    draw: (plot, width) => drawRoofline(points, h, plot, width, points), table: () => rooflineTable(points),
  }));
  return section;
}
