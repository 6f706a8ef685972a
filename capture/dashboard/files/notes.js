// Retries and faults of the run, in plain words, newest first.

import { byId, el, show } from '../shell/dom.js';
import { get, Refused } from './api.js';
import { put, read, watch } from './state.js';
import { EVENTS, timeOf } from './words.js';

export function start() {
  watch('notes', draw);
}

/** Fetch what happened so far in the run of the job. */
export async function fetchNotes() {
  const run = read('state')?.job?.run;
  if (run == null) {
    put('notes', []);
    return;
  }
  try {
    const events = await get(`runs/${run}/events`);
    put('notes', events.reverse().map(({ at, kind, setting, text }) => ({ at, text: sentence(kind, setting, text) })));
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 404) throw error;
    put('notes', []);
  }
}

function sentence(kind, setting, detail) {
  const what = EVENTS[kind] ?? kind.replaceAll('_', ' ');
  return `${setting ? `${setting}: ` : ''}${what}${detail ? `: ${detail}` : ''}`;
}

/** Something happened. */
export const onNote = (note) => put('notes', [note, ...(read('notes') ?? [])]);

function draw(notes) {
  show(byId('no-notes'), notes.length === 0);
  byId('notes').replaceChildren(
    ...notes.map(({ at, text }) => el('li', {}, el('time', { datetime: at, text: timeOf(at) }), el('span', { text }))),
  );
}
