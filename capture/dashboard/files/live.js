// The connection: a snapshot, then events from there on.
//
// Browsers allow six connections to a server over plain HTTP, and a stream is one of them: of the
// tabs of a browser one holds the stream and passes on what it hears. Who does is decided by a lock
// that the browser gives to the next tab when this one goes. Where there is no lock (plain HTTP
// from another computer) each visible tab has a stream, and a hidden one lets go of it.
//
// A phone that wakes, a proxy, a pulled cable: the browser may believe for minutes that a dead
// stream is open. So the age of the last heartbeat decides, and nobody ever gives up.

import { get, Refused } from './api.js';
import { put, read } from './state.js';

/** Heartbeats come every 2 s. After so long without one, what is shown is old. */
export const STALE_MS = 10000;
const REOPEN_MS = 7000;
const AGAIN_MS = [500, 1000, 2000, 4000];
const EVENTS = ['state', 'frame', 'light', 'note', 'question', 'preflight', 'history', 'heartbeat', 'resync'];

const handlers = new Map();
const channel = new BroadcastChannel('snaprig.events');
const me = Math.random().toString(36).slice(2);

let source = null;
let leading = false;
let heard = performance.now();
let opened = 0;
let tries = 0;
let fetching = null;
let again = null;
let refresh = async () => {};

/** Call `handler` with the data of each such event. */
export const onEvent = (name, handler) => handlers.set(name, handler);

/** Milliseconds since the server was last heard. */
export const silenceMs = () => performance.now() - heard;

/** Note that the server was heard now: an answer is as good as a heartbeat. */
export function heardNow() {
  heard = performance.now();
  put('link', { stale: false, at: Date.now() });
}

/**
 * Begin. `whole` fetches everything that the page shows; it is called at the start, after a gap,
 * and whenever the page comes back to life.
 */
export function connect(whole) {
  refresh = whole;
  channel.addEventListener('message', ({ data }) => {
    // Another tab holds the stream. Two that do are harmless: each event is only a newer truth.
    if (data.from !== me && !leading) take(data.name, data.data);
  });
  resync();
  if (navigator.locks) {
    navigator.locks.request('snaprig.stream', () => {
      leading = true;
      open();
      return new Promise(() => {}); // held until this tab goes
    });
  } else {
    leading = !document.hidden;
    if (leading) open();
  }
  document.addEventListener('visibilitychange', wake);
  addEventListener('online', wake);
  addEventListener('pageshow', (event) => event.persisted && wake());
  setInterval(watchdog, 1000);
}

/** Fetch everything; again and again until it comes. One at a time. */
export function resync() {
  clearTimeout(again);
  fetching ??= (async () => {
    try {
      await refresh();
      tries = 0;
      heardNow();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const wait = AGAIN_MS[Math.min(tries, AGAIN_MS.length - 1)];
      tries += 1;
      again = setTimeout(resync, wait * (0.75 + Math.random() / 2));
    } finally {
      fetching = null;
    }
  })();
  return fetching;
}

function open() {
  source?.close();
  const state = read('state');
  const after = state ? `?after=${encodeURIComponent(`${state.boot}-${state.seq}`)}` : '';
  source = new EventSource(`/api/events${after}`);
  opened = performance.now();
  for (const name of EVENTS) {
    source.addEventListener(name, (event) => {
      const data = JSON.parse(event.data);
      channel.postMessage({ from: me, name, data });
      take(name, data);
    });
  }
}

function take(name, data) {
  const wasStale = silenceMs() > STALE_MS;
  heardNow();
  if (name === 'resync' || wasStale) resync();
  handlers.get(name)?.(data);
}

function wake() {
  if (!navigator.locks) {
    leading = !document.hidden;
    if (!leading) source?.close();
  }
  if (document.hidden) return;
  resync();
  if (leading && (silenceMs() > REOPEN_MS || source?.readyState !== EventSource.OPEN)) open();
}

function watchdog() {
  const silent = silenceMs();
  // Not `navigator.onLine`: a capture laptop without any network still reaches its own daemon.
  if (silent > STALE_MS) put('link', { ...read('link'), stale: true });
  if (silent < REOPEN_MS || performance.now() - opened < REOPEN_MS) return;
  if (leading) open();
  else if (!document.hidden) resync();
}
