/** Texts of errors, made safe for people who may read the state of a service, but not its secrets. */

import { redactKeys } from './log.ts';
import { isUrl } from './url.ts';

/** A URL may have credentials, and an API key in its path or query. */
const URLS = /\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s"'`<>]+/gi;

/** An error of a library or of another server can have any length. */
const TEXT_CHARS_MAX = 1_000;

/**
 * Shortens every URL in a text to its scheme and host, and redacts keys.
 *
 * @param text - an error or a reason
 * @returns the text, at most 1,000 characters of it
 */
export const hostsOnly = (text: string): string =>
  redactKeys(
    text.replace(URLS, (found) => {
      if (!isUrl(found)) return '[URL]';
      const { protocol, host } = new URL(found);
      return `${protocol}//${host}`;
    }),
  ).slice(0, TEXT_CHARS_MAX);
