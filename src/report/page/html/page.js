// page.js: Joins the sections, follows the address, and switches between light and dark.

function notices(runs) {
  const list = [];
  const add = (text) => list.push(el('p', {class: 'notice'}, text[0].toUpperCase() + text.slice(1)));
  for (const run of runs) {
    const who = runs.length > 1 ? `${run.label}: ` : '';
    if (run.recorded) add(`${who}recorded: these times were not measured in this run, a recording made on ${run.device.name} stands in for the GPU.`);
    if (run.correctness_skipped) add(`${who}correctness was not checked (--skip-correctness).`);
    if (run.status === 'interrupted') add(`${who}interrupted before its end; what it measured is here.`);
    if (run.status === 'unfinished' && !data.live) add(`${who}the journal has no end: the sweep still runs, or was killed.`);
  }
  return list;
}

const absenceNotices = (problems) => [...absencesOf(problems)].map(([impl, absent]) => el('p', {class: 'notice'},
  `Without ${implName(impl)}${problems.length > 1 ? ` at ${absent.problems} of ${plural(problems.length, 'problem')}` : ''}. ${absent.why[0].toUpperCase() + absent.why.slice(1)}`));

/// Makes the headline of a problem, an `h2` below an overview.
function headline(problem, tag) {
  const best = bestOf(problem);
  if (best) return el(tag, {class: 'result'}, `${best.kernel}: ${us(best[problem.time].us)} `, el('span', {class: 'unit'}, `µs ${timeWord(problem, problem.time)}`));
  const steps = bestSoFar(problem.candidates);
  if (!steps.length) return el(tag, {class: 'result'}, 'No candidate was measured');
  return el(tag, {class: 'result'}, `${steps.at(-1).kernel}: ${us(steps.at(-1).us)} `, el('span', {class: 'unit'}, `µs ${searchWord(problem)}, best of the search so far`));
}

function verdictLine(problem) {
  const best = bestOf(problem);
  if (!best) {
    const any = problem.candidates.some((c) => c.us !== null);
    return el('p', {class: 'verdict'}, el('span', {class: 'range'}, any
      ? 'A time of the search: few samples, a hint. The final phase has not decided yet.'
      : 'None of those tried passed every gate and was timed. What became of them, and why, is below.'));
  }
  const parts = [];
  const time = best[problem.time];
  if (time.low !== null) parts.push(el('span', {class: 'range'}, `95 % interval ${us(time.low)} to ${us(time.high)}`));
  if (best.ratio) {
    const baseline = baselinesOf(problem, problem.time)[0];
    parts.push(el('span', {}, `${times(best.ratio.value)} of the time of ${implName(baseline.impl)}`), el('span', {class: 'range'}, `${times(best.ratio.low)} to ${times(best.ratio.high)}`),
      el('span', {class: `chip ${VERDICT_CLASS[best.verdict] ?? 'plain'}`}, best.verdict));
  } else {
    parts.push(el('span', {class: 'range'}, 'no baseline was measured beside it'));
  }
  return el('div', {class: 'verdict'}, ...parts);
}

/// Lists the best's times, each with the ratio to the fastest baseline in that time.
function timesTable(problem) {
  const best = bestOf(problem), all = timesOf(problem);
  if (!best || all.length < 2) return null;
  const cell = (text, why) => el('td', {class: 'n', title: text ? null : why}, text || '–');
  const row = (which) => {
    const baseline = baselinesOf(problem, which)[0], word = timeWord(problem, which), none = 'no baseline has this time';
    return el('tr', {class: which === problem.time ? 'best' : null}, el('td', {}, word), cell(us(best[which].us)), cell(baseline && us(baseline[which].us), none),
      cell(baseline && word !== 'chained' && times(best[which].us / baseline[which].us), baseline ? 'a chained time is not compared' : none), el('td', {}, baseline ? implName(baseline.impl) : '–'), el('td', {class: 'soft'}, TIME_MEANING[word]));
  };
  // A kernel that is launched plainly has no chained time of its own.
  const own = all.filter((which) => best[which] && !(which === 'hot' && best.plain && best.hot.us === best.plain.us));
  return el('div', {class: 'scroll times', tabindex: '0'}, el('table', {}, el('thead', {}, el('tr', {}, el('th', {}, 'time'), ...['best µs', 'baseline µs', 'ratio'].map((title) => el('th', {class: 'n'}, title)), el('th', {}, 'fastest baseline'), el('th', {}, 'what it is'))),
    el('tbody', {}, ...own.map(row))));
}

