/**
 * Keeps undici 7 from ending the process if a server closes a connection while the reader of its response is slow. The parser of the response
 * is paused then, and undici asserts that it is not, in a listener of the socket, where nobody can catch the error
 * (https://github.com/nodejs/undici/issues/5360). Version 8 reads on (https://github.com/nodejs/undici/pull/5474), but needs Node 22.19.
 */
import type { Socket } from 'node:net';

/** The part of undici's parser of HTTP/1 that this module uses. */
interface Parser {
  readonly socket: Socket;
  /** Address of the parser in WebAssembly; null after its end. */
  readonly ptr: number | null;
  readonly llhttp: { llhttp_resume(ptr: number): void };
  paused: boolean;
  execute(bytes: Uint8Array): void;
  /** Ends the response with the connection. Returns an error if the response is not complete. */
  finish(): Error | null;
}

const NO_BYTES = new Uint8Array(0);
/** Events of a socket at which undici ends its parser. */
const ENDS = ['end', 'error', 'close'] as const;

/** Prototypes of parsers that read on: one for each copy of undici. */
const mended = new WeakSet<object>();

function isParser(value: unknown): value is Parser {
  const parser = value as Partial<Parser> | null | undefined;
  return typeof parser?.finish === 'function' && typeof parser.execute === 'function';
}

/** Lets a paused parser read what has arrived. The reader gets it from the buffer of the body, which holds at most what the socket held. */
function readRest(parser: Parser): void {
  while (parser.paused && parser.ptr !== null) {
    parser.llhttp.llhttp_resume(parser.ptr);
    parser.paused = false;
    const bytes = parser.socket.read() as Uint8Array | null;
    // Also without bytes: the end of a body of known length is reported by the next call.
    parser.execute(bytes ?? NO_BYTES);
    if (bytes !== null || !parser.paused || parser.ptr === null) continue;
    parser.llhttp.llhttp_resume(parser.ptr);
    parser.paused = false;
  }
}

/**
 * Prepares a connection before undici uses it.
 *
 * @param socket - connected socket, to which undici has added no listener yet
 */
export function mendParser(socket: Socket): void {
  const mend = (): void => {
    for (const symbol of Object.getOwnPropertySymbols(socket)) {
      const parser: unknown = (socket as unknown as Record<symbol, unknown>)[symbol];
      if (!isParser(parser)) continue;
      const prototype = Object.getPrototypeOf(parser) as Parser;
      if (mended.has(prototype)) continue;
      mended.add(prototype);
      const { finish } = prototype;
      prototype.finish = function (this: Parser): Error | null {
        readRest(this);
        return finish.call(this);
      };
    }
  };
  for (const event of ENDS) socket.once(event, mend);
}
