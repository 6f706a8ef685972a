// The look of a page: dark, red or amber; the blackout; the help about keys.

import { byId, el } from './dom.js';

const root = document.documentElement;
const LOOK = 'snaprig.look';
const BLACKOUT = 'snaprig.blackout';
const QUIET = 'snaprig.keys-off';
const watchers = new Set();
const keys = new Map();

/** The look now: `dark`, `red` or `amber`. */
export const look = () => root.dataset.look;

/** Call `watcher` after each change of the look. */
export const onLook = (watcher) => watchers.add(watcher);

/** The one pure color that a picture may be shown in, or null for all colors. */
export const onlyColor = () => ({ red: '#f00', amber: '#f60' })[look()] ?? null;

/** Have a single key act, and stand in the help. */
export function onKey(key, does, act) {
  keys.set(key, act);
  byId('keys-list').append(el('dt', {}, el('kbd', { text: key })), el('dd', { text: does }));
}

function store(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch (error) {
    console.info('this browser keeps nothing:', error.message);
  }
}

function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // said once, by the boot script
  }
}

function setLook(name) {
  root.dataset.look = name;
  store(LOOK, name);
  byId('looks').querySelector(`[value=${name}]`).checked = true;
  for (const watcher of watchers) watcher();
}

function blacken() {
  const dialog = byId('blackout');
  if (dialog.open) return;
  dialog.showModal();
  store(BLACKOUT, '1');
  // A browser's own frame is bright: have it away where it lets itself be sent away.
  root.requestFullscreen?.({ navigationUI: 'hide' }).catch((error) =>
    console.info('no full screen:', error.message),
  );
}

function wake() {
  byId('blackout').close();
  store(BLACKOUT, null);
  delete root.dataset.blackout;
  if (document.fullscreenElement) document.exitFullscreen();
}

function start() {
  if (!['dark', 'red', 'amber'].includes(look())) root.dataset.look = 'dark';
  setLook(look());
  byId('looks').addEventListener('change', (event) => setLook(event.target.value));

  const dialog = byId('blackout');
  byId('black').addEventListener('click', blacken);
  // The touch or key that wakes the screen does nothing else: it must not hit Stop.
  dialog.addEventListener('click', wake);
  dialog.addEventListener('cancel', (event) => event.preventDefault());
  document.addEventListener(
    'keydown',
    (event) => {
      if (!dialog.open) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      if (!event.repeat) wake();
    },
    true,
  );

  const help = byId('keys');
  byId('keys-open').addEventListener('click', () => help.showModal());
  const on = byId('keys-on');
  on.checked = stored(QUIET) === null;
  on.addEventListener('change', () => store(QUIET, on.checked ? null : '1'));
  document.addEventListener('keydown', act);

  onKey('n', 'next look: dark, red, amber', () => {
    const names = ['dark', 'red', 'amber'];
    setLook(names[(names.indexOf(look()) + 1) % names.length]);
  });
  onKey('b', 'blackout; any key or touch ends it', blacken);
  onKey('?', 'this help', () => help.showModal());

  if ('blackout' in root.dataset) {
    dialog.showModal();
    delete root.dataset.blackout;
  }
}

function act(event) {
  const typing = event.target.closest?.('input:not([type=radio], [type=checkbox]), textarea');
  const modified = event.ctrlKey || event.altKey || event.metaKey;
  if (typing || modified || event.repeat || document.querySelector('dialog[open]')) return;
  if (!byId('keys-on').checked) return;
  const found = keys.get(event.key);
  if (found) {
    event.preventDefault();
    found();
  }
}

start();
