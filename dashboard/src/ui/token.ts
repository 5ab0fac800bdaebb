/** Tokens of emails: they come in the fragment of the URL, which browsers send to no server. */
import { useState } from 'react';

/**
 * Returns the token of the fragment, and removes it from the address bar and the history.
 *
 * @returns the empty text if there is none
 */
export function useFragmentToken(): string {
  const [token] = useState(() => new URLSearchParams(location.hash.slice(1)).get('token') ?? '');
  if (location.hash !== '') history.replaceState(history.state, '', location.pathname + location.search);
  return token;
}
