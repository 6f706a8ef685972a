// The illuminance over the last minutes, with the band in which frames may be shot.

import { byId, el, mark, say, svg } from '../shell/dom.js';
import { get, Refused } from './api.js';
import { CAPS, put, read, watch } from './state.js';
import { lasting, number, timeOf } from './words.js';

const WINDOW_S = 600;
const parts = {};

export function start() {
  parts.lux = el('p', { class: 'lux' });
  parts.says = el('p', { class: 'soft' });
  parts.band = svg('rect', { class: 'band', x: -5, width: 1010 });
  parts.off = svg('g');
  parts.line = svg('path', { class: 'line' });
  parts.trace = svg(
    'svg',
    { class: 'trace', viewBox: '0 0 1000 100', preserveAspectRatio: 'none', role: 'img' },
    svg('defs', {}, svg('pattern', { id: 'hatch', width: 14, height: 14, patternUnits: 'userSpaceOnUse' }, svg('path', { class: 'hatch', d: 'M0 14L14 0' }))),
    parts.band, parts.off, parts.line,
  );
  parts.from = el('span');
  parts.to = el('span');
  byId('light').append(parts.lux, parts.says, parts.trace, el('p', { class: 'axis' }, parts.from, parts.to));
  watch('state', words);
  watch('light', draw);
  watch('points', draw);
}

/** Fetch the trace of the last minutes. */
export async function fetchLight() {
  try {
    const light = await get(`light?seconds=${WINDOW_S}`);
    put('light', { ...light, suspensions: light.suspensions.slice(-CAPS.suspensions) });
    put('points', light.points);
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 404) throw error;
    put('light', null);
    put('points', []);
  }
}

/** A reading came: [UTC seconds, lux or null]. */
export function onLight(point) {
  const points = read('points') ?? [];
  if (points.length && points.at(-1)[0] >= point[0]) return;
  put('points', [...points, point]);
}

function words({ light }) {
  const known = light && light.lux !== null;
  const none = light ? 'no reading' : 'The meter is read while a sweep runs.';
  say(parts.lux, known ? `${number(light.lux)} lux` : none);
  mark(parts.lux, 'class', `lux${light ? '' : ' idle'}${light?.trouble ? ' wrong' : ''}`);
  const band = light?.low != null ? `band ${number(light.low)} to ${number(light.high)} lux` : '';
  say(parts.says, [light?.trouble ? `Nothing is shot: ${light.trouble}` : '', band].filter(Boolean).join(' · '));
}

function draw() {
  const light = read('light');
  const points = (read('points') ?? []).filter(([at]) => at > (read('points').at(-1)?.[0] ?? 0) - WINDOW_S);
  const state = read('state')?.light;
  const low = state?.low ?? light?.low ?? null;
  const high = state?.high ?? light?.high ?? null;
  const values = points.map(([, lux]) => lux).filter((lux) => lux !== null);
  mark(parts.trace, 'aria-label', values.length ? `Illuminance of the last ${lasting(points.at(-1)[0] - points[0][0])}: ${number(Math.min(...values))} to ${number(Math.max(...values))} lux` : 'No readings yet');
  const band = low === null ? values : [low, high];
  if (!band.length) {
    mark(parts.line, 'd', '');
    return;
  }
  const center = (Math.min(...band) + Math.max(...band)) / 2;
  const reach = Math.max(...[...values, ...band].map((lux) => Math.abs(lux - center)), center * 0.02) * 1.15;
  const end = points.at(-1)?.[0] ?? Date.now() / 1000;
  const begin = Math.min(points[0]?.[0] ?? end, end - 60);
  const x = (at) => (1000 * (at - begin)) / (end - begin);
  const y = (lux) => 50 - (50 * (lux - center)) / reach;
  if (low !== null) {
    mark(parts.band, 'y', y(high).toFixed(1));
    mark(parts.band, 'height', (y(low) - y(high)).toFixed(1));
  }
  parts.band.style.display = low === null ? 'none' : '';
  mark(parts.line, 'd', path(points, x, y));
  suspensions(light?.suspensions ?? [], begin, end, x);
  say(parts.from, timeOf(begin * 1000));
  say(parts.to, timeOf(end * 1000));
}

/** A line that breaks where the meter was silent. */
function path(points, x, y) {
  let pen = 'M';
  let d = '';
  for (const [at, lux] of points) {
    if (lux === null) pen = 'M';
    else {
      d += `${pen}${x(at).toFixed(1)} ${y(lux).toFixed(1)}`;
      pen = 'L';
    }
  }
  return d;
}

function suspensions(list, begin, end, x) {
  const seconds = (moment) => (moment === null ? end : typeof moment === 'number' ? moment : Date.parse(moment) / 1000);
  const seen = list
    .map(({ from, to }) => [Math.max(seconds(from), begin), Math.min(seconds(to), end)])
    .filter(([from, to]) => to > from);
  parts.off.replaceChildren(
    ...seen.map(([from, to]) => svg('rect', { class: 'off', x: x(from), y: 0, width: Math.max(x(to) - x(from), 2), height: 100 })),
  );
}
