/** Structured logs on stderr (stdout belongs to answers). Anything that looks like an API key is cut out of every line. */
import pino from 'pino';

export type Logger = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error'>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

const KEY_SHAPE = /assay_live_[0-9A-Za-z]+/g;

/** Replaces every API key in a text. */
export const redactKeys = (text: string): string => text.replace(KEY_SHAPE, 'assay_live_[redacted]');

export function createLogger(options: { level: LogLevel }): Logger {
  const stderr = pino.destination({ dest: 2, sync: true });
  const redacting = { write: (line: string): void => void stderr.write(redactKeys(line)) };
  return pino({ level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, redacting);
}

export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
};
