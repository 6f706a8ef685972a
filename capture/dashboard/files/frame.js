// A frame: picture, clipped areas, histogram, facts in words.

import { onlyColor, onLook } from '../shell/look.js';
import { byId, el, svg } from '../shell/dom.js';
import { get, Refused } from './api.js';
import { read, watch } from './state.js';
import { number, OUTCOMES, percent, timeOf } from './words.js';

const WIDTH_PX = 640;
/** Of the hatching: close enough for a small spot, open enough to see what is below. */
const PERIOD_PX = 16;
const shown = new Map(); // place -> what it shows
const turns = new Map(); // place -> the frame that was asked for last
let marking = true;
let wanted = null;
let fetching = false;

export function start() {
  watch('state', (state) => follow(state.last_frame?.id ?? null));
  onLook(() => shown.forEach(paint));
  byId('cell').addEventListener('close', () => forget(byId('cell-frame')));
  byId('frame').append(el('p', { class: 'soft', text: 'No frame yet.' }));
}

/** After a restart the daemon has shot nothing yet: the latest of the catalog. */
export async function fetchLast() {
  if (read('state').last_frame) return;
  const [latest] = await get('frames?limit=1');
  if (latest) follow(latest.id);
}

/** Show the latest frame; while one is fetched, only the newest that follows is kept in mind. */
async function follow(id) {
  if (id === null || id === wanted) return;
  wanted = id;
  if (fetching) return;
  fetching = true;
  try {
    let done = null;
    while (done !== wanted) {
      done = wanted;
      await showFrame(byId('frame'), done, true);
    }
  } finally {
    fetching = false;
  }
}

/** Fetch a frame and show it in `place`. `titled` says its setting, too. */
export async function showFrame(place, id, titled) {
  const turn = Symbol(id);
  turns.set(place, turn);
  try {
    const facts = await get(`frames/${id}`);
    const kinds = facts.has_file ? ['thumbnail', 'clipping'] : [];
    const [picture, clipping] = await Promise.all(kinds.map((kind) => image(`/api/frames/${id}/${kind}?width=${WIDTH_PX}`)));
    if (turns.get(place) !== turn) {
      // Meanwhile another frame was asked for here, or the dialog was closed.
      picture?.close();
      clipping?.close();
      return;
    }
    forget(place);
    const canvas = el('canvas', { role: 'img', 'aria-label': `Frame at ${words(facts)}` });
    shown.set(place, { canvas, picture, clipping });
    place.replaceChildren(layout(facts, canvas, picture, titled, () => shown.forEach(paint)));
    paint(shown.get(place));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    forget(place);
    place.replaceChildren(el('p', { class: 'refused', text: error.message }));
  }
}

function forget(place) {
  const before = shown.get(place);
  before?.picture?.close();
  before?.clipping?.close();
  shown.delete(place);
  turns.delete(place);
}

/** A decoded picture, or null where the daemon has none. */
async function image(url) {
  const answer = await fetch(url).catch(() => null);
  return answer?.ok ? createImageBitmap(await answer.blob()) : null;
}

const words = (facts) => facts.settings ?? facts.stem;

function layout(facts, canvas, picture, titled, repaint) {
  const outcome = OUTCOMES[facts.outcome]?.words ?? facts.outcome;
  const why = facts.reason ? `${outcome}: ${facts.reason}` : outcome;
  const nothing = picture ? null : el('p', { class: 'nothing', text: facts.outcome === 'failed' ? 'There is no picture.' : 'No picture is kept of a rejected frame.' });
  const toggle = el('input', {
    type: 'checkbox',
    checked: marking,
    onchange: (event) => {
      marking = event.target.checked;
      repaint();
    },
  });
  return el(
    'div',
    { class: 'shot' },
    el('div', { class: 'picture' }, canvas, nothing),
    el('div', { class: 'side' }, ...side(facts, picture, titled, why, toggle)),
  );
}

function side(facts, picture, titled, why, toggle) {
  return [
    titled ? el('p', { class: 'title', text: words(facts) }) : null,
    el('p', { class: 'facts' }, ...details(facts, why)),
    facts.histogram ? histogram(facts.histogram) : null,
    picture
      ? el(
          'div',
          { class: 'row marks' },
          el('label', { class: 'check' }, toggle, el('span', { text: 'Mark clipped areas' })),
          el('span', {}, key('M0 20L20 0M-5 5L5 -5M15 25L25 15', `black ${share(facts.black_fraction)}`), key('M0 0L20 20M-5 15L5 25M15 -5L25 5M0 20L20 0', `white ${share(facts.white_fraction)}`)),
        )
      : null,
  ];
}

