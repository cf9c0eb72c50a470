// page.js - puts the sections together, follows the address, and switches between light and dark.

function notices(runs) {
  const list = [];
  const add = (text) => list.push(el('p', {class: 'notice'}, text[0].toUpperCase() + text.slice(1)));
  for (const run of runs) {
    const who = runs.length > 1 ? `${run.name}: ` : '';
    if (run.recorded) add(`${who}recorded: these times were not measured in this run, a recording made on ${run.device.name} stands in for the GPU.`);
    if (run.correctness_skipped) add(`${who}correctness was not checked (--skip-correctness).`);
    if (run.status === 'interrupted') add(`${who}interrupted before its end; what it measured is here.`);
    if (run.status === 'unfinished' && !data.live) add(`${who}the journal has no end: the sweep still runs, or was killed.`);
  }
  return list;
}

function headline(problem, run) {
  const objective = objectiveOf(run), best = bestOf(problem);
  if (best) {
    return el('h1', {}, `${best.kernel}: ${us(best[objective].us)} `, el('span', {class: 'unit'}, `µs ${objective}`));
  }
  const steps = bestSoFar(candidatesOf(problem, objective));
  if (steps.length) {
    return el('h1', {}, `${steps.at(-1).kernel}: ${us(steps.at(-1).us)} `, el('span', {class: 'unit'}, `µs ${objective}, best of the search so far`));
  }
  return el('h1', {}, 'No candidate was measured');
}

function verdictLine(problem, run) {
  const objective = objectiveOf(run), best = bestOf(problem);
  if (!best) {
    const any = candidatesOf(problem, objective).some((c) => c.us !== null);
    return el('p', {class: 'verdict'}, el('span', {class: 'range'}, any
      ? 'A time of the search: few samples, a hint. The final phase has not decided yet.'
      : 'None of those tried passed every gate and was timed. What became of them, and why, is below.'));
  }
  const parts = [];
  const time = best[objective];
  if (time.low !== null) parts.push(el('span', {class: 'range'}, `95 % interval ${us(time.low)} to ${us(time.high)}`));
  if (best.ratio) {
    const rival = baselinesOf(problem, objective)[0];
    parts.push(el('span', {}, `${times(best.ratio.value)} of the time of ${implName(rival.impl)}`), el('span', {class: 'range'}, `${times(best.ratio.low)} to ${times(best.ratio.high)}`),
      el('span', {class: `chip ${VERDICT_CLASS[best.verdict] ?? 'plain'}`}, best.verdict));
  } else {
    parts.push(el('span', {class: 'range'}, 'no baseline was measured beside it'));
  }
  return el('div', {class: 'verdict'}, ...parts);
}

function facts(problem, run) {
  const objective = objectiveOf(run), best = bestOf(problem), list = candidatesOf(problem, objective), box = el('dl', {class: 'facts'});
  const add = (term, value, small) => box.append(el('div', {}, el('dt', {}, term), el('dd', {}, value, small ? el('small', {}, small) : null)));
  if (best?.tflops) add('Rate', `${digits(best.tflops, 3)} TFLOP/s`, problem.hardware.unknown ? '' : `${percent(best.tflops / problem.hardware.tensor_tflops)} of the tensor cores’ peak`);
  if (best?.gbytes_per_s) add('Rate', `${digits(best.gbytes_per_s, 3)} GB/s`, problem.hardware.unknown ? '' : `${percent(best.gbytes_per_s * 1e-3 / problem.hardware.memory_tbs)} of the memory’s peak`);
  if (best?.cold && objective === 'hot') add('Cold', `${us(best.cold.us)} µs`, 'one launch, L2 flushed');
  if (best?.margin) add('Accuracy', `${best.margin.toFixed(2)} of the limit`, `${plural(best.gates.length, 'gate')} passed`);
  if (best?.registers) add('Resources', `${best.registers} registers`, `${bytes(best.shared_bytes)} of shared memory a block`);
  add('Tried', plural(list.length, 'candidate'), `${run.strategy}, ${seconds(list.length ? Math.max(d3.max(list, (c) => c.at), 0.01) : 0)}`);
  return box;
}

function hero(problem, run) {
  const gpu = run.device, best = bestOf(problem);
  return el('section', {class: 'hero', id: 'verdict'},
    el('p', {class: 'eyebrow'}, `${problemTitle(problem)} on ${gpu.name} (${gpu.arch}${run.recorded ? ', recorded' : ''})`),
    headline(problem, run), verdictLine(problem, run), ...notices([run]),
    best ? el('ul', {class: 'chosen', 'aria-label': 'The best config'}, ...Object.entries(best.config).map(([k, v]) => el('li', {}, el('b', {}, k + '='), String(v)))) : null,
    facts(problem, run));
}

