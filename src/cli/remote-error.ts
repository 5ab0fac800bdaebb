/** Error responses of another Assay server, as one line for a terminal. */
import type { Dispatcher } from 'undici';
import { AssayError } from '../base/errors.ts';
import { printableLine } from './context.ts';

/** A response about one job, or an error response, has about 1 KB. */
const ANSWER_BYTES_MAX = 64 * 1024;
/** Shown of an error response that is not one of this API. */
const FOREIGN_CHARS = 200;

/** Returns the first bytes of a response, or all of a short one. Rejects if its connection fails. */
export async function beginningOf({ body }: Dispatcher.ResponseData): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    pieces.push(piece);
    length += piece.length;
    // Leaving the loop closes the connection.
    if (length >= ANSWER_BYTES_MAX) break;
  }
  return Buffer.concat(pieces).subarray(0, ANSWER_BYTES_MAX);
}

/** Returns the message of an error response, or the beginning of its text if it is not one of this API. */
export async function sentenceOf(response: Dispatcher.ResponseData): Promise<string> {
  const text = await beginningOf(response).then(String, () => '');
  try {
    const said = JSON.parse(text) as { error?: unknown; detail?: unknown };
    for (const sentence of [said.error, said.detail])
      if (typeof sentence === 'string') return printableLine(sentence);
  } catch {
    // A proxy may respond in another format.
  }
  return printableLine(text).slice(0, FOREIGN_CHARS);
}

/** Creates the error for a request that the other server has refused: the command line itself is valid. */
export const refusedBy = (message: string): AssayError => new AssayError('FORBIDDEN', message);
