// Start a sweep or a batch. Radio buttons of our own, since a browser's lists open in white.

import { byId, el, mark, say, show } from '../shell/dom.js';
import { get } from './api.js';
import { command } from './controls.js';
import { live } from './now.js';
import { put, read, watch } from './state.js';

const LONG = 8; // scenes from which on there is a field to find one

/** Whether a start is under way, or refused and its choices not yet read anew. */
let starting = false;

export function start() {
  watch('state', draw);
  watch('link', draw);
  watch('options', fill);
  byId('start').addEventListener('submit', begin);
  byId('start').addEventListener('change', draw);
  byId('check-now').addEventListener('click', check);
  byId('scene-filter').addEventListener('input', filter);
}

/** Fetch what can be started. */
export async function fetchOptions() {
  put('options', await get('options'));
}

function fill({ scenes, lightings, plans, batches = [] }) {
  const count = ({ category, count: n }) => `${n} × ${category}`;
  options('scenes', 'scene', scenes.map((one) => [one.name, one.name, count(one)]));
  options('lightings', 'lighting', lightings.map((one) => [one.name, one.name, `${one.lux} lux`]));
  options('plans', 'plan', [
    // A plan without a file is the whole grid; a colon stands in no file name of ours.
    ...plans.map((one) => [one.name, one.name || 'Full grid', `${one.shots} shots, ${one.duration_text}`]),
    ...batches.map((one) => [`batch:${one.name}`, `Batch ${one.name}`, `${one.scenes.length * one.lightings.length} sweeps`]),
  ]);
  show(byId('scene-find'), scenes.length > LONG);
  draw();
}

/** Radio buttons [value, label, more]; what was chosen stays chosen, else the last scene or the
 * first of the others is. */
function options(place, name, entries) {
  const before = chosen(name);
  const fallback = name === 'scene' ? entries.at(-1)?.[0] : entries[0]?.[0];
  const pick = entries.some(([value]) => value === before) ? before : fallback;
  byId(place).replaceChildren(
    ...entries.map(([value, label, more]) =>
      el(
        'label',
        { class: 'check' },
        el('input', { type: 'radio', name, value, checked: value === pick }),
        el('span', {}, `${label} `, el('small', { text: more })),
      ),
    ),
  );
  if (!entries.length) {
    const how = { scene: 'None yet: snaprig scene add NAME', lighting: 'None in rig.toml', plan: 'None' }[name];
    byId(place).append(el('p', { class: 'soft', text: how }));
  }
}

const chosen = (name) => byId('start').querySelector(`[name=${name}]:checked`)?.value;

function filter() {
  const text = byId('scene-filter').value.trim().toLowerCase();
  for (const label of byId('scenes').children) show(label, label.textContent.toLowerCase().includes(text));
}

function choice() {
  const plan = chosen('plan');
  const batch = plan?.startsWith('batch:') ? plan.slice('batch:'.length) : null;
  return { batch, plan, scene: chosen('scene'), lighting: chosen('lighting') };
}

function draw() {
  const state = read('state');
  if (!state) return;
  const can = state.can?.start === true;
  show(byId('start'), can);
  const { batch, plan, scene, lighting } = choice();
  const complete = batch !== null || (plan !== undefined && Boolean(scene && lighting));
  mark(byId('start-now'), 'disabled', !can || !live() || !complete || starting);
  mark(byId('check-now'), 'disabled', !can || !live() || !scene || !lighting);
  say(byId('start-now'), batch ? `Start batch ${batch}` : complete ? `Start ${scene} under ${lighting}` : 'Start');
}

async function begin(event) {
  event.preventDefault();
  if (starting) return;
  starting = true;
  draw();
  try {
    await order();
  } finally {
    starting = false;
    draw();
  }
}

async function order() {
  const { batch, plan, scene, lighting } = choice();
  // The revision that these choices were read with: if the rig has moved on since, it says so.
  const sweep = byId('guided').checked ? 'guided' : 'exhaustive';
  const what = batch ? { kind: 'batch', batch } : { kind: 'sweep', scene, lighting, plan: plan || null, sweep };
  const started = await command('start', { ...what, rev: read('options').rev, key: newKey() });
  if (started) byId('main').focus();
  else await fetchOptions();
}

/** Sent twice by a slow network, a start is still one start. */
const newKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (n) => n.toString(16).padStart(2, '0')).join('');

async function check() {
  const { scene, lighting, plan, batch } = choice();
  await command('preflight', { scene, lighting, plan: batch === null ? plan || null : null, key: newKey() });
  byId('preflight-panel').scrollIntoView({ block: 'nearest' });
}
