// A batch: its sweeps in order, with what is done of each.

import { byId, el, mark, show } from '../shell/dom.js';
import { watch } from './state.js';
import { lasting } from './words.js';

const SIGNS = { done: '✓', running: '▶', waiting: '·', failed: '×', skipped: '–', stopped: '■' };

export function start() {
  watch('state', ({ batch }) => {
    show(byId('batch-panel'), Boolean(batch));
    if (!batch) return;
    const { at, legs } = batch;
    byId('batch').replaceChildren(...legs.map((leg, index) => entry(leg, (leg.number ?? index + 1) === at)));
  });
}

function entry(leg, current) {
  const { done, planned } = leg;
  const left = leg.left_s ? `, about ${lasting(leg.left_s)} left` : '';
  const line = el(
    'li',
    {},
    el('span', { text: current ? '▶' : (SIGNS[leg.state] ?? '·'), 'aria-hidden': 'true' }),
    el('span', { text: `${leg.scene} under ${leg.lighting}` }),
    el('span', { class: 'track', 'aria-hidden': 'true' }, el('i', { style: { '--share': `${planned ? (100 * done) / planned : 0}%` } })),
    el('span', { class: 'soft', text: `${leg.state}: ${done} of ${planned}${left}` }),
  );
  mark(line, 'aria-current', current ? 'step' : null);
  return line;
}
