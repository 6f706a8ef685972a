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

/** What the events of a run mean. */
export const EVENTS = {
  retry: 'the camera was asked again',
  rebuild: 'the session with the camera was opened anew',
  reconnect: 'the camera was reconnected',
  power_cycle: 'the camera was switched off and on',
  ask: 'somebody was asked for help',
  asked: 'somebody was asked for help',
  answered: 'somebody said that it is done',
  suspended: 'shooting waited for the light',
  resumed: 'the light was right again',
  suspension_ended: 'the wait for the light ended',
  paused: 'paused',
  pause_ended: 'the pause ended',
  light_refused: 'the light was not proven, shot again',
  undecodable: 'the picture could not be read, shot again',
  wrong_exif: 'the camera used other settings, shot again',
  stale_picture: 'an older picture came, shot again',
  stale_time: 'an older picture came, shot again',
  stale_count: 'an older picture came, shot again',
  flash_fired: 'the flash fired, shot again',
  wrong_size: 'the picture had another size, shot again',
  zoomed: 'the zoom was turned',
  silent_black: 'black although it cannot be: the shutter stayed shut',
  doubtful_black: 'doubtfully black, shot again',
  withdrawn_black: 'black, which a later picture contradicts, shot again',
  too_dark: 'darker than its settings, shot again',
  too_bright: 'brighter than its settings, shot again',
  bad_reference: 'the reference frame was not right, shot again',
  scene_moved: 'the scene moved',
  meter_lost: 'the meter was silent',
  meter_frozen: 'the meter was frozen',
  meter_back: 'the meter was back',
  leftover: 'old pictures in the camera',
  power: 'the power switch answered',
  orphan: 'a file without a row',
  warning: 'warning',
};

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

/** The same text, with no line break between a number and its unit. */
export const unbroken = (text) => text.replace(/(\d) (?=(?:s|min|h|lux|of|shots)\b)/g, '$1\u00a0');

/** Four significant digits. */
export const number = (value) => String(Number(value.toPrecision(4)));
export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
