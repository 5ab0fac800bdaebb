/** Why a download failed, as one sentence, and whether another attempt may succeed. */
import { AssayError, messageOf } from '../base/errors.ts';

/** A failure of one attempt. `passing` is true if another attempt may succeed. */
export class DownloadFault extends Error {
  readonly passing: boolean;

  constructor(message: string, passing: boolean) {
    super(message);
    this.name = 'DownloadFault';
    this.passing = passing;
  }
}

const SENTENCES: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: 'the server could not be reached in time.',
  UND_ERR_HEADERS_TIMEOUT: 'the server took too long to answer.',
  UND_ERR_BODY_TIMEOUT: 'the server fell silent in the middle of the file.',
  UND_ERR_SOCKET: 'the connection was cut.',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the file is longer or shorter than the server announced.',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large.',
  ECONNREFUSED: 'the server refused the connection.',
  ECONNRESET: 'the connection was cut.',
  ENOTFOUND: 'the name of the server is not known.',
  EAI_AGAIN: 'the name of the server could not be looked up.',
  Z_BUF_ERROR: 'the packed answer ends too early.',
  Z_DATA_ERROR: 'the packed answer is broken.',
};

/** Errors after which a retry may succeed. A missing network is not among them: it lasts longer than the retries. */
const PASSING: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'Z_BUF_ERROR',
]);

/** Converts the errors of undici and of the file system to one sentence. Only a connection error is temporary. */
export function asFault(error: unknown): DownloadFault {
  if (error instanceof DownloadFault) return error;
  if (error instanceof AssayError) return new DownloadFault(error.message, false);
  if (error instanceof Error && error.name === 'AbortError')
    return new DownloadFault('it was stopped.', false);
  const code = (error as { code?: unknown } | null)?.code;
  const passing = typeof code === 'string' && PASSING.has(code);
  const known = typeof code === 'string' ? SENTENCES[code] : undefined;
  return new DownloadFault(known ?? messageOf(error), passing);
}
