// evolution.js: Draws a run of `fatune evolve`: figures, curves, final rounds, and the lineage with diffs.

const VERDICT_COLOUR = {elite: 'var(--good)', kept: 'var(--good)', discarded: 'var(--warn)', invalid: 'var(--bad)'};
const MOST_DIFF_CELLS = 4e6;

const factor = (ratio) => typeof ratio === 'number' ? `${ratio.toFixed(2)}×` : '–';
/// Returns a time in three digits, with its unit.
function span(us) {
  const [value, unit] = us >= 999.5e3 ? [us / 1e6, 's'] : us >= 999.5 ? [us / 1e3, 'ms'] : [us, 'µs'];
  return `${value.toFixed(Math.max(0, 2 - Math.floor(Math.log10(Math.max(value, 1)))))} ${unit}`;
}
const trialId = (trial) => `t${trial.number}`;

function factList(facts) {
  return el('dl', {class: 'facts'}, ...facts.filter(Boolean).map(([term, value, small]) => el('div', {}, el('dt', {}, term), el('dd', {}, value, small ? el('small', {}, small) : null))));
}
/// Makes a table of texts. A head that begins with '>' is over numbers.
function textTable(heads, rows) {
  const css = heads.map((head) => head.startsWith('>') ? 'n' : null), cells = (tag, row) => row.map((cell, i) => el(tag, {class: css[i]}, cell));
  return scrolling(el('thead', {}, el('tr', {}, ...cells('th', heads.map((head) => head.replace('>', ''))))),
    el('tbody', {}, ...rows.map((row) => el('tr', {}, ...cells('td', row)))));
}

function evolutionFacts({trials, valid, validity, compile_rate, evaluations, speedup, final_speedup, usage}) {
  return factList([['speed-up over the start', factor(speedup), 'as timed in its own trial'], ['in the same rounds', factor(final_speedup), 'start and best timed in turns; this decides'],
    valid !== undefined && ['validity', `${valid} of ${trials} (${percent(validity, 1)})`, 'trials that passed every gate'], ['compiled', percent(compile_rate, 1), 'trials whose kernel compiled'], ['configs tried', String(evaluations)],
    usage.prompt_tokens + usage.completion_tokens > 0 && ['tokens', `${usage.prompt_tokens} in, ${usage.completion_tokens} out`], usage.cost > 0 && ['cost', String(Number(usage.cost.toPrecision(4)))]]);
}

/// Draws a value that holds until the next trial, and trials as dots at their own values.
function drawCurve({title, unit, values, dots = [], log, most}, plot, width) {
  const left = 52, top = 12, right = width - 10, bottom = 190, all = [...values, ...dots.map((trial) => trial.speedup)].filter((value) => typeof value === 'number' && (!log || value > 0));
  const [low, high] = most ? [0, most] : all.length ? d3.extent(all) : [1, 2], end = high > low ? high : log ? low * Math.E : low + 1;
  const x = d3.scaleLinear([0, Math.max(1, values.length - 1)], [left, right]), y = (log ? d3.scaleLog : d3.scaleLinear)([low, end], [bottom, top]);
  const svg = chart(plot, width, bottom + 42, title);
  xAxis(svg, x, {y: bottom, top: bottom, ticks: x.ticks(width < 400 ? 4 : 8).filter(Number.isInteger), format: (n) => `t${n}`, label: 'trial', from: left, to: right});
  yAxis(svg, y, {x: left, right, ticks: log ? logTicks(y.domain(), 5) : y.ticks(5), format: (value) => plain(value) + unit, top});
  const points = values.map((value, i) => [i, value]).filter(([, value]) => typeof value === 'number');
  svg.append('path').attr('d', d3.line(([i]) => x(i), ([, value]) => y(value)).curve(d3.curveStepAfter)(points)).attr('fill', 'none').attr('stroke', 'var(--accent)').attr('stroke-width', 2);
  for (const trial of dots) {
    svg.append('circle').attr('cx', x(trial.number)).attr('cy', trial.speedup ? y(trial.speedup) : bottom).attr('r', 3.5).attr('fill', VERDICT_COLOUR[trial.verdict] ?? 'var(--other)').datum(trial)
      .call((s) => hover(s, () => [`${trialId(trial)} ${trial.verdict} ${factor(trial.speedup)}`, trial.lever]));
  }
}

