// proof.js: Draws the proof of `fatune.optimize`: the step's times, call sites before and after, and outputs.

const PROOF_VERDICTS = {faster: 'Faster, and right', equal: 'Right, but no faster', slower: 'Right, but slower', wrong: 'Wrong: not installed', unserved: 'No call was served'};

/// The key of a call in another capture.
const callKey = (row) => JSON.stringify(['function', 'site', 'module', 'query', 'key', 'value', 'mask', 'scale'].map((name) => row[name]));

function callWords({function: name, query, key, mask, gradients}) {
  if (!query) return name;
  const others = key.shape.length === 4 && String(key.shape.slice(1, 3)) !== String(query.shape.slice(1, 3)) ? ` with ${key.shape[1]} heads of ${key.shape[2]} keys` : '';
  const told = mask.form === 'tensor' ? ' (a tensor)' : '', kind = mask.kind.replaceAll('_', ' ');
  return `${query.shape.join(',')}${others} ${query.dtype}${kind !== 'none' || told ? `, ${kind}${told}` : ''}${gradients ? ', with gradients' : ''}`;
}

/// Draws times as bars on one scale: [[name, us, colour], ...].
function drawSpans(rows, most, plot, width) {
  const labels = 64, height = 22, x = d3.scaleLinear([0, most], [labels, width - 84]);
  const svg = chart(plot, width, rows.length * height, rows.map(([name, us]) => `${name} ${span(us)}`).join(', '));
  rows.forEach(([name, us, colour], i) => {
    const middle = (i + 0.5) * height;
    svg.append('text').attr('x', 0).attr('y', middle).attr('dy', '0.33em').attr('class', 'soft').text(name);
    svg.append('rect').attr('x', labels).attr('y', middle - 6).attr('width', Math.max(2, x(us) - labels)).attr('height', 12).attr('rx', 2).attr('fill', colour);
    svg.append('text').attr('x', width).attr('y', middle).attr('dy', '0.33em').attr('text-anchor', 'end').text(span(us));
  });
}

function siteFigures({before, after}) {
  const later = new Map(after.calls.map((row) => [callKey(row), row.us])), most = d3.max([...before.calls, ...after.calls], (row) => row.us) || 1;
  return before.calls.map((row, i) => {
    const bars = [['before', row.us, 'var(--other)'], ['after', later.get(callKey(row)) ?? 0, 'var(--good)']];
    return figure({
      id: `site-${i + 1}`, title: row.module || row.site, wide: true,
      note: `${row.site} · ${row.counts.at(-1)} × ${callWords(row)} · ${percent(row.share, 1)} of the step · ${row.problem ? `tuned as ${row.problem}` : `not tuned: ${row.reason}`}`,
      draw: (plot, width) => drawSpans(bars, most, plot, width), table: () => ({columns: [{title: 'step'}, {title: 'µs', number: true}], rows: bars.map(([name, us]) => [name, us3(us)])}),
    });
  });
}

function proofFacts({before, calls}, times) {
  const served = d3.sum(calls.filter((row) => row.reason === null), (row) => row.calls);
  return factList([times && ['the step before', span(times.medians_us[times.best]), before.graph && `by ${times.best}, the best of PyTorch’s`], times && ['after', span(times.medians_us.fatune)],
    times && ['of its time', times.ratio.toFixed(3), `95 %: ${times.ci95.map((end) => end.toFixed(3)).join(' to ')}`],
    ['attention’s share before', percent(before.attention_share)], ['calls by kernels', `${served} of ${d3.sum(calls, (row) => row.calls)}`]]);
}

/// Returns what the power limit changes, and what the step saves.
function savingLines({sustained, times, saving}) {
  const lines = [];
  if (sustained) {
    lines.push(`The GPU is at its power limit, which gives each step a clock of its own: ${sustained.mhz.fatune.toFixed(0)} MHz, and by ${sustained.best} ${sustained.mhz[sustained.best].toFixed(0)} MHz. ` +
      `So these are times of turns that go on; in short turns, with one clock for all, the step takes ${times.ratio.toFixed(3)} of its time.`);
  }
  if (saving) {
    const predicted = saving.predicted_us === null ? 'none is predicted, as a call has no time in a layer' : `predicted from the times in a layer of its calls: ${saving.predicted_us.toFixed(0)} µs`;
    lines.push(`Saving, with one clock for all: measured ${saving.measured_us.toFixed(0)} µs; ${predicted}${saving.share === null ? '' : `, ${saving.share.toFixed(2)} of it`}.` +
      (saving.sustained_us === null ? '' : ` Going on it is ${saving.sustained_us.toFixed(0)} µs.`));
  }
  return lines.map((text) => el('p', {}, text));
}

/// Lists the step in a graph by every contender.
function graphTable({times, failed}) {
  return textTable(['attention', '>median', 'note'], [...Object.entries(times.medians_us).map(([name, us]) => [name, span(us), name === times.best ? 'best of PyTorch’s' : '']),
    ...Object.entries(failed).map(([name, reason]) => [name, '-', reason])]);
}

function proofSections(proof) {
  const {before, device, outputs, sustained} = proof, times = sustained ?? proof.times, good = ['faster', 'equal'].includes(proof.verdict), short = (value) => String(Number(value.toPrecision(3)));
  const notes = [`${device.name}${proof.recorded ? ' (a recording stood in for it)' : ''}; PyTorch ${before.torch}; times by call site: ${before.clock}, run ${proof.run}.`,
    proof.masks_assumed && 'Masks were taken to be those captured, unread (assume_masks="captured").', proof.unverified?.length && `No gate has checked ${proof.unverified.join(', ')}.`,
    before.waits_for_python && 'They include waiting for Python.', times && `${times.rounds_us.fatune.length} interleaved rounds in random order.`];
  const section = (title, note, ...parts) => el('section', {}, el('h2', {}, title), note ? el('p', {class: 'soft'}, note) : null, ...parts);
  return [el('section', {class: 'hero'}, el('h1', {}, proof.name), el('div', {class: 'verdict'}, el('span', {class: `chip ${good ? 'good' : 'bad'}`}, PROOF_VERDICTS[proof.verdict])),
    el('p', {class: 'soft'}, notes.filter(Boolean).join(' ')), proofFacts(proof, times), ...savingLines(proof)),
  before.graph && proof.times ? section('The step in a CUDA graph', 'pytorch is PyTorch’s own choice; its backends by themselves are not shown mask tensors that say no more than full or causal, as kernels are not.', graphTable(proof)) : null,
  section('Attention by call site', '', ...(before.calls.length ? siteFigures(proof) : [el('p', {}, 'None was seen.')])),
  section('Who did the calls', '', textTable(['>calls', 'what', 'done by'], d3.sort(proof.calls, (row) => row.reason !== null).map((row) => [String(row.calls), row.call, row.reason === null ? 'a kernel' : `PyTorch: ${row.reason}`]))),
  section('Outputs', 'Against the same step with attention in double precision; allowed is twice what PyTorch’s own attention, and one that rounds after every step, are off by.', outputs.length
    ? textTable(['output', '>off by', '>allowed', 'verdict'], outputs.map((row) => [row.name, row.error === null ? 'incomparable' : short(row.error), short(row.limit), row.right ? 'right' : el('span', {class: 'chip bad'}, 'wrong')]))
    : el('p', {}, 'They were not compared.'))].filter(Boolean);
}
