// Requests to the daemon.

/** The daemon's answer was no, or there was none (`status` 0). `message` is for a person. */
export class Refused extends Error {
  constructor(message, status, body = {}) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

// A daemon that hangs must not hang the page.
const PATIENCE_MS = 15000;

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(`/api/${path}`, {
      cache: 'no-store',
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...options,
    });
  } catch (error) {
    const why = error.name === 'TimeoutError' ? 'did not answer in time' : 'does not answer';
    throw new Refused(`The daemon ${why}.`, 0);
  }
  const body = await answer.json().catch(() => null);
  if (answer.ok && body !== null) return body;
  if (answer.ok) throw new Refused('The answer of the daemon was cut off.', 0);
  // A session that has ended: the daemon's own page asks for the token.
  if (answer.status === 401 && path !== 'session') location.replace('/');
  const detail = typeof body?.detail === 'string' ? body.detail : `The daemon answered ${answer.status}.`;
  throw new Refused(detail, answer.status, body ?? {});
}

/** GET a document. */
export const get = (path) => ask(path);

/** POST a document. The header of our own is one that no foreign page can send. */
export const post = (path, body = {}) =>
  ask(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Snaprig': '1' },
    body: JSON.stringify(body),
  });