function curveFigure(id, curve) {
  return figure({id, title: curve.title, draw: (plot, width) => drawCurve(curve, plot, width), table: () => ({columns: [{title: 'trial'}, {title: curve.title, number: true}],
    rows: curve.values.map((value, i) => [`t${i}`, typeof value === 'number' ? plain(value) + curve.unit : ''])})});
}

function curves(trials, gated) {
  const sums = (of) => [...d3.cumsum(trials, of)], passed = sums((trial) => trial.number > 0 && trial.verdict !== 'invalid' ? 1 : 0);
  const tokens = sums(({usage}) => usage.prompt_tokens + usage.completion_tokens), cost = sums(({usage}) => usage.cost);
  return el('div', {class: 'grid2'},
    curveFigure('best', {title: 'best so far, and each trial', unit: '×', values: trials.map((trial) => trial.best), dots: trials, log: true}),
    gated ? curveFigure('validity', {title: 'trials that passed every gate', unit: ' %', values: passed.map((n, i) => trials[i].number > 0 ? 100 * n / trials[i].number : null), most: 100}) : null,
    tokens.at(-1) > 0 ? curveFigure('tokens', {title: 'tokens', unit: '', values: tokens}) : null, cost.at(-1) > 0 ? curveFigure('cost', {title: 'cost', unit: '', values: cost}) : null);
}

function duelTable(duels) {
  const time = (us) => us === undefined || us === null ? '–' : span(us);
  return textTable(['problem', '>start', '>best', '>speed-up', '95 % interval'], duels.map(({duel}) => [duel.problem, time(duel.start_us), time(duel.best_us), factor(duel.speedup?.ratio),
    duel.speedup ? duel.speedup.ci95.map((end) => end.toFixed(2)).join(' to ') : duel.reason ?? '']));
}

/// Returns the lines of a diff with their neighbours: [{mark: '+', '-', ' ' or '⋯', text}].
function diffLines(before, after) {
  const [a, b] = [before, after].map((text) => text.replace(/\n$/, '').split('\n'));
  let begin = 0, end = 0;
  while (begin < Math.min(a.length, b.length) && a[begin] === b[begin]) ++begin;
  while (end < Math.min(a.length, b.length) - begin && a[a.length - 1 - end] === b[b.length - 1 - end]) ++end;
  const left = a.slice(begin, a.length - end), right = b.slice(begin, b.length - end), same = (text) => ({mark: ' ', text});
  const pairs = left.length * right.length <= MOST_DIFF_CELLS ? alignment(left, right) : [...left.map((_, i) => [i, null]), ...right.map((_, j) => [null, j])];
  const rows = [...a.slice(0, begin).map(same), ...pairs.map(([i, j]) => i === null ? {mark: '+', text: right[j], differs: true} : j === null ? {mark: '-', text: left[i], differs: true} : same(left[i])),
    ...a.slice(a.length - end).map(same)];
  const kept = hunks(rows).map((row) => row.skipped ? {mark: '⋯', text: ''} : row);
  return kept.slice(kept[0]?.mark === '⋯' ? 1 : 0, kept.at(-1)?.mark === '⋯' ? -1 : undefined);
}
const DIFF_CLASS = {'+': 'added', '-': 'removed', '⋯': 'soft'};
function diffBlock(before, after) {
  const lines = diffLines(before, after);
  return lines.length ? el('pre', {class: 'diff'}, ...lines.map(({mark, text}) => el('span', {class: DIFF_CLASS[mark] ?? null}, mark === '⋯' ? mark : `${mark} ${text}`))) : null;
}

