/** What the process that is killed works on. */
export const LINES: Readonly<Record<string, number>> = { labels: 300_000, screening: 2_000 };
/** Every so many lines one is no address. */
export const BAD_EVERY = 499;
