/** The number of lines of each job of the killed process. */
export const LINES: Readonly<Record<string, number>> = { labels: 300_000, screening: 2_000 };
/** One line in this many is not an address. */
export const BAD_EVERY = 499;
