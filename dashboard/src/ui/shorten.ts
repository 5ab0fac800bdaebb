/** Short forms of addresses and hashes. */

/** Characters at both ends that stay. Look-alike addresses imitate four at each end, so these are more. */
const HEAD = 8;
const TAIL = 6;

/** Shortens an address or a hash in the middle. */
export const shorten = (text: string): string =>
  text.length <= HEAD + TAIL + 3 ? text : `${text.slice(0, HEAD)}…${text.slice(-TAIL)}`;
