// timeline.js: Draws the work of each GPU, compile process and device over time.

const STEPS = [['compile', 'compiling', 'var(--other)'], ['verify', 'verifying', 'var(--k2)'], ['timing', 'timing', 'var(--accent)'], ['final', 'final phase', 'var(--ink)']];

/// A recording has no times: its candidates took no time.
const timesAreKnown = (problem) => problem.candidates.some((c) => c.spent.timing_s > 0);

/// Returns the end of a problem: its final phase's, else the next problem's start or the run's end.
function endOf(problem, run) {
  if (problem.ended_s) return problem.ended_s - problem.begun_s;
  const later = run.problems.map((p) => p.begun_s).filter((s) => s > problem.begun_s);
  return Math.max(0, (later.length ? d3.min(later) : run.seconds) - problem.begun_s);
}

/// Returns rows of bars, in seconds since the problem began: [{name, bars: [{step, from, to}]},
/// ...]. The run's GPU comes first, then the other GPUs, then compilers if the journal names them.
function lanesOf(problem, run) {
  const gpu = {name: 'GPU', bars: []}, helpers = new Map(), compilers = [];
  for (const {at, device, spent} of problem.candidates) {
    const timing = at - spent.timing_s, compiled = at - (spent.ready_s ?? 0);
    if (device && !helpers.has(device)) helpers.set(device, {name: device, bars: []});
    const {bars} = device ? helpers.get(device) : gpu;
    if (spent.verify_s > 0) bars.push({step: 'verify', from: timing - spent.verify_s, to: timing});
    if (spent.timing_s > 0) bars.push({step: 'timing', from: timing, to: at});
    if (spent.compiler === undefined) continue;
    (compilers[spent.compiler] ??= {name: `compiler ${spent.compiler + 1}`, bars: []}).bars.push({step: 'compile', from: compiled - spent.compile_s, to: compiled});
  }
  const searched = d3.max(problem.candidates, (c) => c.at) ?? 0, end = endOf(problem, run);
  if (problem.finals.length && end > searched) gpu.bars.push({step: 'final', from: searched, to: end});
  return {lanes: [gpu, ...helpers.values(), ...compilers.filter(Boolean)], end: Math.max(end, searched)};
}

const busyIn = (lane, step) => d3.sum(lane.bars, (bar) => !step || bar.step === step ? bar.to - bar.from : 0);

function drawTimeline(problem, run, plot, width) {
  const {lanes, end} = lanesOf(problem, run), top = 6, step = lanes.length > 9 ? 14 : 24, height = step - 4;
  const label = (lane) => `${width < 560 ? lane.name.replace('compiler', 'c.') : lane.name} ${percent(busyIn(lane) / end)}`;
  const left = d3.max(lanes, (lane) => textWidth(label(lane))) + 14, bottom = top + lanes.length * step;
  const x = d3.scaleLinear([0, end], [left, width - 12]);
  const svg = chart(plot, width, bottom + 42, 'what each GPU and compile process did');
  xAxis(svg, x, {y: bottom, top, ticks: x.ticks(width < 400 ? 4 : 8), format: plain, label: 'seconds', from: left, to: width});
  lanes.forEach((lane, i) => {
    const y = top + i * step, middle = y + height / 2;
    svg.append('text').attr('x', 0).attr('y', middle).attr('dy', '0.33em').attr('class', lane.name.startsWith('compiler') ? 'soft' : 'strong').text(label(lane));
    for (const [name, , colour] of STEPS) {
      const bars = lane.bars.filter((bar) => bar.step === name);
      if (!bars.length) continue;
      // Compilation may have begun before the problem: the bar starts with the problem.
      svg.append('path').attr('d', bars.map(({from, to}) => `M${x(Math.max(0, from)).toFixed(1)} ${middle}H${x(Math.max(0, to)).toFixed(1)}`).join('')).attr('stroke', colour).attr('stroke-width', height).attr('fill', 'none');
    }
    svg.append('rect').attr('x', 0).attr('y', y).attr('width', width).attr('height', step).attr('fill', 'transparent').datum(lane)
      .call((s) => hover(s, () => [`${lane.name}: ${percent(busyIn(lane) / end)} of ${seconds(end)}`,
        ...STEPS.filter(([name]) => busyIn(lane, name) > 0).map(([name, what]) => `${what} ${seconds(busyIn(lane, name))}`)]));
  });
  legend(plot, STEPS.filter(([name]) => lanes.some((lane) => busyIn(lane, name) > 0)).map(([, what, colour]) => [colour, what]));
}

