// Pause, resume, stop, answers. Each command is explicit, so that two tabs cannot undo each other.

import { onKey } from '../shell/look.js';
import { byId, el, mark, say, show } from '../shell/dom.js';
import { post, Refused } from './api.js';
import { live } from './now.js';
import { putState, read, watch } from './state.js';
import { timeOf } from './words.js';

let busy = false;
let asked = null;
let answered = null;
let stopping = null;

export function start() {
  watch('state', draw);
  watch('link', () => read('state') && draw(read('state')));
  byId('pause').addEventListener('click', () => command('pause'));
  byId('resume').addEventListener('click', () => command('resume'));
  byId('stop').addEventListener('click', openStop);
  byId('acknowledge').addEventListener('click', () => command('acknowledge', { alert: read('state').alert.id }));
  byId('keep').addEventListener('click', () => byId('stop-dialog').close());
  byId('stop-now').addEventListener('click', () => {
    byId('stop-dialog').close();
    command('stop', { confirm: stopping });
  });
  onKey('p', 'pause, or resume', () => {
    const button = [byId('pause'), byId('resume')].find((one) => !one.hidden && !one.disabled);
    button?.click();
  });
  onKey('x', 'stop the sweep: asks first', () => openStop());
}

/** Send a command and show the state that it led to, or why it was refused. */
export async function command(name, body = {}) {
  if (busy || !live()) return false;
  busy = true;
  draw(read('state'));
  show(byId('refused'), false);
  try {
    const answer = await post(name, body);
    putState(answer.state?.boot ? answer.state : answer);
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(byId('refused'), error.message);
    show(byId('refused'), true);
    return false;
  } finally {
    busy = false;
    draw(read('state'));
  }
}

function draw(state) {
  if (!state) return;
  const can = state.can ?? {};
  const off = busy || !live();
  // A button that has the focus must not vanish under it: Pause turns into Resume.
  const had = document.activeElement;
  for (const name of ['pause', 'resume', 'stop']) {
    const button = byId(name);
    show(button, can[name] === true || (name === 'pause' && state.state === 'pausing'));
    mark(button, 'disabled', off || can[name] !== true);
  }
  // Beside a question its answer is the thing to press.
  byId('pause').classList.toggle('main', !state.question);
  say(byId('pause'), state.state === 'pausing' ? 'Pausing after this shot …' : 'Pause');
  const kind = state.job?.kind === 'batch' ? 'batch' : 'sweep';
  say(byId('resume'), ['paused', 'pausing', 'resuming'].includes(state.state) ? 'Resume' : 'Go on with what is unfinished');
  say(byId('stop'), `Stop the ${kind} …`);
  if ((had?.id === 'pause' || had?.id === 'resume') && had.hidden) {
    [byId('pause'), byId('resume')].find((one) => !one.hidden)?.focus();
  }
  if (can.stop !== true && byId('stop-dialog').open) byId('stop-dialog').close();
  if (byId('stop-dialog').open) mark(byId('stop-now'), 'disabled', off);
  const { alert } = state;
  show(byId('alarm'), Boolean(alert) && !alert.acknowledged);
  say(byId('alarm-text'), alert ? `Somebody is needed since ${timeOf(alert.since)}.` : '');
  mark(byId('acknowledge'), 'disabled', off);
  question(state.question, off);
}

function question(now, off) {
  const box = byId('question');
  show(box, Boolean(now));
  if (!now) {
    asked = null;
    return;
  }
  say(byId('question-text'), now.text);
  // The sentence above says it already, large.
  show(byId('question-text'), !read('state').sentence.includes(now.text));
  say(byId('question-action'), now.action ?? '');
  const answers = byId('answers');
  if (asked !== now.id) {
    asked = now.id;
    answers.replaceChildren(
      ...now.answers.map(({ id, label }, at) =>
        el('button', {
          type: 'button', text: label, class: at === 0 ? 'main' : '', 'data-answer': id,
          onclick: () => reply(now.id, id),
        }),
      ),
    );
  }
  for (const button of answers.children) mark(button, 'disabled', off || answered === now.id);
}

/** An answer that was taken cannot be given again while the rig acts on it. */
async function reply(question, answer) {
  if (await command('answer', { question, answer })) {
    answered = question;
    draw(read('state'));
  }
}

function openStop() {
  const state = read('state');
  if (!state?.confirm || state.can?.stop !== true || !live()) return;
  stopping = state.confirm.job;
  say(byId('stop-says'), state.confirm.text);
  const kind = state.job?.kind === 'batch' ? 'batch' : 'sweep';
  say(byId('stop-title'), `Stop the ${kind}?`);
  say(byId('stop-now'), `Stop the ${kind}`);
  byId('stop-dialog').showModal();
  byId('keep').focus();
}
