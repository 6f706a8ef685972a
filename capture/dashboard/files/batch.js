// A batch: its sweeps in order, with what is done of each.

import { byId, el, mark, show } from '../shell/dom.js';
import { watch } from './state.js';
import { lasting } from './words.js';

const SIGNS = { complete: '✓', current: '▶' };

export function start() {
  watch('state', ({ batch }) => {
    show(byId('batch-panel'), Boolean(batch));
    if (!batch) return;
    byId('batch').replaceChildren(...batch.legs.map((leg) => entry(leg, leg.number === batch.at)));
  });
}

function entry(leg, current) {
  const { done, planned } = leg;
  const left = leg.left_s ? `, about ${lasting(leg.left_s)} left` : '';
  const line = el(
    'li',
    {},
    el('span', { text: SIGNS[leg.state] ?? '·', 'aria-hidden': 'true' }),
    el('span', { text: `${leg.scene} under ${leg.lighting}` }),
    el('span', { class: 'track', 'aria-hidden': 'true' }, el('i', { style: { '--share': `${planned ? (100 * done) / planned : 0}%` } })),
    el('span', { class: 'soft', text: `${leg.state}: ${done} of ${planned}${left}` }),
  );
  mark(line, 'aria-current', current ? 'step' : null);
  return line;
}
