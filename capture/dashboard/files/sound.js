// Two tones when somebody must act, for who asked for them; repeated until they did.

import { byId } from '../shell/dom.js';
import { read, watch } from './state.js';

const WANTED = 'snaprig.sound';
const AGAIN_MS = 30000;

let speaker = null;
let timer = null;

export function start() {
  const wanted = byId('sound');
  wanted.checked = stored();
  wanted.addEventListener('change', () => {
    try {
      localStorage.setItem(WANTED, wanted.checked ? '1' : '');
    } catch (error) {
      console.info('this browser keeps nothing:', error.message);
    }
    if (wanted.checked) play();
    follow();
  });
  byId('sound-test').addEventListener('click', play);
  watch('state', follow);
}

function stored() {
  try {
    return localStorage.getItem(WANTED) === '1';
  } catch {
    return false; // said once, by the boot script
  }
}

function follow() {
  const { state, alert } = read('state') ?? {};
  const needed = byId('sound').checked && state === 'needs_operator' && !alert?.acknowledged;
  if (needed && timer === null) {
    play();
    timer = setInterval(play, AGAIN_MS);
  } else if (!needed) {
    clearInterval(timer);
    timer = null;
  }
}

function play() {
  speaker ??= new AudioContext();
  // A browser lets a page sound only after a click or a key in it.
  speaker.resume().then(() => {
    [660, 880].forEach((pitch, at) => {
      const tone = new OscillatorNode(speaker, { frequency: pitch });
      const volume = new GainNode(speaker, { gain: 0.2 });
      tone.connect(volume).connect(speaker.destination);
      tone.start(speaker.currentTime + 0.25 * at);
      tone.stop(speaker.currentTime + 0.25 * at + 0.2);
    });
  });
}
