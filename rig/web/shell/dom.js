// Building the page. Text from outside only ever becomes text: there is no markup from strings.

const SVG = 'http://www.w3.org/2000/svg';

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/**
 * An element. Keys of `props` are attributes, but `on…` are listeners, `text` is its text, and
 * `style` sets custom properties; an attribute that is false, null or undefined is left out.
 */
export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for a drawing. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === 'text') node.textContent = value;
    else if (name === 'style') {
      for (const [key, set] of Object.entries(value)) node.style.setProperty(key, set);
    } else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Set a text only where it differs: an unchanged live region stays silent, a selection stays. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Show or hide. */
export function show(node, shown) {
  if (node.hidden === shown) node.hidden = !shown;
}

/** Set or remove an attribute, only where it differs. */
export function mark(node, name, value) {
  const text = value === true ? '' : value;
  if (value === false || value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}

/**
 * Have screen readers say a text. The same text twice in a row is said twice: a zero-width space
 * makes the node change.
 */
export function announce(text, urgent = false) {
  const node = byId(urgent ? 'alert' : 'polite');
  node.textContent = node.textContent === text ? `${text}\u200b` : text;
}
