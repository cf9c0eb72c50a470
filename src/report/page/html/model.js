// model.js: Derives what the charts draw from the records of journals and best.json.
const byId = (id) => document.getElementById(id);

/// The times: in a layer, after plain launches, after launches of its own kind, after a flush.
const TIMES = ['in_layer', 'plain', 'hot', 'cold'];

/// The page's JSON, read by page.js: {runs}, of a sweep, or the document of an evolution or a proof.
let data = null;

/// Numbers that JSON lacks are texts.
const numberOf = (value) => value === 'inf' ? Infinity : value === 'nan' ? NaN : value ?? null;

/// Returns the records of a table of columns, whose names are paths: "/hot/median_us".
function recordsOf({count, columns}) {
  const records = Array.from({length: count}, () => Object.create(null));
  for (const [path, column] of Object.entries(columns)) {
    const keys = path.split('/').slice(1), last = keys.pop();
    const at = Array.isArray(column) ? (i) => column[i] : column.at ? (i) => column.values[column.at[i]] : () => column.all;
    records.forEach((record, i) => {
      const value = at(i);
      if (value !== null && value !== undefined) keys.reduce((place, key) => place[key] ??= Object.create(null), record)[last] = value;
    });
  }
  return records;
}

/// Returns the parameters of a kernel with the values that its candidates have: numbers ascend,
/// words keep the order of first appearance.
function parametersOf(records) {
  const parameters = new Map();
  for (const [name, value] of records.flatMap(({config}) => Object.entries(config ?? {}))) {
    if (!parameters.has(name)) parameters.set(name, new Set());
    parameters.get(name).add(value);
  }
  const sorted = (values) => values.some((value) => typeof value === 'string') ? values : values.sort((a, b) => a - b);
  return [...parameters].map(([name, values]) => ({name, values: sorted([...values])}));
}

const resourcesOf = (r) => r ? {registers: r.registers ?? null, shared: r.static_shared_bytes + (r.dynamic_shared_bytes ?? 0),
  spills: r.spill_store_bytes + r.spill_load_bytes, threads: r.threads ?? null, resident: r.blocks_per_sm ?? null} : {};

/// Returns a contestant of the final phase with short names.
function finalOf(f, i, problem, run) {
  const time = (t) => ({us: t.median_us, low: t.ci95_us?.[0] ?? null, high: t.ci95_us?.[1] ?? null, q1: t.iqr_us?.[0], q3: t.iqr_us?.[1], samples: t.samples});
  const {to_baseline: ratio, conditions} = f, best = problem.has_best ? problem.finals[0] : null, which = problem.time;
  return {detail: '', reason: '', ...f, ...Object.fromEntries(TIMES.filter((name) => f[name]).map((name) => [name, time(f[name])])),
    ratio: ratio && {value: ratio.ratio, low: ratio.ci95[0], high: ratio.ci95[1]}, verdict: i === 0 ? problem.verdict : '', colour: run.colours[f.kernel],
    best_over_this: f.role === 'baseline' && f.outcome === 'measured' && f[which] && best?.[which] ? best[which].median_us / f[which].median_us : null,
    margin: numberOf(f.verify?.margin), gates: f.verify?.gates ?? [], ...resourcesOf(f.resources),
    sm_clock_mhz: conditions?.sm_clock_mhz_max && [conditions.sm_clock_mhz_min, conditions.sm_clock_mhz_max], temperature_c: conditions?.temperature_c, throttled: conditions?.throttled ?? [], others: conditions?.other_processes ?? 0};
}

/// Returns a candidate with short names; `config` has positions in the parameters' values, -1 where the config lacks one.
function candidateOf(r, k, kernel, problem, run) {
  const median = (which) => r[which]?.median_us ?? null, at_once = (r.resources?.blocks_per_sm ?? 0) * run.environment.sm_count, blocks = r.resources?.blocks ?? 0;
  return {number: r.number, kernel: kernel.name, k, config: kernel.parameters.map(({name, values}) => values.indexOf(r.config?.[name])), params: r.config ?? {},
    id: r.id, outcome: r.outcome, reason: r.reason ?? '', at: r.at_s, spent: r.spent, device: r.measured_on?.device ?? null,
    in_layer: median('in_layer'), hot: median('hot'), cold: median('cold'), margin: numberOf(r.verify?.margin),
    registers: null, shared: null, spills: null, threads: null, resident: null, ...resourcesOf(r.resources),
    waves: at_once && blocks ? blocks / at_once : null, wavesUnknown: at_once && !blocks ? 'the journal has no grids' : null,
    us: r.outcome === 'measured' ? median(problem.search_time) : null, warm: r.warm_start ?? null};
}

