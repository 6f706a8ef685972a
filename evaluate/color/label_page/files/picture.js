// The picture at hand: shown whole, enlarged, or said to be broken.

import { byId, mark, show } from '../shell/dom.js';
import { look, onLook } from '../shell/look.js';
import { whyNoPicture } from './api.js';

const ZOOMS = [1, 2, 4, 8];
const ahead = new Map();
let at = null;
let loaded = null;
let zoom = 1;

const address = (id) => `/api/pictures/${id}`;

/** The id of the picture that a person sees now; null while there is none, or no true colors. */
export const seen = () => (look() === 'dark' ? loaded : null);

/** Show a picture (null: none), and have the next ones fetched. `onSeen` is called once it is. */
export function showPicture(id, alt, next, onSeen) {
  const image = byId('picture');
  image.alt = alt;
  if (id !== at) {
    at = id;
    loaded = null;
    show(image, false);
    show(byId('broken'), false);
    setZoom(1);
    follow();
    if (id === null) image.removeAttribute('src');
    else {
      image.onload = () => {
        loaded = id;
        show(image, true);
        onSeen(id);
      };
      image.onerror = async () => {
        const why = await whyNoPicture(id);
        if (at !== id) return;
        byId('broken').textContent = `This picture cannot be shown, so it cannot be labeled: ${why} Press s for the next one.`;
        show(byId('broken'), true);
      };
      image.src = address(id);
    }
  }
  for (const old of ahead.keys()) if (!next.includes(old)) ahead.delete(old);
  for (const one of next) {
    if (!ahead.has(one)) ahead.set(one, Object.assign(new Image(), { src: address(one) }));
  }
}

/** Enlarge to the next step around a point (0 to 1 each way); after the last, the whole again. */
export function nextZoom(x = 0.5, y = 0.5) {
  if (seen() === null) return;
  setZoom(ZOOMS[(ZOOMS.indexOf(zoom) + 1) % ZOOMS.length], x, y);
  byId('stage').focus({ preventScroll: true });
}

function setZoom(factor, x = 0.5, y = 0.5) {
  zoom = factor;
  const stage = byId('stage');
  byId('picture').style.setProperty('--zoom', factor);
  mark(stage, 'data-zoomed', factor === ZOOMS.at(-1));
  stage.scrollLeft = x * stage.scrollWidth - stage.clientWidth / 2;
  stage.scrollTop = y * stage.scrollHeight - stage.clientHeight / 2;
}

/** A picture in a night look has no colors to judge, and is not shown. */
function follow() {
  show(byId('dark-only'), look() !== 'dark');
  show(byId('stage'), look() === 'dark');
  show(byId('view'), at !== null);
}

/** Follow the look, and enlarge around the point that is clicked. */
export function start() {
  onLook(follow);
  byId('picture').addEventListener('click', (event) => {
    const box = event.target.getBoundingClientRect();
    nextZoom((event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  });
}