function timelineFigure(problem, run) {
  return figure({
    id: 'timeline', title: 'Who did what', wide: true,
    note: () => {
      const {lanes, end} = lanesOf(problem, run);
      return `Busy, as a share of ${seconds(end)}. Where the GPU has a gap, it waited for a compilation or for the search.` +
        (lanes.some(({name}) => name.startsWith('compiler')) ? '' : ' This journal does not tell which process compiled what.');
    },
    draw: (plot, width) => drawTimeline(problem, run, plot, width),
    table: () => {
      const {lanes, end} = lanesOf(problem, run);
      return {columns: [{title: 'who'}, ...[...STEPS.map(([, what]) => `${what} s`), 'busy'].map((title) => ({title, number: true}))],
        rows: lanes.map((lane) => [lane.name, ...STEPS.map(([name]) => busyIn(lane, name) > 0 ? digits(busyIn(lane, name), 3) : ''), percent(busyIn(lane) / end)])};
    },
  });
}

const WORK = [['sweep', 'a problem, start and end of its process included', 'var(--other)'], ['verify', 'verifying', 'var(--k2)'], ['timing', 'timing', 'var(--accent)'], ['final', 'final phase', 'var(--ink)'], ['failed', 'failed or lost', 'var(--k5)']];

/// Returns for each device its stretches of work, and within them the GPU's steps, counted
/// backwards from the stretch's end if the end is known.
function fleetLanes(run) {
  return run.fleet.workers.map((worker) => {
    const bars = worker.work.flatMap((work) => {
      const whole = {step: work.failed ? 'failed' : 'sweep', from: work.begin_s, to: work.end_s, work};
      const problem = run.problems.find((each) => each.label === work.problem);
      if (whole.step !== 'sweep' || !problem?.ended_s || !timesAreKnown(problem)) return [whole];
      const {lanes: [gpu], end} = lanesOf(problem, run), shift = work.end_s - end;
      return [whole, ...gpu.bars.filter((bar) => bar.from + shift >= work.begin_s).map((bar) => ({...bar, from: bar.from + shift, to: bar.to + shift}))];
    });
    return {name: worker.name, busy: worker.busy_s / run.fleet.seconds, bars, work: worker.work};
  });
}

function drawFleet(run, plot, width) {
  const lanes = fleetLanes(run), top = 6, step = lanes.length > 9 ? 14 : 24, height = step - 4, bottom = top + lanes.length * step;
  const label = (lane) => `${fitted(lane.name, width * 0.35)} ${percent(lane.busy)}`;
  const left = d3.max(lanes, (lane) => textWidth(label(lane))) + 14, x = d3.scaleLinear([0, run.fleet.seconds], [left, width - 12]);
  const svg = chart(plot, width, bottom + 42, 'what each device had');
  xAxis(svg, x, {y: bottom, top, ticks: x.ticks(width < 400 ? 4 : 8), format: plain, label: 'seconds', from: left, to: width});
  lanes.forEach((lane, i) => {
    const y = top + i * step, middle = y + height / 2;
    svg.append('text').attr('x', 0).attr('y', middle).attr('dy', '0.33em').attr('class', 'soft').text(label(lane));
    for (const [name, , colour] of WORK) {
      const bars = lane.bars.filter((bar) => bar.step === name);
      // Draws bars a pixel shorter, so that consecutive parts are distinguishable.
      if (bars.length) svg.append('path').attr('d', bars.map(({from, to}) => `M${x(from).toFixed(1)} ${middle}H${Math.max(x(from) + 1, x(to) - 1).toFixed(1)}`).join('')).attr('stroke', colour).attr('stroke-width', height).attr('fill', 'none');
    }
    for (const work of lane.work) {
      svg.append('rect').attr('x', x(work.begin_s)).attr('y', y).attr('width', Math.max(1, x(work.end_s) - x(work.begin_s))).attr('height', step).attr('fill', 'transparent').datum(work)
        .call((s) => hover(s, () => [work.problem, `${lane.name}, ${seconds(work.end_s - work.begin_s)}`, work.failed ? 'failed or lost' : 'search and final phase']));
    }
  });
  legend(plot, WORK.filter(([name]) => lanes.some((lane) => lane.bars.some((bar) => bar.step === name))).map(([, what, colour]) => [colour, what]));
}

function fleetFigure(run) {
  return figure({
    id: 'fleet', title: 'Which device did what', wide: true,
    note: `Busy, as a share of ${seconds(run.fleet.seconds)}: ${percent(d3.mean(fleetLanes(run), (lane) => lane.busy))} in the mean. A gap is a device that waits.`,
    draw: (plot, width) => drawFleet(run, plot, width),
    table: () => ({columns: [{title: 'device'}, {title: 'busy'}, {title: 'problem'}, {title: 'from s', number: true}, {title: 'to s', number: true}, {title: 'what'}],
      rows: fleetLanes(run).flatMap((lane) => lane.work.map((work) => [lane.name, percent(lane.busy), work.problem, digits(work.begin_s, 3), digits(work.end_s, 3), work.failed ? 'failed' : 'sweep']))}),
  });
}
