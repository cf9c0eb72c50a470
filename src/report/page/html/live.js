// live.js: Polls the sweep for newer data once a second and redraws changes.

const ASK_EVERY_MS = 1000;

function liveText(live) {
  if (live.finished) return 'the sweep has ended';
  const parts = [];
  if (live.problems > 1) parts.push(`problem ${live.problem_number} of ${live.problems}`);
  parts.push(live.phase === 'final' ? 'final phase' : live.all ? `${count(live.done)} of ${count(live.all)}` : plural(live.done, 'candidate'));
  if (live.left_s !== null) parts.push(`${seconds(Math.max(Math.ceil(live.left_s), 1)).replace(/\.0+ s$/, ' s')} left`);
  return parts.join(' · ');
}

function showLive(text, over) {
  const box = byId('live');
  box.hidden = false;
  box.textContent = text;
  box.classList.toggle('over', over);
}

/// Returns whether the reader is making a choice or a selection; redraws then wait.
const busy = () => byId('main').contains(document.activeElement) || String(getSelection()) !== '';

let waiting = null, lastRuns = '';
function draw(next) {
  const runs = JSON.stringify(next.runs);
  data = unpacked(next);
  showLive(liveText(next.live), next.live.finished);
  if (runs === lastRuns) return;
  lastRuns = runs;
  const open = [...document.querySelectorAll('main details[open]')].map((d) => d.closest('figure')?.id);
  const y = scrollY;
  render();
  for (const id of open) { const details = id && byId(id)?.querySelector('details'); if (details) details.open = true; }
  scrollTo(0, y);
}

async function ask() {
  try {
    const answer = await fetch('data.json', {cache: 'no-cache'});
    if (!answer.ok) throw new Error(answer.statusText);
    waiting = await answer.json();
  } catch {
    showLive(data.live?.finished ? 'the sweep has ended' : 'the sweep has ended, or cannot be reached', true);
    return;
  }
  if (!busy() || waiting.live.finished) draw(waiting);
  if (waiting.live.finished) return;
  setTimeout(ask, ASK_EVERY_MS);
}

document.querySelector('footer').prepend(el('p', {}, 'Live until the sweep ends. From another machine: ', el('code', {}, `ssh -L ${location.port}:127.0.0.1:${location.port} HOST`),
  '. Afterwards: ', el('code', {}, 'fatune report RUN -o report.html'), '.'));
showLive(liveText(data.live), data.live.finished);
ask();
