// What happened before: each run with how it ended and why.

import { byId, el, show } from '../shell/dom.js';
import { get } from './api.js';
import { CAPS, put, watch } from './state.js';
import { dayOf, lasting, tally } from './words.js';

const TAGS = { done: 'ok', stopped: 'warn', failed: 'fail', interrupted: 'fail' };

/** Where the run itself left no reason. */
const CAUSES = {
  killed: 'cut off: the program was killed, or its power was cut',
  stopped: 'stopped on request',
  error: 'failed',
};

export function start() {
  watch('history', draw);
}

/** Fetch the last runs. */
export async function fetchHistory() {
  put('history', await get(`history?limit=${CAPS.history}`));
}

function draw(runs) {
  show(byId('no-history'), runs.length === 0);
  byId('history').replaceChildren(...runs.map(entry));
}

function entry(run) {
  const status = run.status ?? 'running';
  const work = run.work_s != null ? `${lasting(run.work_s)} of work` : '';
  const held = run.paused_s >= 1 ? `${lasting(run.paused_s)} of waiting` : '';
  const retries = Object.values(run.retries ?? {}).reduce((sum, n) => sum + n, 0);
  const again = retries ? `${retries} ${retries === 1 ? 'retry' : 'retries'}` : '';
  return el(
    'li',
    {},
    el('time', { datetime: run.started_at, text: dayOf(run.started_at) }),
    el('span', { class: `tag ${TAGS[status] ?? ''}`, text: status }),
    el('b', { text: `${run.scene} under ${run.lighting}` }),
    run.simulated ? el('span', { text: ' (simulated)' }) : null,
    run.reason || CAUSES[run.cause] ? el('div', { text: run.reason || CAUSES[run.cause] }) : null,
    el('p', { text: [tally(run.counts), work, held, again].filter(Boolean).join(' · ') }),
  );
}
