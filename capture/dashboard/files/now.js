// The state in one sentence, what to do next, progress, and the speech for screen readers.

import { announce, byId, el, mark, say, show, svg } from '../shell/dom.js';
import { read, watch } from './state.js';
import { tally, timeOf, unbroken } from './words.js';

/** Name and shape of each state: none but idle looks idle, and color tells nothing alone. */
const STATES = {
  idle: ['Idle', 'M12 4a8 8 0 1 0 0.01 0'],
  preparing: ['Preparing', 'M12 3v6M12 15v6M3 12h6M15 12h6'],
  running: ['Shooting', 'M7 4l13 8-13 8z', true],
  pausing: ['Pausing', 'M8 4v16M16 4v16'],
  paused: ['Paused: on hold', 'M6 4h4v16h-4zM14 4h4v16h-4z', true],
  needs_operator: ['Waiting for you', 'M12 2l11 20h-22zM12 9v6M12 18v1'],
  resuming: ['Going on', 'M4 4l8 8-8 8M12 4l8 8-8 8'],
  stopping: ['Stopping', 'M5 5h14v14h-14z'],
  done: ['Done', 'M3 13l6 6 12-14'],
  failed: ['Failed', 'M4 4l16 16M20 4l-16 16'],
  interrupted: ['Interrupted', 'M3 12h6l2-5 3 10 2-5h5'],
};

let spoken = null;
let quarter = 0;

export function start() {
  watch('state', draw);
  watch('link', stale);
}

function draw(state) {
  const [word, path, solid] = STATES[state.state] ?? [state.state, STATES.idle[1]];
  const line = byId('state');
  if (line.dataset.state !== state.state) {
    line.dataset.state = state.state;
    const shape = svg('path', { d: path, class: solid ? 'solid' : '' });
    line.replaceChildren(svg('svg', { viewBox: '0 0 24 24', 'aria-hidden': 'true' }, shape), el('span', { class: 'hidden', text: word }));
  }
  say(byId('sentence'), unbroken(state.sentence));
  // A question says its action itself.
  show(byId('next'), Boolean(state.next) && !state.question);
  say(byId('next'), state.next ?? '');
  say(byId('about'), [state.rig?.camera, state.rig?.meter].filter(Boolean).join(' · '));
  show(byId('simulated'), Boolean(state.simulated));
  progress(state);
  speak(state, word);
  document.title = title(state, word);
}

function title(state, word) {
  const { job } = state;
  const live = job && !['idle', 'done', 'failed', 'interrupted'].includes(state.state);
  return live && job.planned ? `${word} ${job.done}/${job.planned} · snaprig` : `${word} · snaprig`;
}

function progress(state) {
  const { job } = state;
  const shown = Boolean(job?.planned);
  show(byId('progress'), shown);
  if (!shown) return;
  say(byId('done'), String(job.done));
  say(byId('planned'), `of ${job.planned} shots`);
  const whole = job.left_text && state.batch ? `batch: ${state.batch.left_text}` : '';
  say(byId('left'), [job.left_text, whole].filter(Boolean).join(' · '));
  say(byId('counts'), tally(job.counts));
  const bar = byId('bar');
  mark(bar, 'aria-valuemax', String(job.planned));
  mark(bar, 'aria-valuenow', String(job.done));
  mark(bar, 'aria-valuetext', `${job.done} of ${job.planned} shots`);
  byId('bar-done').style.setProperty('--share', `${(100 * job.done) / job.planned}%`);
}

/** Politely at each change of the state and each quarter; urgently only where somebody must act. */
function speak(state, word) {
  const { job } = state;
  const now = job?.planned ? Math.floor((4 * job.done) / job.planned) : 0;
  const key = `${state.state} ${job?.id} ${state.question?.id ?? ''}`;
  if (key !== spoken) {
    const first = spoken === null;
    spoken = key;
    quarter = now;
    const urgent = state.state === 'needs_operator';
    const asked = state.question ? `${state.question.text} ${state.question.action ?? ''}` : `${state.sentence} ${state.next ?? ''}`;
    if (urgent) announce(`${word}. ${asked}`, true);
    else if (!first) announce(state.sentence);
  } else if (now > quarter) {
    quarter = now;
    announce(state.sentence);
  }
}

function stale(link) {
  const banner = byId('stale');
  if (link.stale && banner.hidden) announce('The connection to the daemon is lost.');
  mark(document.documentElement, 'data-stale', link.stale);
  show(banner, link.stale);
  const at = timeOf(link.at);
  if (link.stale) say(banner, `No connection to the daemon. Last update ${at}. What you see is old; a sweep that runs goes on.`);
  say(byId('link'), link.stale ? `last update ${at}` : 'live');
}

/** Whether what is shown may be acted upon. */
export const live = () => read('link')?.stale === false;
