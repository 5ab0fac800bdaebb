/**
 * A client that writes bytes as they are and reads responses one by one, for requests that fetch would not send and responses it would
 * reject.
 */
import { connect, type Socket } from 'node:net';
import { sleep } from '../support/wait.ts';

export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Cuts one complete response off the front of a text (latin1). If it is incomplete, returns the length that the text needs at least. */
function cutAnswer(text: string, isHead = false): { answer: RawAnswer; rest: string } | number {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return text.length + 1;
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
    }),
  );
  const status = Number(statusLine.split(' ')[1]);
  const bodyless = isHead || status === 304 || status === 100;
  const length = bodyless ? 0 : Number(headers.get('content-length') ?? 0);
  const start = end + 4;
  if (text.length < start + length) return start + length;
  const body = Buffer.from(text.slice(start, start + length), 'latin1').toString('utf8');
  return { answer: { status, headers, body }, rest: text.slice(start + length) };
}

export class RawClient {
  readonly socket: Socket;
  #received = '';
  #closed = false;
  #waiting: (() => void) | null = null;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('data', (chunk: Buffer) => {
      this.#received += chunk.toString('latin1');
      this.#waiting?.();
    });
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.#closed = true;
      this.#waiting?.();
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  get received(): string {
    return this.#received;
  }

  send(text: string | Uint8Array): void {
    if (!this.socket.destroyed) this.socket.write(text);
  }

  /** Reads the next response; null if the server closed without one, or sent nothing within `timeoutMs`. */
  async next(options: { timeoutMs?: number; isHead?: boolean } = {}): Promise<RawAnswer | null> {
    const deadline = performance.now() + (options.timeoutMs ?? 60_000);
    let needed = 0;
    for (;;) {
      // A large response is parsed when it is complete, not at each piece.
      if (this.#received.length >= needed) {
        const cut = cutAnswer(this.#received, options.isHead);
        if (typeof cut !== 'number') {
          this.#received = cut.rest;
          return cut.answer;
        }
        needed = cut;
      }
      const left = deadline - performance.now();
      if (this.#closed || left <= 0) return null;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#waiting = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** Resolves with true if the server closes the connection in time. */
  async ended(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    while (!this.#closed && performance.now() < deadline) await sleep(20);
    return this.#closed;
  }

  destroy(): void {
    this.socket.destroy();
  }
}