function reproduceSection(run, problem) {
  const gpu = run.device, pairs = el('dl', {class: 'pairs'});
  const add = (term, value) => { if (value) pairs.append(el('dt', {}, term), el('dd', {}, String(value))); };
  add('GPU', [`${gpu.name} (${gpu.arch})`, gpu.sm_count && `${gpu.sm_count} multiprocessors`, gpu.memory_bytes && bytes(gpu.memory_bytes), gpu.l2_bytes && `L2 ${bytes(gpu.l2_bytes)}`].filter(Boolean).join(', '));
  add('Driver', gpu.cuda_driver ? `${gpu.driver}, CUDA ${gpu.cuda_driver}` : gpu.driver);
  add('NVRTC', gpu.nvrtc);
  const best = bestOf(problem);
  if (best?.sm_clock_mhz) add('During the final phase', `SM clock ${[...new Set(best.sm_clock_mhz)].join(' to ')} MHz, ${best.temperature_c} °C` + (best.throttled.length ? `, throttled: ${best.throttled.join(', ')}` : ', not throttled'));
  add('fatune', run.fatune);
  add('Host', (run.host ?? '') + (run.cpu_cores ? `, ${run.cpu_cores} cores` : ''));
  add('Search', `${run.strategy}, objective ${run.objective}, seed ${run.seed}`);
  add('Journal', run.source);
  const others = problem.finals.filter((f) => isBaseline(f) && f.detail).map((f) => f.detail);
  add('Others', others.join('; '));
  const copy = el('button', {type: 'button', class: 'quiet', onclick: () => navigator.clipboard?.writeText(run.command).then(() => { copy.textContent = 'Copied'; })}, 'Copy');
  return el('section', {id: 'reproduce'}, el('h2', {}, 'Reproduce'), el('p', {}, 'On the same kind of GPU:'),
    run.command ? el('div', {class: 'command'}, el('code', {}, run.command), copy) : null, pairs);
}

function picker(entries, current) {
  const select = el('select', {'aria-label': 'Problem', onchange: () => show(entries[select.selectedIndex].key)},
    ...entries.map((e) => el('option', {selected: e.key === current}, (data.runs.length > 1 ? `${e.run.name}: ` : '') + problemTitle(e.problem))));
  const step = (by, text, label) => el('button', {type: 'button', 'aria-label': label, onclick: () => {
    const i = entries.findIndex((e) => e.key === current);
    show(entries[(i + by + entries.length) % entries.length].key);
  }}, text);
  return el('div', {class: 'picker'}, step(-1, '←', 'Previous problem'), select, step(1, '→', 'Next problem'));
}

function problemSections({problem, run}) {
  const objective = objectiveOf(run), list = candidatesOf(problem, objective), timed = list.some((c) => c.us !== null);
  const finals = problem.finals.filter((f) => measured(f, 'hot') || measured(f, 'cold'));
  const sections = [hero(problem, run)];
  if (finals.length) {
    const section = el('section', {id: 'finals'}, el('h2', {}, 'The final phase'), barsFigure(problem, run));
    if (finals.some((f) => !isBaseline(f) && (f.hot_rounds || f.cold_rounds))) section.append(samplesFigure(problem));
    sections.push(section);
  }
  const search = el('section', {id: 'search'}, el('h2', {}, 'The search'));
  if (timed) {
    search.append(el('p', {}, 'Dots are candidates, the line is the best so far. Slower ones lie on the upper edge.'),
      el('div', {class: 'grid2'}, convergenceFigure(problem, run, 'evaluations'), convergenceFigure(problem, run, 'seconds')));
    legend(search, [...problem.kernels.map((k) => [kernelColour(k.name), k.name])]);
  }
  if (list.length) search.append(outcomesFigure(problem));
  sections.push(search);
  if (timed) sections.push(el('section', {id: 'matter'}, el('h2', {}, 'What matters'), matterPair(problem, run)), hardwareSection(problem, run));
  if (list.length) sections.push(candidatesSection(problem, run));
  sections.push(reproduceSection(run, problem));
  return sections;
}

function currentKey(entries) {
  const wanted = location.hash.slice(1);
  return entries.some((e) => e.key === wanted) ? wanted : entries[0].key;
}

function show(key) {
  history.replaceState(null, '', '#' + key);
  render();
  byId('problem')?.scrollIntoView();
}

function render() {
  const main = byId('main'), entries = allEntries();
  tip.hide();
  if (!entries.length) {
    main.replaceChildren(el('section', {class: 'hero'}, el('h1', {}, data.live ? 'The sweep is about to begin' : 'Nothing was tried')));
    return;
  }
  settleColours();
  const key = currentKey(entries), entry = entries.find((e) => e.key === key);
  choices.set('objective', objectiveOf(entry.run));
  byId('where').textContent = data.runs.map((run) => run.name).join(', ');
  const several = entries.length > 1;
  main.replaceChildren(...(several ? [overview(entries), el('div', {id: 'problem', class: 'divider'}), el('section', {class: 'chooser'}, el('h2', {}, 'One problem'), picker(entries, key))] : []), ...problemSections(entry));
}

byId('theme').addEventListener('click', () => {
  const root = document.documentElement, dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const now = root.dataset.theme ?? (dark ? 'dark' : 'light');
  root.dataset.theme = now === 'dark' ? 'light' : 'dark';
});
addEventListener('hashchange', render);
render();
document.documentElement.dataset.ready = 'yes';
