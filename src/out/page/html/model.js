// model.js - the page's JSON to what the charts ask for: names, times, candidates.
const byId = (id) => document.getElementById(id);

/// The document as charts want it: short names for times, ratios and the parts of a contestant.
function unpacked(page) {
  const time = (t) => ({us: t.median_us, low: t.ci95_us?.[0] ?? null, high: t.ci95_us?.[1] ?? null,
    q1: t.iqr_us?.[0], q3: t.iqr_us?.[1], samples: t.samples});
  const ratio = (r) => ({value: r.ratio, low: r.ci95[0], high: r.ci95[1]});
  const final = (f) => ({detail: '', reason: '', verdict: '', ...f,
    ...(f.hot && {hot: time(f.hot)}), ...(f.cold && {cold: time(f.cold)}), hot_rounds: f.hot_rounds_us, cold_rounds: f.cold_rounds_us,
    ratio: f.to_baseline && ratio(f.to_baseline), margin: f.verify?.margin, gates: f.verify?.gates ?? [],
    registers: f.resources?.registers, shared_bytes: (f.resources?.static_shared_bytes ?? 0) + (f.resources?.dynamic_shared_bytes ?? 0),
    sm_clock_mhz: f.conditions?.sm_clock_mhz_max && [f.conditions.sm_clock_mhz_min, f.conditions.sm_clock_mhz_max], temperature_c: f.conditions?.temperature_c,
    throttled: f.conditions?.throttled ?? []});
  const problem = (p) => ({name: '', ...p, shape: p.name ? p.label.slice(p.name.length + 1) : p.label, finals: p.finals.map(final)});
  return {...page, runs: page.runs.map((run) => ({...run, problems: run.problems.map(problem)}))};
}
let data = unpacked(JSON.parse(byId('data').textContent));

const NAMES = {
  'cudnn': 'cuDNN', 'cudnn:best': 'cuDNN, fastest plan', 'cublas': 'cuBLAS, softmax, cuBLAS',
  'torch:auto': 'PyTorch, its choice', 'torch:flash': 'PyTorch, FlashAttention-2', 'torch:cudnn': 'PyTorch, cuDNN',
  'torch:efficient': 'PyTorch, efficient', 'torch:math': 'PyTorch, math', 'external:fa3': 'FlashAttention-3',
  'hybrid_qkt': 'cuBLAS QKᵀ, own rest', 'hybrid_pv': 'own start, cuBLAS PV', 'naive': 'naive reference',
};
const implName = (impl) => NAMES[impl] ?? impl.replace(/^fatune:/, '');
const isBaseline = (final) => final.role === 'baseline';

// Numbers as people read them. Times are microseconds everywhere.
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

const objectiveOf = (run) => run.objective === 'cold' ? 'cold' : 'hot';
const problemName = (problem) => problem.name || problem.shape;
const problemTitle = (problem) => problem.name ? `${problem.name} · ${problem.shape}` : problem.shape;
const bestOf = (problem) => problem.has_best ? problem.finals[0] : null;
const measured = (final, objective) => final.outcome === 'measured' && final[objective] !== undefined;
const baselinesOf = (problem, objective) =>
  problem.finals.filter((f) => isBaseline(f) && measured(f, objective)).sort((a, b) => a[objective].us - b[objective].us);

const VERDICT_CLASS = {Excellent: 'good', Good: 'good', Modest: 'fair', Parity: 'plain', Regression: 'bad'};

const cache = new WeakMap();

/// The candidates of a problem as objects, in the order tried.
function candidatesOf(problem, objective) {
  const known = cache.get(problem);
  if (known) return known;
  const c = problem.candidates;
  const list = c.kernel.map((k, i) => ({
    number: i + 1, kernel: problem.kernels[k].name, k, config: c.config[i], id: c.id[i], outcome: c.outcome[i],
    reason: c.reason[i] < 0 ? '' : problem.reasons[c.reason[i]], at: c.at_s[i], hot: c.hot_median_us[i], cold: c.cold_median_us[i],
    margin: c.margin[i], registers: c.registers[i], shared: c.shared_bytes[i], spills: c.spill_bytes[i],
    us: c.outcome[i] === 'measured' ? c[objective + '_median_us'][i] : null,
  }));
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
const finalConfig = (final) => Object.entries(final.config ?? {}).map(([k, v]) => `${k}=${v}`).join(' ');

/// Kernels keep their colour over the whole page.
const kernelNames = [];
function kernelColour(name) {
  if (!kernelNames.includes(name)) kernelNames.push(name);
  return `var(--k${kernelNames.indexOf(name) % 6})`;
}
/// The winner's kernel first: it gets the accent.
function settleColours() {
  const wins = new Map();
  for (const run of data.runs) {
    for (const problem of run.problems) {
      const objective = objectiveOf(run);
      const best = bestOf(problem) ?? d3.least(candidatesOf(problem, objective).filter((c) => c.us !== null), (c) => c.us);
      if (best) wins.set(best.kernel, (wins.get(best.kernel) ?? 0) + 1);
    }
  }
  for (const [name] of [...wins].sort((a, b) => b[1] - a[1])) kernelColour(name);
  for (const run of data.runs) for (const problem of run.problems) for (const kernel of problem.kernels) kernelColour(kernel.name);
}
const finalColour = (final) => isBaseline(final) ? 'var(--other)' : kernelColour(final.kernel);
