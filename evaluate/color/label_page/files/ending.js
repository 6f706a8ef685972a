// When all is labeled: how far people agree, and what comes next.

import { byId, el, say, show } from '../shell/dom.js';
import { get } from './api.js';

/** Fill in the result for what has been done. */
export async function showEnding(state) {
  const found = await get('summary');
  say(byId('next'), `${next(state, found.differ)} Ctrl-C in the terminal ends this page.`);
  byId('agreement').tBodies[0].replaceChildren(
    ...found.agreement.map((one) =>
      el(
        'tr',
        {},
        el('th', { scope: 'row', text: `${one.first} and ${one.second}` }),
        el('td', { text: one.what }),
        el('td', { text: String(one.n) }),
        el('td', { text: `${one.percent.toFixed(1)} %` }),
        el('td', { text: one.kappa === null ? 'undefined' : one.kappa.toFixed(2) }),
      ),
    ),
  );
  show(byId('agreement'), found.agreement.length > 0);
}

function next(state, differ) {
  if (differ > 0) {
    const of = differ === 1 ? 'one picture' : `${differ} pictures`;
    return `People’s labels of ${of} differ: snaprig color label --labeler NAME --adjudicate.`;
  }
  if (state.adjudicate) return 'Every difference is decided.';
  if (state.round === 1) return `The second round: snaprig color label --labeler ${state.labeler} --round 2.`;
  return 'No two labels of a picture differ without a decision.';
}
