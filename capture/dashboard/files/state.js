// What the page knows. Views watch topics; a view is called once a frame at most, however often
// its topic changes. Everything that grows has a cap: a tab may stay open for weeks.

export const CAPS = { notes: 60, history: 100, points: 1200, suspensions: 40, findings: 60, cells: 6000 };

const values = new Map();
const watchers = new Map();
const due = new Set();
let booked = false;

/** The value of a topic, or undefined. */
export const read = (topic) => values.get(topic);

/** Call `view` with the value after it changed. */
export function watch(topic, view) {
  if (!watchers.has(topic)) watchers.set(topic, new Set());
  watchers.get(topic).add(view);
}

/** Give a topic its value. Lists are cut to their cap, newest kept: the last of `points`, the
 * first of the others. */
export function put(topic, value) {
  values.set(topic, Array.isArray(value) ? cut(topic, value) : value);
  due.add(topic);
  if (booked) return;
  booked = true;
  // A hidden tab draws no frames, but its title and its speech still follow.
  if (document.hidden) setTimeout(draw, 0);
  else requestAnimationFrame(draw);
}

/**
 * Take a snapshot unless a newer one of the same process is known; says whether it was taken. An
 * answer to a request may come after the event that already tells more; `turn` counts changes.
 */
export function putState(state) {
  const before = values.get('state');
  const old = before?.boot === state.boot && before.turn > state.turn;
  if (!old) put('state', state);
  return !old;
}

function cut(topic, list) {
  const cap = CAPS[topic];
  if (cap === undefined || list.length <= cap) return list;
  return topic === 'points' ? list.slice(-cap) : list.slice(0, cap);
}

function draw() {
  booked = false;
  const topics = [...due];
  due.clear();
  for (const topic of topics) {
    for (const view of watchers.get(topic) ?? []) view(values.get(topic));
  }
}
