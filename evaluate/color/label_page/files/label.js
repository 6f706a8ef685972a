// Labeling by keyboard: one key a color, the object first, then its background.

import { announce, byId, el, mark, say, show } from '../shell/dom.js';
import { onKey, onLook } from '../shell/look.js';
import { get, post, Refused } from './api.js';
import { showEnding } from './ending.js';
import * as pace from './pace.js';
import { nextZoom, seen, showPicture, start } from './picture.js';

const ASKED = { foreground: 'object', background: 'background' };
let state = null;
let pending = Promise.resolve();

/** Do one thing after the other: a quick second key waits for the answer to the first. */
function inTurn(act) {
  pending = pending.then(act).catch(failed);
}

async function failed(error) {
  if (!(error instanceof Refused)) throw error;
  say(byId('refused'), error.message);
  show(byId('refused'), true);
  if (error.status === 409) put(await get('state'));
}

function put(found) {
  const before = state;
  state = found;
  const at = state.picture;
  if (at?.id !== before?.picture?.id && state.done > (before?.done ?? state.done)) pace.finish();
  const total = `picture ${Math.min(state.done + 1, state.total)} of ${state.total}`;
  const alt = at ? `${total}: ${at.category}` : '';
  drawProgress();
  drawWork(at);
  showPicture(at?.id ?? null, alt, state.ahead, pictureSeen);
  enable();
  if (at === null) {
    announce(byId('question').textContent);
    inTurn(() => showEnding(state));
  } else {
    const new_ = at.id !== before?.picture?.id ? `${alt}. ` : '';
    announce(`${new_}${byId('question').textContent}`);
  }
}

function drawProgress() {
  const { done, total, later } = state;
  const task = state.adjudicate ? 'adjudicating' : `round ${state.round}`;
  say(byId('about'), `colors · ${state.labeler} · ${task}`);
  say(byId('count'), `${done} of ${total} pictures`);
  say(byId('later'), later > 0 ? `· ${later} put off` : '');
  say(byId('pace'), pace.words(total - done));
  const track = byId('track');
  mark(track, 'aria-valuemax', String(total));
  mark(track, 'aria-valuenow', String(done));
  mark(track, 'aria-valuetext', `${done} of ${total}`);
  track.firstElementChild.style.setProperty('--share', `${(100 * done) / total}%`);
  document.title = `${done}/${total} · snaprig: label colors`;
}

function drawWork(at) {
  say(byId('question'), at ? `What color is the ${ASKED[at.side]}?` : 'All pictures are done');
  say(byId('about-picture'), at ? `Object: ${at.category}` : '');
  for (const side of Object.keys(ASKED)) {
    const node = byId(`said-${side}`);
    node.replaceChildren(...(at?.[side] ? colored(at[side]) : []));
    mark(node.parentElement, 'data-asked', at?.side === side);
  }
  byId('opinions').replaceChildren(...(at?.opinions ?? []).map(opinion));
  show(byId('opinions'), Boolean(at?.opinions.length));
  for (const id of ['said', 'colors', 'about-picture']) show(byId(id), at !== null);
  show(byId('finished'), at === null);
}

const opinion = ({ who, foreground, background }) =>
  el('li', {}, el('span', { class: 'who', text: `${who}:` }), ...colored(foreground), 'on', ...colored(background));

/** A color's swatch, its name, and its key. */
function colored(name) {
  const { key } = state.colors.find((color) => color.name === name);
  return [swatch(name), el('span', { text: `${name} (${key})` })];
}

function swatch(name) {
  const { srgb } = state.colors.find((color) => color.name === name);
  return srgb
    ? el('span', { class: 'swatch', 'aria-hidden': 'true', style: { '--swatch': `rgb(${srgb.join(' ')})` } })
    : el('span', { class: 'swatch', 'aria-hidden': 'true', 'data-none': true });
}

/** Only what is seen can be labeled. */
function enable() {
  const can = state.picture !== null && seen() === state.picture.id;
  for (const button of byId('colors').children) button.disabled = !can;
  byId('undo').disabled = !state.can_undo;
  byId('skip').disabled = state.total - state.done < 2;
  byId('zoom').disabled = !can;
}

function pictureSeen() {
  pace.begin();
  enable();
}

function label(color) {
  const at = seen();
  if (at === null) return;
  inTurn(async () => {
    // A key pressed for one picture never labels the next.
    if (state.picture?.id !== at) return;
    show(byId('refused'), false);
    put(await post('label', { picture: at, side: state.picture.side, color }));
  });
}

function undo() {
  inTurn(async () => {
    if (!state.can_undo) return;
    show(byId('refused'), false);
    put(await post('undo'));
  });
}

function skip() {
  const at = state?.picture?.id;
  inTurn(async () => {
    if (state.picture === null || state.picture.id !== at || byId('skip').disabled) return;
    show(byId('refused'), false);
    put(await post('skip', { picture: at }));
  });
}

inTurn(async () => {
  state = await get('state');
  for (const { key, name } of state.colors) {
    onKey(key, name, () => label(name));
    byId('colors').append(
      el(
        'button',
        { type: 'button', onclick: () => label(name), 'aria-keyshortcuts': key },
        el('kbd', { text: key }),
        swatch(name),
        el('span', { text: name }),
      ),
    );
  }
  onKey('u', 'undo: take back what was said last', undo);
  onKey('s', 'later: put this picture behind all others', skip);
  onKey('z', 'zoom: 2, 4, 8 times, whole; arrow keys move', () => nextZoom());
  byId('undo').addEventListener('click', undo);
  byId('skip').addEventListener('click', skip);
  byId('zoom').addEventListener('click', () => nextZoom());
  start();
  onLook(enable);
  const first = state;
  state = null;
  put(first);
});