const share = (value) => (value === null || value === undefined ? '' : percent(value));

function key(path, text) {
  return el(
    'span',
    { class: 'key' },
    svg('svg', { viewBox: '0 0 20 20', 'aria-hidden': 'true' }, svg('rect', { width: 20, height: 20, fill: 'none', stroke: 'currentColor' }), svg('path', { d: path, stroke: 'currentColor', 'stroke-width': 2 })),
    el('span', { text }),
  );
}

function details(facts, why) {
  const entries = [
    ['', why],
    ['light', facts.lux != null ? `${number(facts.lux)} lux (${number(facts.lux_min)} to ${number(facts.lux_max)})` : null],
    ['mean', facts.mean_luma != null ? `${number(facts.mean_luma)} of 255` : null],
    ['EV offset', facts.ev_offset != null ? (facts.ev_offset > 0 ? `+${facts.ev_offset}` : String(facts.ev_offset).replace('-', '−')) : null],
    ['exposures', facts.attempts > 1 ? String(facts.attempts) : null],
    ['taken', facts.taken_at ? timeOf(facts.taken_at) : null],
  ];
  return entries
    .filter(([, value]) => value !== null)
    .map(([name, value]) => el('span', {}, name ? `${name} ` : '', el('b', { text: value })));
}

/** 256 counts as 64 bars of square roots: a few clipped pixels stay visible beside a peak. */
function histogram(counts) {
  const bars = Array.from({ length: 64 }, (_, at) => counts.slice(4 * at, 4 * at + 4).reduce((sum, n) => sum + n, 0));
  const top = Math.sqrt(Math.max(...bars, 1));
  const bar = (n, at) => {
    const height = (60 * Math.sqrt(n)) / top;
    return `M${at} 60v${-height}h0.9v${height}z`;
  };
  const total = bars.reduce((sum, n) => sum + n, 0) || 1;
  const ends = counts.length === 256 ? `at 0: ${percent(counts[0] / total)}, at 255: ${percent(counts[255] / total)}` : '';
  return svg(
    'svg',
    { class: 'histogram', viewBox: '0 0 64 60', preserveAspectRatio: 'none', role: 'img', 'aria-label': `Histogram of brightness, ${ends}` },
    svg('path', { d: bars.map(bar).join('') }),
    counts[0] ? svg('path', { class: 'end', d: bar(bars[0], 0) }) : null,
    counts[255] ? svg('path', { class: 'end', d: bar(bars[63], 63) }) : null,
  );
}

function paint({ canvas, picture, clipping }) {
  if (!picture) return;
  const { width, height } = picture;
  Object.assign(canvas, { width, height });
  canvas.parentElement.style.aspectRatio = `${width} / ${height}`;
  const pen = canvas.getContext('2d');
  pen.drawImage(picture, 0, 0);
  if (marking && clipping) overlay(pen, clipping, width, height);
  const only = onlyColor();
  if (!only) return;
  // At night one color: the picture without its colors, times that one.
  for (const [how, color] of [['saturation', '#000'], ['multiply', only]]) {
    pen.globalCompositeOperation = how;
    pen.fillStyle = color;
    pen.fillRect(0, 0, width, height);
  }
}

/** Hatch where pixels are clipped: one way black, crosswise white, so that no color is needed. */
function overlay(pen, clipping, width, height) {
  const small = new OffscreenCanvas(width, height);
  const look = small.getContext('2d', { willReadFrequently: true });
  look.imageSmoothingEnabled = false;
  look.drawImage(clipping, 0, 0, width, height);
  const { data } = look.getImageData(0, 0, width, height);
  const out = new ImageData(width, height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = 4 * (y * width + x);
      const kind = data[at];
      if (kind < 64) continue;
      const white = kind > 191;
      const on = (x + y) % PERIOD_PX < 3 || (white && (x - y + PERIOD_PX * height) % PERIOD_PX < 3);
      if (!on) continue;
      // Bright lines on black, dark ones on white.
      out.data.set(white ? [200, 40, 0, 255] : [90, 170, 255, 255], at);
      if (onlyColor()) out.data.set(white ? [0, 0, 0, 255] : [255, 255, 255, 255], at);
    }
  }
  look.putImageData(out, 0, 0);
  pen.drawImage(small, 0, 0);
}