const REASONS_SHOWN = 12;
/// Removes numbers, which differ between candidates with equal reasons.
const withoutNumbers = (reason) => reason.replace(/(?<![A-Za-z_])\d([\d.]*\d)?/g, '#');
/// Returns the outcomes, each with its count and its most frequent reasons.
function outcomesOf(candidates) {
  const counted = d3.group(d3.sort(candidates, (c) => c.k), (c) => c.outcome);
  return Object.keys(OUTCOME_MEANING).filter((outcome) => counted.has(outcome)).map((outcome) => {
    const same = counted.get(outcome), kinds = d3.group(same.filter((c) => c.reason), (c) => withoutNumbers(c.reason));
    const reasons = d3.sort(kinds, ([kind]) => kind).sort((a, b) => b[1].length - a[1].length);
    return {outcome, count: same.length, reasons: reasons.slice(0, REASONS_SHOWN).map(([, list]) => ({count: list.length, example: list[0].reason}))};
  });
}

/// Returns a problem with its candidates in the order tried, and what follows from them.
function problemOf(p, run) {
  const groups = p.groups.map((group) => ({...group, records: recordsOf(group.candidates)}));
  const kernels = groups.map(({kernel, importance, records}) => ({name: kernel, colour: run.colours[kernel], importance: importance ?? null, parameters: parametersOf(records)}));
  const candidates = groups.flatMap(({records}, k) => records.map((record) => candidateOf(record, k, kernels[k], p, run))).sort((a, b) => a.number - b.number);
  // A problem of a suite begins with its first candidate, a single problem with the run.
  const [first] = candidates, begun_s = first && run.plan.problems.length > 1 ? Math.max(0, first.at - first.spent.compile_s - first.spent.verify_s - first.spent.timing_s) : 0;
  for (const c of candidates) c.at -= begun_s;
  return {...p, shape: p.name ? p.label.slice(p.name.length + 1) : p.label, finals: p.finals.map((f, i) => finalOf(f, i, p, run)), kernels, candidates,
    outcomes: outcomesOf(candidates), begun_s, ended_s: d3.max(p.finals, (f) => f.at_s) ?? 0};
}

/// Returns a run with the members of its plan.
const runOf = (run) => ({...run, ...run.plan, device: run.environment, fatune: run.environment.fatune, correctness_skipped: run.plan.skip_correctness,
  recorded: run.environment.recorded || run.problems.some(({finals}) => finals.some((f) => f.recorded)), problems: run.problems.map((problem) => problemOf(problem, run))});
const unpacked = (page) => page.runs ? {...page, runs: page.runs.map(runOf)} : page;

const NAMES = {
  'cudnn': 'cuDNN', 'cudnn:best': 'cuDNN, fastest plan', 'cublas': 'cuBLAS, softmax, cuBLAS',
  'cutensor': 'cuTENSOR, softmax, cuTENSOR',
  'torch:auto': 'PyTorch, its choice', 'torch:flash': 'PyTorch, FlashAttention-2', 'torch:cudnn': 'PyTorch, cuDNN',
  'torch:efficient': 'PyTorch, efficient', 'torch:math': 'PyTorch, math', 'flashinfer': 'FlashInfer', 'fa3': 'FlashAttention-3', 'fa4': 'FlashAttention-4', 'flex': 'FlexAttention', 'sage': 'SageAttention',
  'hybrid_qkt': 'cuBLAS QKᵀ, own rest', 'hybrid_pv': 'own start, cuBLAS PV', 'naive': 'naive reference',
};
const implName = (impl) => NAMES[impl] ?? impl.replace(/^fatune:/, '');
const isBaseline = (final) => final.role === 'baseline';

