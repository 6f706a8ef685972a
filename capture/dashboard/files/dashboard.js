// Brings the parts of the dashboard together.

import { byId, show } from '../shell/dom.js';
import { get, Refused } from './api.js';
import * as batch from './batch.js';
import * as controls from './controls.js';
import * as frame from './frame.js';
import * as grid from './grid.js';
import * as history from './history.js';
import * as light from './light.js';
import { connect, onEvent, resync } from './live.js';
import * as notes from './notes.js';
import * as now from './now.js';
import * as preflight from './preflight.js';
import * as sound from './sound.js';
import * as starting from './starting.js';
import { putState, read } from './state.js';

const VERSION = document.querySelector('meta[name=snaprig-version]').content;

for (const part of [now, controls, starting, frame, light, notes, grid, batch, preflight, history, sound]) part.start();

/** Everything anew: the snapshot first, since the stream goes on behind it. */
async function refresh() {
  putState(await get('state'));
  await Promise.all([
    grid.fetchGrid(),
    light.fetchLight(),
    frame.fetchLast(),
    notes.fetchNotes(),
    history.fetchHistory(),
    preflight.fetchPreflight(),
    starting.fetchOptions(),
  ]);
}

/** Fetch a part anew; if the daemon does not answer, everything, until it does. */
function again(...parts) {
  Promise.all(parts.map((part) => part())).catch((error) => {
    if (!(error instanceof Refused)) throw error;
    resync();
  });
}

onEvent('state', (state) => {
  const before = read('state');
  if (!putState(state)) return;
  if (before?.boot !== state.boot) resync();
  else if (before.job?.run !== state.job?.run || before.job?.id !== state.job?.id) {
    again(grid.fetchGrid, notes.fetchNotes, light.fetchLight);
  }
  if (before && before.rev !== state.rev) again(starting.fetchOptions);
});
onEvent('frame', grid.onFrame);
onEvent('light', light.onLight);
onEvent('note', notes.onNote);
onEvent('preflight', () => again(preflight.fetchPreflight));
onEvent('history', () => again(history.fetchHistory, grid.fetchGrid));
onEvent('heartbeat', ({ version, boot }) => {
  show(byId('outdated'), version !== VERSION);
  if (read('state') && read('state').boot !== boot) resync();
});
byId('reload').addEventListener('click', () => location.reload());

connect(refresh);
