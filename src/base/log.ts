/** Structured logs on stderr (stdout is for results). API keys and secrets are redacted in every line. */
import pino from 'pino';

export type Logger = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error'>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Patterns of secrets: Assay's own keys, webhook secrets, Slack hooks, Telegram bot tokens. */
const SECRET_SHAPES: readonly (readonly [RegExp, string])[] = [
  [/assay_live_[0-9A-Za-z]+/g, 'assay_live_[redacted]'],
  [/whsec_[0-9A-Za-z+/=]+/g, 'whsec_[redacted]'],
  [/(hooks\.slack\.com\/)[^\s"'\\]+/g, '$1[redacted]'],
  [/\d{6,20}:[A-Za-z0-9_-]{30,100}/g, '[redacted]'],
];

/** Redacts every key and secret in a text. */
export const redactKeys = (text: string): string =>
  SECRET_SHAPES.reduce((left, [shape, shown]) => left.replace(shape, shown), text);

/** Creates a logger that writes JSON lines to stderr. */
export function createLogger(options: { level: LogLevel }): Logger {
  const stderr = pino.destination({ dest: 2, sync: true });
  const redacting = { write: (line: string): void => void stderr.write(redactKeys(line)) };
  return pino({ level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, redacting);
}

/** A logger that writes nothing. */
export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
};
