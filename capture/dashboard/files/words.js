// Numbers and names for people.

export const OUTCOMES = {
  accepted: { letter: 'A', words: 'accepted' },
  rejected_black: { letter: 'B', words: 'rejected: black' },
  rejected_white: { letter: 'W', words: 'rejected: white' },
  failed: { letter: 'F', words: 'failed' },
  skipped: { letter: '-', words: 'skipped' },
};
export const NOT_SHOT = { letter: '', words: 'not shot yet' };
export const SHOOTING = { letter: '◉', words: 'being shot' };

/** `1/60 s, ISO 100, f/5.6`; `shutter` may be the spelling or seconds. */
export const setting = (shot) => `${shot.shutter} s, ISO ${shot.iso}, f/${shot.f_number}`;

/** `accepted 12, failed 1`: outcomes that there are. */
export const tally = (counts) =>
  Object.entries(OUTCOMES)
    .filter(([name]) => counts?.[name])
    .map(([name, { words }]) => `${counts[name]} ${words.replace('rejected: ', '')}`)
    .join(' · ');

const clock = new Intl.DateTimeFormat([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat([], { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

/** `21:04:07`, local time. */
export const timeOf = (iso) => clock.format(new Date(iso));
/** `Sun 1 Mar, 21:04`, local time. */
export const dayOf = (iso) => day.format(new Date(iso));

/** `2 h 05 min`, `35 min`, `40 s`. */
export function lasting(seconds) {
  const whole = Math.round(seconds);
  if (whole >= 3600) {
    return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`;
  }
  return whole >= 120 ? `${Math.round(whole / 60)} min` : `${whole} s`;
}

/** Four significant digits. */
export const number = (value) => String(Number(value.toPrecision(4)));
export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