function facts(problem, run) {
  const best = bestOf(problem), list = problem.candidates, box = el('dl', {class: 'facts'});
  const add = (term, value, small) => box.append(el('div', {}, el('dt', {}, term), el('dd', {}, value, small ? el('small', {}, small) : null)));
  const rate = (value, unit, peak, name) => add('Rate', `${digits(value, 3)} ${unit}`, [best.plain && 'of plain launches', !problem.hardware.unknown && `${percent(value / peak)} of the ${name} peak`].filter(Boolean).join(', '));
  if (best?.tflops) rate(best.tflops, 'TFLOP/s', problem.hardware.tensor_tflops, 'tensor cores’');
  if (best?.gbytes_per_s) rate(best.gbytes_per_s, 'GB/s', problem.hardware.memory_tbs * 1e3, 'memory’s');
  if (best?.margin) add('Accuracy', `error ${best.margin.toFixed(2)} of the limit`, `the hardest input’s error over what is allowed; ${plural(best.gates.length, 'gate')} passed`);
  if (best?.registers) add('Resources', `${best.registers} registers`, [`${bytes(best.shared)} of shared memory a block`, occupancy(run, best) && `${percent(occupancy(run, best))} occupancy`, wavesOf(problem, best).waves && `${times(wavesOf(problem, best).waves)} waves`].filter(Boolean).join(', '));
  const warm = list.filter((c) => c.warm), nearest = d3.least(warm.filter((c) => c.us !== null), (c) => c.us);
  const spent = run.problems.length === 1 ? run.seconds : list.length ? Math.max(d3.max(list, (c) => c.at), 0.01) : 0;
  add('Tried', plural(list.length, 'candidate'), `${run.strategy}, ${seconds(spent)}, ${warm.length ? plural(warm.length, 'warm start') + (nearest ? `, best of them ${us(nearest.us)} µs ${searchWord(problem)}` : '') : 'no warm start'}`);
  return box;
}

/// Shows parameters of the best config that differ from the kernel's default; others are folded away.
function configChips(problem) {
  const best = bestOf(problem), usual = problem.finals.find((f) => f.role === 'default' && f.kernel === best.kernel)?.config;
  const chip = ([name, value]) => el('li', {class: usual && valueText(usual[name]) !== valueText(value) ? 'changed' : null, title: usual && name in usual ? `default: ${usual[name]}` : null}, el('b', {}, name + '='), valueText(value));
  const list = Object.entries(best.config), changed = list.filter(([name, value]) => usual && valueText(usual[name]) !== valueText(value));
  const warm = problem.candidates.find((c) => c.id === best.id)?.warm;
  const same = list.filter((pair) => !changed.includes(pair));
  return el('div', {}, warm ? el('p', {class: 'notice'}, `The winner was a warm start: the search began with it, known from ${warm}.`) : null,
    el('ul', {class: 'chosen', 'aria-label': 'The best config'}, ...(usual ? changed : list).map(chip)),
    usual ? el('details', {class: 'soft small'}, el('summary', {}, changed.length ? `${plural(same.length, 'parameter')} as in the kernel’s default config` : 'It is the kernel’s default config'), el('ul', {class: 'chosen'}, ...same.map(chip))) : null);
}

function hero(problem, run) {
  const gpu = run.device, best = bestOf(problem), picture = best && headlineFigure(problem), heading = data.runs.some(({problems}) => problems.length > 1) || data.runs.length > 1 ? 'h2' : 'h1';
  return el('section', {class: 'hero', id: 'verdict'},
    el('p', {class: 'eyebrow'}, `${problemTitle(problem)} on ${gpu.name} (${gpu.arch}${run.recorded ? ', recorded' : ''})`),
    el('div', {class: picture ? 'first' : null}, el('div', {}, headline(problem, heading), verdictLine(problem), best ? configChips(problem) : null), picture),
    ...notices([run]), ...absenceNotices([problem]), best && timesTable(problem), facts(problem, run));
}