// Formats numbers for readers. All times are microseconds.
const digits = (value, n) => {
  if (value === 0) return '0';
  const places = Math.max(0, n - 1 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString('en-US', {minimumFractionDigits: places, maximumFractionDigits: places});
};
const us = (value) => digits(value, value < 1000 ? 4 : Math.ceil(Math.log10(value)));
const us3 = (value) => digits(value, value < 100 ? 3 : Math.ceil(Math.log10(value)));
const times = (value) => digits(value, 3);
const count = (value) => value.toLocaleString('en-US');
const percent = (share, places = 0) => (100 * share).toFixed(places) + ' %';
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;
const bytes = (n) => n >= 2 ** 30 ? (n / 2 ** 30).toFixed(0) + ' GiB' : n >= 2 ** 20 ? (n / 2 ** 20).toFixed(0) + ' MiB'
  : n >= 1024 ? digits(n / 1024, 4).replace(/\.0+$/, '') + ' KiB' : n + ' B';
const seconds = (s) => s < 120 ? `${digits(s, 3)} s` : `${Math.floor(s / 60)} min ${String(Math.round(s % 60)).padStart(2, '0')} s`;

/// Returns the times of the finals, ranking time first; omits hot if it always equals plain.
function timesOf(problem) {
  const all = problem.finals, has = (which) => all.some((f) => measured(f, which));
  const chained = !has('plain') || all.some((f) => f.hot && f.plain && f.hot.us !== f.plain.us);
  return TIMES.filter((which) => has(which) && (which !== 'hot' || chained)).sort((a, b) => (b === problem.time) - (a === problem.time));
}
const searchWord = (problem) => problem.search_time === 'in_layer' ? 'in layer' : problem.search_time;
const timeWord = (problem, which) => which === 'in_layer' ? 'in layer' : which === 'hot' && problem.finals.some((f) => f.plain) ? 'chained' : which;
const TIME_MEANING = {
  'in layer': 'a layer of matrix product, attention and product, less the same layer without attention: what a program gets', plain: 'plain launches of itself, back to back',
  chained: 'back to back, each launch begun while the one before it ends; in a program its neighbours are other kernels, so it has no ratio', hot: 'launches of itself, back to back', cold: 'one launch, L2 flushed',
};
const problemName = (problem) => problem.name || problem.shape;
const problemTitle = (problem) => problem.name ? `${problem.name} · ${problem.shape}` : problem.shape;
const bestOf = (problem) => problem.has_best ? problem.finals[0] : null;
const measured = (final, objective) => final.outcome === 'measured' && final[objective] !== undefined;
const baselinesOf = (problem, objective) =>
  problem.finals.filter((f) => isBaseline(f) && measured(f, objective)).sort((a, b) => a[objective].us - b[objective].us);

/// Returns baselines without a time, by name: the number of problems, and the reason at the first.
/// A ratio there excludes the baseline.
function absencesOf(problems) {
  const absent = new Map();
  for (const f of problems.flatMap((p) => p.finals).filter((f) => isBaseline(f) && f.outcome !== 'measured')) {
    const first = {problems: 0, why: f.outcome + (f.reason ? ': ' + f.reason.split('\n')[0] : '')};
    const entry = absent.get(f.impl) ?? first;
    ++entry.problems;
    absent.set(f.impl, entry);
  }
  return absent;
}

const VERDICT_CLASS = {Excellent: 'good', Good: 'good', Modest: 'fair', Parity: 'plain', Regression: 'bad'};

const valueText = (value) => String(value);
const configText = ({params}) => Object.entries(params).map(([name, value]) => `${name}=${valueText(value)}`).join(' ');
const finalConfig = (final) => configText({params: final.config ?? {}});

/// Takes a kernel or a finalist.
const kernelColour = ({colour}) => `var(--k${colour})`;
const finalColour = (final) => isBaseline(final) ? 'var(--other)' : kernelColour(final);

/// Returns the parameters in which configs of one kernel differ, over all kernels.
function differing(configs) {
  const names = new Set();
  for (const [, same] of d3.group(configs, (c) => c.kernel)) {
    for (const name of same.flatMap((c) => Object.keys(c.config))) if (new Set(same.map((c) => valueText(c.config[name]))).size > 1) names.add(name);
  }
  return [...names];
}

/// Returns the share of the threads that a multiprocessor can hold.
const occupancy = (run, x) => x.resident && x.threads && run.device.max_threads_sm ? x.resident * 32 * Math.ceil(x.threads / 32) / run.device.max_threads_sm : null;

/// Returns the waves of a finalist from the candidate with its id.
const wavesOf = (problem, final) => { const c = problem.candidates.find((each) => each.id === final.id); return {waves: c?.waves ?? null, wavesUnknown: c?.wavesUnknown}; };

/// Quotes an expression for the shell.
const quoted = (text) => /[ <>&|()?!*]/.test(text) ? `'${text}'` : text;
/// Returns the command-line options of a problem.
function problemOptions({problem: p}) {
  if (p.sizes) return '--size ' + Object.entries(p.sizes).map((pair) => pair.join('=')).join(',');
  return [`--shape ${p.batch},${p.heads},${p.seq_q},${p.head_dim}`, p.kv_heads !== p.heads && `--kv-heads ${p.kv_heads}`, p.seq_kv !== p.seq_q && `--seq-kv ${p.seq_kv}`, p.value_dim && `--value-dim ${p.value_dim}`,
    p.dtype !== 'f16' && `--dtype ${p.dtype}`, p.mask === 'causal' ? '--causal' : p.mask !== 'none' && `--mask ${quoted(p.mask)}`, p.scale && `--scale ${p.scale}`, p.softcap && `--softcap ${p.softcap}`, p.bias && `--bias ${p.bias}`, p.alibi && '--alibi', p.sink && '--sink', p.score && `--score ${quoted(p.score)}`, p.lse && '--lse', typeof p.layout === 'string' && `--layout ${p.layout}`].filter(Boolean).join(' ');
}
