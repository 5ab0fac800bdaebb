/** Structured logs on stderr (stdout is for results). API keys and secrets are redacted in every line. */
import { isatty } from 'node:tty';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';
import pino from 'pino';
import { printable, printableLine } from './printable.ts';
import { silentLogger as silent } from './silent-logger.ts';

export type Logger = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error'>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** Patterns of secrets: Assay's own keys, webhook secrets, keys of Stripe, Slack hooks, Telegram bot tokens. */
const SECRET_SHAPES: readonly (readonly [RegExp, string])[] = [
  [/assay_live_[0-9A-Za-z]+/g, 'assay_live_[redacted]'],
  [/whsec_[0-9A-Za-z+/=]+/g, 'whsec_[redacted]'],
  [/\b([sr]k_(?:live|test)_)[0-9A-Za-z]+/g, '$1[redacted]'],
  [/(hooks\.slack\.com\/)[^\s"'\\]+/g, '$1[redacted]'],
  // In the URL of a request, a token of any length.
  [/(\/bot)\d{1,20}:[A-Za-z0-9_-]+/g, '$1[redacted]'],
  [/\d{6,20}:[A-Za-z0-9_-]{30,100}/g, '[redacted]'],
];

/** Redacts every key and secret in a text. */
export const redactKeys = (text: string): string =>
  SECRET_SHAPES.reduce((left, [shape, shown]) => left.replace(shape, shown), text);

/** `auto`: text if stderr is a terminal, otherwise JSON lines. */
export type LogFormat = 'auto' | 'text' | 'json';

const LEVELS: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error' };

/** A text that needs no quotes. */
const PLAIN = /^[^\s"=\\\p{C}]+$/u;

/** A field of a line of text. Texts with spaces or quotes are quoted, so that a hostile value cannot imitate another field. */
function fieldText(value: unknown): string {
  const text = typeof value === 'string' && PLAIN.test(value) ? value : JSON.stringify(value);
  return printable(text ?? '');
}

/**
 * Formats a JSON line of the log as text for people: time, level, message, fields. Control characters are escaped. The stack of an error
 * is left out, unless `hasStacks` is set.
 *
 * @param json - one object of the log
 * @returns one line, and the lines of the stack
 */
export function textLine(json: string, hasStacks = false): string {
  const { level, time, msg, err, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const { message, stack } = (err ?? {}) as { readonly message?: unknown; readonly stack?: unknown };
  const shown = Object.entries({ ...fields, ...(err === undefined ? {} : { err: message ?? err }) })
    .map(([name, value]) => `${printableLine(name)}=${fieldText(value)}`)
    .join(' ');
  const lines = [
    `${String(time)} ${(LEVELS[Number(level)] ?? String(level)).toUpperCase().padEnd(5)} ${printableLine(String(msg ?? ''))}${shown === '' ? '' : `  ${shown}`}`,
    ...(hasStacks && typeof stack === 'string' ? stack.split('\n').slice(1).map(printable) : []),
  ];
  return `${lines.join('\n')}\n`;
}

/** Most bytes of lines that wait until stderr can be written again; further lines are lost. */
const WAITING_BYTES_MAX = 1024 * 1024;

/** Name under which the threads of a process find the format of its log. */
const FORMAT_OF_PROCESS = 'assay.logFormat';

/**
 * Creates a logger that writes to stderr.
 *
 * @param options.format - default: the format of the logger that the process created before its threads, otherwise `auto`
 */
export function createLogger({ level, format }: { level: LogLevel; format?: LogFormat }): Logger {
  if (format !== undefined) setEnvironmentData(FORMAT_OF_PROCESS, format);
  const chosen = format ?? getEnvironmentData(FORMAT_OF_PROCESS);
  const isText = chosen === 'text' || (chosen !== 'json' && isatty(2));
  const stderr = pino.destination({ dest: 2, sync: true, maxLength: WAITING_BYTES_MAX });
  // Without a listener, a full disk under the file of the log would throw from the call that logs, and end the process at its start. The
  // lines wait, and are written with the first one for which there is room.
  stderr.on('error', () => {});
  const written = (line: string): string => {
    const redacted = redactKeys(line);
    return isText ? textLine(redacted, level === 'debug') : redacted;
  };
  const redacting = { write: (line: string): void => void stderr.write(written(line)) };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, redacting);
}

/** A logger that writes nothing. */
export const silentLogger: Logger = silent;