/// Lists the commands for the next steps.
function nextLines(problem, run) {
  const best = `runs/${run.name}/best.json`, dir = /--kernel-dir[= ]\S+/.exec(run.command)?.[0] ?? '', baseline = baselinesOf(problem, problem.time)[0]?.impl;
  const line = (...words) => words.filter(Boolean).join(' ');
  return [['Measure it again', line('fatune bench --config', best, baseline && `--impl ${baseline}`, dir)], ['Run every gate on it', line('fatune verify --config', best, dir)],
    problem.flops && !problem.problem.operation ? ['Call it from PyTorch', line('fatune export', best, '--to torch -o exported', dir)] : ['Take it out', line('fatune export', best, '--to cubin -o exported', dir)],
    ['Forecast it: resources, waves', line('fatune inspect --config', best, problemOptions(problem), dir)], ['Refuse a slower one, in CI', line('fatune gate --candidate', best, `--baseline ${baseline ?? 'naive'}`, dir)]];
}

function reproduceSection(run, problem) {
  const gpu = run.device, pairs = el('dl', {class: 'pairs'});
  const add = (term, value) => { if (value) pairs.append(el('dt', {}, term), el('dd', {}, String(value))); };
  add('GPU', [`${gpu.name} (${gpu.arch})`, gpu.sm_count && `${gpu.sm_count} multiprocessors`, gpu.memory_bytes && bytes(gpu.memory_bytes), gpu.l2_bytes && `L2 ${bytes(gpu.l2_bytes)}`].filter(Boolean).join(', '));
  add('Driver', gpu.cuda_driver ? `${gpu.driver}, CUDA ${gpu.cuda_driver}` : gpu.driver);
  add('NVRTC', gpu.nvrtc);
  const best = bestOf(problem), warm = problem.candidates.some((c) => c.warm);
  if (best?.sm_clock_mhz) add('During the final phase', `SM clock ${[...new Set(best.sm_clock_mhz)].join(' to ')} MHz, ${best.temperature_c} °C` + (best.throttled.length ? `, throttled: ${best.throttled.join(', ')}` : ', not throttled') + (best.others ? `; other processes on the GPU: ${best.others}` : ''));
  add('fatune', run.fatune);
  add('Search', `${run.strategy}, objective ${run.objective}, seed ${run.seed}`);
  add('Warm starts', [...new Set(problem.candidates.map((c) => c.warm).filter(Boolean))].join('; '));
  const others = problem.finals.filter((f) => isBaseline(f) && f.detail).map((f) => f.detail);
  add('Baselines', others.join('; '));
  return el('section', {id: 'reproduce'}, el('h2', {}, 'Next, and again'),
    best ? el('p', {}, `runs/${run.name} stands for the folder of the run.`) : null, ...(best ? nextLines(problem, run).map(([what, line]) => commandLine(line, what)) : []),
    run.command ? commandLine(run.command + (/--no-warm-start|--resume/.test(run.command) ? '' : ' --no-warm-start'), warm ? 'A search like it' : 'The same search') : null,
    warm ? el('p', {class: 'soft small'}, 'This search began with the configs named under “Warm starts”; the line begins with none, so that it does the same anywhere.') : null, pairs,
    el('div', {class: 'under'}, el('button', {type: 'button', onclick: () => saveText('fatune-page.json', 'application/json', JSON.stringify(JSON.parse(byId('data').textContent), null, 1))}, 'All that this page shows, as JSON')));
}

function picker(entries, current) {
  const select = el('select', {'aria-label': 'Problem', onchange: () => show(entries[select.selectedIndex].key)},
    ...entries.map((e) => el('option', {selected: e.key === current}, (data.runs.length > 1 ? `${e.run.label}: ` : '') + problemTitle(e.problem))));
  const step = (by, text, label) => el('button', {type: 'button', 'aria-label': label, onclick: () => {
    const i = entries.findIndex((e) => e.key === current);
    show(entries[(i + by + entries.length) % entries.length].key);
  }}, text);
  return el('div', {class: 'picker'}, step(-1, '←', 'Previous problem'), select, step(1, '→', 'Next problem'));
}

