// model.js: Converts the page's JSON into the names, times and candidates of the charts.
const byId = (id) => document.getElementById(id);

/// The times: in a layer, after plain launches, after launches of its own kind, after a flush.
const TIMES = ['in_layer', 'plain', 'hot', 'cold'];

/// Returns the document with short names for times, ratios and parts of a contestant.
function unpacked(page) {
  const time = (t) => ({us: t.median_us, low: t.ci95_us?.[0] ?? null, high: t.ci95_us?.[1] ?? null,
    q1: t.iqr_us?.[0], q3: t.iqr_us?.[1], samples: t.samples});
  const ratio = (r) => ({value: r.ratio, low: r.ci95[0], high: r.ci95[1]});
  const final = (f) => ({detail: '', reason: '', verdict: '', ...f,
    ...Object.fromEntries(TIMES.filter((which) => f[which]).map((which) => [which, time(f[which])])),
    ratio: f.to_baseline && ratio(f.to_baseline), margin: f.verify?.margin, gates: f.verify?.gates ?? [],
    ...(f.resources && {registers: f.resources.registers ?? null, shared: f.resources.static_shared_bytes + (f.resources.dynamic_shared_bytes ?? 0),
      spills: f.resources.spill_store_bytes + f.resources.spill_load_bytes, threads: f.resources.threads ?? null, resident: f.resources.blocks_per_sm ?? null}),
    sm_clock_mhz: f.conditions?.sm_clock_mhz_max && [f.conditions.sm_clock_mhz_min, f.conditions.sm_clock_mhz_max], temperature_c: f.conditions?.temperature_c,
    throttled: f.conditions?.throttled ?? []});
  const problem = (p) => ({name: '', ...p, shape: p.name ? p.label.slice(p.name.length + 1) : p.label, finals: p.finals.map(final)});
  return {...page, runs: page.runs.map((run) => ({...run, problems: run.problems.map(problem)}))};
}
let data = unpacked(JSON.parse(byId('data').textContent));

const NAMES = {
  'cudnn': 'cuDNN', 'cudnn:best': 'cuDNN, fastest plan', 'cublas': 'cuBLAS, softmax, cuBLAS',
  'cutensor': 'cuTENSOR, softmax, cuTENSOR',
  'torch:auto': 'PyTorch, its choice', 'torch:flash': 'PyTorch, FlashAttention-2', 'torch:cudnn': 'PyTorch, cuDNN',
  'torch:efficient': 'PyTorch, efficient', 'torch:math': 'PyTorch, math', 'flashinfer': 'FlashInfer', 'fa3': 'FlashAttention-3', 'fa4': 'FlashAttention-4', 'sage': 'SageAttention',
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
  chained: 'launches of its own kind: a chained kernel begins while the one before it ends, which no program has', hot: 'launches of itself, back to back', cold: 'one launch, L2 flushed',
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

const cache = new WeakMap();

/// Returns the candidates of a problem as objects, in the order tried.
function candidatesOf(problem) {
  const known = cache.get(problem);
  if (known) return known;
  const c = problem.candidates;
  const list = c.kernel.map((k, i) => ({
    number: i + 1, kernel: problem.kernels[k].name, k, config: c.config[i], id: c.id[i], outcome: c.outcome[i],
    reason: c.reason[i] < 0 ? '' : problem.reasons[c.reason[i]], at: c.at_s[i], in_layer: c.in_layer_median_us[i], hot: c.hot_median_us[i], cold: c.cold_median_us[i],
    margin: c.margin[i], registers: c.registers[i], shared: c.shared_bytes[i], spills: c.spill_bytes[i], threads: c.threads[i], resident: c.blocks_per_sm[i], waves: c.waves[i],
    wavesUnknown: c.blocks_per_sm[i] && c.waves[i] === null ? problem.kernels[k].waves_unknown : null,
    us: c.outcome[i] === 'measured' ? c[problem.search_time + '_median_us'][i] : null, warm: null,
  }));
  for (const start of problem.warm_starts ?? []) list[start.candidate].warm ??= start.source;
  cache.set(problem, list);
  return list;
}

const valueText = (value) => String(value);

function configPairs(problem, candidate) {
  return problem.kernels[candidate.k].parameters
    .map((p, i) => [p.name, candidate.config[i] < 0 ? null : valueText(p.values[candidate.config[i]])])
    .filter(([, value]) => value !== null);
}
const configText = (problem, candidate) => configPairs(problem, candidate).map((pair) => pair.join('=')).join(' ');
const configObject = (problem, candidate) => Object.fromEntries(problem.kernels[candidate.k].parameters
  .flatMap((p, i) => candidate.config[i] < 0 ? [] : [[p.name, p.values[candidate.config[i]]]]));
const finalConfig = (final) => Object.entries(final.config ?? {}).map(([k, v]) => `${k}=${v}`).join(' ');

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
const wavesOf = (problem, final) => { const c = candidatesOf(problem).find((each) => each.id === final.id); return {waves: c?.waves ?? null, wavesUnknown: c?.wavesUnknown}; };

/// Returns the command-line options of a problem.
function problemOptions({problem: p}) {
  if (p.sizes) return '--size ' + Object.entries(p.sizes).map((pair) => pair.join('=')).join(',');
  return [`--shape ${p.batch},${p.heads},${p.seq_q},${p.head_dim}`, p.kv_heads !== p.heads && `--kv-heads ${p.kv_heads}`, p.seq_kv !== p.seq_q && `--seq-kv ${p.seq_kv}`,
    p.dtype !== 'f16' && `--dtype ${p.dtype}`, p.mask === 'causal' && '--causal', p.lse && '--lse', typeof p.layout === 'string' && `--layout ${p.layout}`].filter(Boolean).join(' ');
}
