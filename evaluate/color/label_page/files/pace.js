// How long pictures take, in this sitting.

const taken_s = [];
let since_ms = null;

/** A picture is seen from now on. */
export function begin() {
  since_ms = performance.now();
}

/** The picture at hand is done. */
export function finish() {
  if (since_ms !== null) taken_s.push((performance.now() - since_ms) / 1000);
  since_ms = null;
}

/** The last one's time, the median, and what is left at that pace; empty before the first. */
export function words(left) {
  if (taken_s.length === 0) return '';
  const sorted = [...taken_s].sort((a, b) => a - b);
  const median_s = sorted[Math.floor(sorted.length / 2)];
  const now = `· ${short(taken_s.at(-1))}, median ${short(median_s)}`;
  return left > 0 ? `${now} · ${long(left * median_s)} left` : `${now} a picture`;
}

const short = (s) => (s < 100 ? `${s.toFixed(1)} s` : long(s));

function long(s) {
  const minutes = Math.ceil(s / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