function problemSections({problem, run, key}) {
  const list = problem.candidates, timed = list.some((c) => c.us !== null), sections = [];
  if (timesOf(problem).length) {
    const section = el('section', {id: 'finals'}, el('h2', {}, 'The final phase'));
    if (bestOf(problem)?.in_layer) section.append(layerFigure(problem));
    section.append(barsFigure(problem));
    if (problem.finals.some((f) => !isBaseline(f) && timesOf(problem).some((which) => roundsOf(f, which).length))) section.append(samplesFigure(problem));
    section.append(finalistsTable(problem, run));
    sections.push(section);
  }
  sections.push(...[compareSection(problem, run)].filter(Boolean));
  const search = el('section', {id: 'search'}, el('h2', {}, 'The search'));
  if (timed) {
    search.append(el('p', {}, 'Dots are candidates, the line is the best so far. Slower ones lie on the upper edge.' + (problem.candidates.some((c) => c.warm) ? ' Rings are warm starts: known from elsewhere, not found here.' : '')),
      el('div', {class: 'grid2'}, convergenceFigure(problem, 'evaluations'), convergenceFigure(problem, 'seconds')));
    legend(search, [...problem.kernels.map((k) => [kernelColour(k), k.name])]);
  }
  if (timesAreKnown(problem)) search.append(timelineFigure(problem, run));
  if (list.length) search.append(outcomesFigure(problem));
  sections.push(search);
  if (timed) sections.push(el('section', {id: 'matter'}, el('h2', {}, 'What matters'), matterFigures(problem)), hardwareSection(problem));
  if (list.length) sections.push(candidatesSection(problem, run));
  sections.push(reproduceSection(run, problem));
  const contents = el('nav', {class: 'contents', 'aria-label': 'On this page'}, ...sections.map((section) =>
    el('a', {href: `#${key}/${section.id}`}, section.querySelector('h2').textContent)));
  const top = hero(problem, run);
  top.append(contents);
  return [top, ...sections];
}

/// The address names a problem and perhaps a section of it: "#0/3/finals".
const addressed = () => /^#(\d+\/\d+)(?:\/([\w-]+))?$/.exec(location.hash) ?? [];
function currentKey(entries) {
  const [, wanted] = addressed();
  return entries.some((e) => e.key === wanted) ? wanted : entries[0].key;
}

/// Shows the problem of the address if another one is shown, and goes to its section.
let shownKey = null;
function follow() {
  const [, key, section] = addressed();
  if (!key) return;
  if (key !== shownKey) render();
  byId(section ?? 'problem')?.scrollIntoView();
}
function show(key) {
  history.replaceState(null, '', '#' + key);
  follow();
}

function sweepSections() {
  const entries = allEntries();
  if (!entries.length) return [el('section', {class: 'hero'}, el('h1', {}, data.live ? 'The sweep is about to begin' : 'Nothing was tried'))];
  const key = shownKey = currentKey(entries), entry = entries.find((e) => e.key === key);
  byId('where').textContent = data.runs.map((run) => run.label).join(', ');
  const several = entries.length > 1;
  return [...(several ? [...overview(entries), el('div', {id: 'problem', class: 'divider'}), el('section', {class: 'chooser'}, el('h2', {}, 'One problem'), picker(entries, key))] : []), ...problemSections(entry)];
}

/// Draws the page of a document by its schema; the data of a sweep have none.
const SECTIONS = {'fatune.evolution/1': evolutionSections, 'fatune.proof/1': proofSections};
function render() {
  tip.hide();
  byId('main').replaceChildren(...(SECTIONS[data.schema] ?? sweepSections)(data));
}

// Redraws on a change of theme, because ink on a colour is chosen at drawing.
byId('theme').addEventListener('click', () => {
  const root = document.documentElement, dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const now = root.dataset.theme ?? (dark ? 'dark' : 'light');
  root.dataset.theme = now === 'dark' ? 'light' : 'dark';
  render();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', render);
addEventListener('hashchange', () => { if (data.runs) follow(); });
data = unpacked(JSON.parse(byId('data').textContent));
render();
if (data.runs && location.hash) follow();
document.documentElement.dataset.ready = 'yes';