function trialInside(trial, parent) {
  return el('div', {class: 'inside'}, trial.thought ? el('p', {}, trial.thought) : null, trial.insight && !(trial.thought && trial.insight.endsWith(trial.thought)) ? el('p', {class: 'soft'}, trial.insight) : null, trial.reason ? el('p', {class: 'soft reason'}, trial.reason) : null,
    trial.shapes?.length ? textTable(['problem', '>time', 'outcome', 'config'], trial.shapes.map((shape) => [shape.problem, shape.time_us ? span(shape.time_us) : '–', shape.outcome, configText({params: shape.config ?? {}})])) : null,
    ...(parent && trial.source ? [diffBlock(parent.source ?? '', trial.source), diffBlock(parent.manifest ?? '', trial.manifest ?? '')] : []));
}

/// Draws each trial below its first parent; its inside is made when it is opened.
function lineage(trials) {
  if (!trials.length) return null;
  const byId = new Map(trials.map((trial) => [trialId(trial), trial])), parentOf = (trial) => trial.parents?.[0] ?? trialId(trials[0]);
  const below = d3.group(trials.filter((trial) => trial.number > 0), parentOf), children = (trial) => below.get(trialId(trial)) ?? [];
  const item = (trial) => {
    const details = el('details', {}, el('summary', {}, el('b', {}, trialId(trial)), ' ', el('span', {class: `chip ${trial.verdict}`}, trial.number === 0 ? 'start' : trial.verdict),
      ` ${factor(trial.speedup)} ${trial.lever ?? ''}`, trial.parents?.length ? el('span', {class: 'soft'}, ` of ${trial.parents.join(' and ')}`) : null));
    details.addEventListener('toggle', () => { if (details.open && details.children.length === 1) details.append(trialInside(trial, byId.get(trial.parents?.[0]))); });
    return el('li', {id: trialId(trial)}, details);
  };
  // The only child that has children goes on at the same depth, so that a long lineage fits a phone.
  const list = (first) => {
    const items = [];
    for (let trial = first; trial;) {
      const parents = children(trial).filter((child) => children(child).length), next = parents.length === 1 ? parents[0] : null, others = children(trial).filter((child) => child !== next);
      items.push(item(trial));
      if (others.length) items.at(-1).append(el('ul', {}, ...others.flatMap(list)));
      trial = next;
    }
    return items;
  };
  return el('div', {class: 'tree'}, el('ul', {}, ...list(trials[0])));
}

function evolutionSections({plan, device, figures, trials, finals = [], recorded, complete}) {
  const gated = figures.valid !== undefined, labels = [...new Set(trials.flatMap((trial) => trial.shapes ?? []).map((shape) => shape.problem))];
  const notice = (text) => el('p', {class: 'notice'}, text), section = (title, note, ...parts) => el('section', {}, el('h2', {}, title), note ? el('p', {class: 'soft'}, note) : null, ...parts);
  return [el('section', {class: 'hero'}, el('p', {class: 'eyebrow'}, `fatune evolve, mode ${plan.mode}${device?.name ? ', ' + device.name : ''}`), el('h1', {}, `${plan.kernel}, evolved: ${factor(figures.speedup)}`),
    el('p', {class: 'soft'}, (labels.length ? labels : plan.problems.map(({name}) => name)).join('; ')), recorded ? notice('Recorded: every number was measured earlier.') : null, complete ? null : notice('The run is not complete.'),
    gated ? null : notice('No gate ran, as there was no GPU: kernels were compiled only.'), evolutionFacts(figures)),
  trials.length ? section('Curves', '', curves(trials, gated)) : null,
  finals.length ? section('The best against the start', 'In the same rounds, in random order, behind every gate.', duelTable(finals)) : null,
  section('Lineage', 'A trial stands below its first parent, or goes on at its depth if the line continues; open one for its diff. An elite was among the three best when it was tried. Kept: right, but no elite. Discarded: right, but slower than its parent, or too many changes at once. The word behind the speed-up names the change.', lineage(trials))].filter(Boolean);
}
