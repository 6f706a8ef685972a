// The preflight: what can spoil a night, worst first, each with what to do.

import { byId, el, say, show } from '../shell/dom.js';
import { get, Refused } from './api.js';
import { CAPS, put, watch } from './state.js';
import { dayOf } from './words.js';

const WORST_FIRST = ['fail', 'warn', 'ok'];

export function start() {
  watch('preflight', draw);
}

/** Fetch the last findings. */
export async function fetchPreflight() {
  try {
    put('preflight', await get('preflight'));
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 404) throw error;
  }
}

function draw({ at, scene, lighting, findings }) {
  if (!findings) return;
  const worst = WORST_FIRST.find((status) => findings.some((one) => one.status === status));
  const sum = { fail: 'A sweep is refused', warn: 'Something to weigh', ok: 'All is well' }[worst] ?? '';
  const of = scene ? ` for ${scene} under ${lighting}` : '';
  say(byId('preflight-at'), at ? `${sum}${of}, ${dayOf(at)}.` : 'Not run yet.');
  const sorted = [...findings].sort((a, b) => WORST_FIRST.indexOf(a.status) - WORST_FIRST.indexOf(b.status));
  const shown = sorted.slice(0, CAPS.findings);
  const fine = shown.filter(({ status }) => status === 'ok');
  byId('preflight').replaceChildren(...shown.filter(({ status }) => status !== 'ok').map(entry));
  byId('fine-list').replaceChildren(...fine.map(entry));
  say(byId('fine-says'), `${fine.length} ${fine.length === 1 ? 'check is' : 'checks are'} fine`);
  show(byId('fine'), fine.length > 0);
}

function entry({ check, status, found, wanted, action }) {
  return el(
    'li',
    {},
    el('span', { class: `tag ${status}`, text: status }),
    el('b', { text: check.replaceAll('_', ' ') }),
    el('span', { text: `: ${found}` }),
    status === 'ok' ? null : el('p', { text: `wanted: ${wanted}` }),
    action ? el('p', { class: 'act', text: action }) : null,
  );
}
