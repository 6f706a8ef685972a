// The sweep as a grid: what each triplet of shutter, ISO and F-number became.

import { byId, el, mark, say, show } from '../shell/dom.js';
import { get, Refused } from './api.js';
import { showFrame } from './frame.js';
import { CAPS, put, read, watch } from './state.js';
import { NOT_SHOT, OUTCOMES, setting, SHOOTING } from './words.js';

const buttons = new Map(); // by stem
let drawn = null; // identity of the plan that is drawn
let open = null; // F-number shown on a phone
let shooting = null;

export function start() {
  legend();
  watch('grid', draw);
  watch('state', follow);
  byId('grid').addEventListener('click', (event) => {
    const stem = event.target.closest('.c')?.dataset.stem;
    if (stem) openCell(stem);
  });
  byId('grid').addEventListener('keydown', move);
}

/** Fetch the grid of the job, or of the sweep that was last. */
export async function fetchGrid() {
  try {
    put('grid', await get('grid'));
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 404) throw error;
    put('grid', null);
  }
}

/** A shot got its row. */
export function onFrame({ id, stem, outcome, scene, lighting }) {
  const grid = read('grid');
  if (!grid || grid.scene !== scene || grid.lighting !== lighting) return;
  const cell = grid.cells.find((one) => one.stem === stem);
  if (!cell) return;
  Object.assign(cell, { outcome, frame_id: id });
  paint(cell);
}

function draw(grid) {
  show(byId('grid-panel'), Boolean(grid?.cells.length));
  if (!grid?.cells.length) return;
  const cells = grid.cells.slice(0, CAPS.cells);
  const plan = [grid.scene, grid.lighting, grid.shutter, grid.iso, grid.f_number].join('|');
  say(byId('grid-title'), `Shutter × ISO × F: ${grid.scene} under ${grid.lighting}`);
  if (plan !== drawn) build(grid, cells);
  drawn = plan;
  for (const cell of cells) paint(cell);
  follow(read('state'));
}

function build(grid, cells) {
  buttons.clear();
  byId('grid').style.setProperty('--shutters', grid.shutter.length);
  const blocks = grid.f_number.map((f) => {
    const own = cells.filter((cell) => cell.f_number === f);
    return el(
      'div',
      { class: 'block', role: 'group', 'aria-label': `f/${f}`, 'data-f': String(f) },
      el('h3', { text: `f/${f}` }),
      el(
        'div',
        { class: 'cells' },
        ...grid.shutter.map((name, at) => el('span', { class: 's', text: name, style: { '--s': at }, 'aria-hidden': 'true' })),
        ...grid.iso.map((iso, at) => el('span', { class: 'i', text: String(iso), style: { '--i': at }, 'aria-hidden': 'true' })),
        ...own.map((cell) => button(cell, grid)),
      ),
    );
  });
  byId('grid').replaceChildren(...blocks);
  const first = byId('grid').querySelector('.c');
  if (first) first.tabIndex = 0;
  byId('grid-tabs').replaceChildren(
    ...grid.f_number.map((f) =>
      el('button', { type: 'button', text: `f/${f}`, 'data-f': String(f), onclick: () => choose(String(f)) }),
    ),
  );
  choose(grid.f_number.map(String).includes(open) ? open : String(grid.f_number[0]));
}

function button(cell, grid) {
  const made = el('button', {
    type: 'button', class: 'c', tabindex: '-1', 'data-stem': cell.stem,
    style: { '--s': grid.shutter.indexOf(cell.shutter), '--i': grid.iso.indexOf(cell.iso) },
  });
  buttons.set(cell.stem, made);
  return made;
}

function choose(f) {
  open = f;
  for (const block of byId('grid').children) mark(block, 'data-open', block.dataset.f === f);
  for (const tab of byId('grid-tabs').children) mark(tab, 'aria-pressed', String(tab.dataset.f === f));
}

function paint(cell) {
  const made = buttons.get(cell.stem);
  if (!made) return;
  const now = cell.stem === shooting;
  const { letter, words } = now ? SHOOTING : (OUTCOMES[cell.outcome] ?? NOT_SHOT);
  mark(made, 'data-o', now ? 'now' : (cell.outcome ?? null));
  say(made, letter);
  mark(made, 'aria-label', `${setting(cell)}: ${words}`);
}

/** Mark the shot that is being taken. */
function follow(state) {
  const live = ['running', 'pausing', 'stopping'].includes(state?.state);
  const stem = live ? (state.job?.shot?.stem ?? null) : null;
  if (stem === shooting) return;
  const before = shooting;
  shooting = stem;
  for (const cell of read('grid')?.cells ?? []) {
    if (cell.stem === before || cell.stem === stem) paint(cell);
  }
}

async function openCell(stem) {
  const cell = read('grid')?.cells.find((one) => one.stem === stem);
  if (!cell) return;
  say(byId('cell-title'), setting(cell));
  const body = byId('cell-frame');
  const words = stem === shooting ? SHOOTING.words : NOT_SHOT.words;
  body.replaceChildren(el('p', { class: 'soft', text: cell.frame_id ? 'Fetching the frame' : `This triplet is ${words}.` }));
  if (!byId('cell').open) byId('cell').showModal();
  if (cell.frame_id) await showFrame(body, cell.frame_id, false);
}

/** One stop of the tab key for the grid; the arrows move within, across blocks, too. */
function move(event) {
  const from = event.target.closest('.c');
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (!from || !step) return;
  event.preventDefault();
  const here = from.getBoundingClientRect();
  const [x, y] = [here.x + here.width / 2, here.y + here.height / 2];
  // The nearest cell in that direction, as it is laid out now.
  let best = null;
  let least = Infinity;
  for (const one of buttons.values()) {
    const box = one.getBoundingClientRect();
    if (one === from || !box.width) continue;
    const along = (box.x + box.width / 2 - x) * step[0] + (box.y + box.height / 2 - y) * step[1];
    const aside = Math.abs((box.x + box.width / 2 - x) * step[1]) + Math.abs((box.y + box.height / 2 - y) * step[0]);
    if (along > 1 && along + 4 * aside < least) [best, least] = [one, along + 4 * aside];
  }
  if (!best) return;
  from.tabIndex = -1;
  best.tabIndex = 0;
  best.focus();
}

function legend() {
  const entries = [...Object.entries(OUTCOMES), ['now', SHOOTING], [null, NOT_SHOT]];
  byId('legend').replaceChildren(
    ...entries.map(([name, { letter, words }]) =>
      el('li', {}, el('span', { class: 'c', 'data-o': name, text: letter, 'aria-hidden': 'true' }), el('span', { text: words })),
    ),
  );
}
