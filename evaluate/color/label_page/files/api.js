// Requests to this page's server.

/** The answer was no, or there was none (`status` 0). `message` is for a person. */
export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

const PATIENCE_MS = 15000;

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(`/api/${path}`, {
      cache: 'no-store',
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...options,
    });
  } catch {
    throw new Refused(
      'The program behind this page does not answer. All that you labeled is stored: start it again, then reload.',
      0,
    );
  }
  const body = await answer.json().catch(() => null);
  if (answer.ok && body !== null) return body;
  const detail = typeof body?.detail === 'string' ? body.detail : `The answer was ${answer.status}.`;
  throw new Refused(detail, answer.status);
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

/** Why a picture is not shown, in words. */
export async function whyNoPicture(id) {
  try {
    const answer = await fetch(`/api/pictures/${id}`, { cache: 'no-store' });
    return answer.ok ? 'It cannot be decoded.' : ((await answer.json()).detail ?? '');
  } catch {
    return 'The program behind this page does not answer.';
  }
}
