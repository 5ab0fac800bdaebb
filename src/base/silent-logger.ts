/** A logger without the library of log.ts, for what must start fast. */
const nothing = (): void => {};

/** A logger that writes nothing. */
export const silentLogger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
