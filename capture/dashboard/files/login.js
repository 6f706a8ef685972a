// Trades the token for a session cookie, which the event stream needs.

import { byId, show } from '../shell/dom.js';
import { post, Refused } from './api.js';

byId('login').addEventListener('submit', async (event) => {
  event.preventDefault();
  const refused = byId('refused');
  show(refused, false);
  try {
    await post('session', { token: byId('token').value.trim() });
    location.replace('/');
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    refused.textContent = error.status === 401 ? 'That is not the token.' : error.message;
    show(refused, true);
    byId('token').select();
  }
});
