/** One request of the server on node:http and its response: whole, or piece by piece. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { WebSocket } from 'ws';
import { HTTP_LIMITS } from '../limits.ts';
import type { BodyShare } from './body-budget.ts';
import { ChunkCount } from './chunk-count.ts';
import { unmapped } from './client-origin.ts';
import type { HeaderLines } from './header-bytes.ts';
import { BodyIntake } from './intake.ts';
import { NodeEvents, NodeSocket } from './node-streams.ts';
import {
  type BodyReceiver,
  type ByteSource,
  type EventStream,
  type Exchange,
  REASONS,
  SSE_HEADERS,
  type UploadPace,
} from './port.ts';

/** Milliseconds for a body of the maximum size at 16 KB/s, the slowest rate that uWebSockets.js accepts. */
const SLOWEST_BODY_MS = (HTTP_LIMITS.bodyBytesMax / (16 * 1024)) * 1000;

/** Converts `name: value` lines to the flat list that `writeHead` takes. */
function flatHeaders(block: string): string[] {
  return block.split('\r\n').flatMap((line) => {
    const colon = line.indexOf(': ');
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
}

/** A request and its response. */
export class NodeExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly params: string[] = [];
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #query: string;
  readonly #isClosing: () => boolean;
  readonly #pace: UploadPace;
  #replied = false;
  #bodyRead = false;
  #closeAfter: boolean;
  #gone = false;
  #intake: BodyIntake | null = null;
  /** What its body holds; null before `readBody`. */
  #share: BodyShare | null = null;
  /** The rest of the body will not be read. */
  #isUnread = false;

  /** Set if the request asks for an upgrade. */
  readonly #upgrade: (() => Promise<WebSocket>) | null;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    isClosing: () => boolean,
    pace: UploadPace,
    closeAfter: boolean,
    upgrade: (() => Promise<WebSocket>) | null = null,
  ) {
    this.#upgrade = upgrade;
    this.#closeAfter = closeAfter;
    const url = request.url ?? '/';
    const mark = url.indexOf('?');
    this.method = request.method ?? 'GET';
    this.path = mark < 0 ? url : url.slice(0, mark);
    this.#query = mark < 0 ? '' : url.slice(mark + 1);
    this.#request = request;
    this.#response = response;
    this.#isClosing = isClosing;
    this.#pace = pace;
    response.once('close', () => {
      if (this.#replied) return;
      this.#gone = true;
      this.#share?.release();
      this.#intake?.gone();
    });
  }

  query(): string {
    return this.#query;
  }

  header(name: string): string {
    const value = this.#request.headers[name];
    return typeof value === 'string' ? value : (value?.[0] ?? '');
  }

  optionalHeader(name: string): string | null {
    return this.#request.headers[name] === undefined ? null : this.header(name);
  }

  keep(): void {
    // Not needed: a node:http request stays readable.
  }

  remoteAddress(): string {
    return unmapped(this.#request.socket.remoteAddress ?? '');
  }

  get isGone(): boolean {
    return this.#gone;
  }

  readBody(bytesMax: number, onBody: (body: Uint8Array | null) => void, share?: BodyShare): void {
    this.#bodyRead = true;
    this.#share = share ?? null;
    const request = this.#request;
    if (Number(this.header('content-length')) > bytesMax) {
      this.#closeAfter = true;
      onBody(null);
      return;
    }
    this.#boundBody();
    let received: Buffer[] = [];
    let length = 0;
    let isOver = false;
    const chunks = new ChunkCount();
    request.on('data', (chunk: Buffer) => {
      if (isOver || this.#replied) return;
      length += chunk.length;
      if (length <= bytesMax && !chunks.isExceeded() && share?.take(chunk.length) !== false) {
        received.push(chunk);
        return;
      }
      isOver = true;
      share?.release();
      this.#closeAfter = true;
      received = [];
      onBody(null);
    });
    request.once('end', () => {
      if (!isOver && !this.#replied) onBody(Buffer.concat(received, length));
    });
  }

  /** Limits the time of a body that is read as a whole. For a streamed body, its intake does this. */
  #boundBody(): void {
    const request = this.#request;
    if (request.complete) return;
    const deadline = setTimeout(() => request.socket.destroy(), SLOWEST_BODY_MS);
    deadline.unref();
    request.once('close', () => clearTimeout(deadline));
  }

  /** Discards a body that no handler has read: the next request on the connection comes after it. */
  #skipBody(): void {
    if (this.#bodyRead) return;
    this.#boundBody();
    this.#request.resume();
  }

  receiveBody(bytesMax: number, receiver: BodyReceiver): void {
    this.#bodyRead = true;
    const request = this.#request;
    if (Number(this.header('content-length')) > bytesMax) {
      this.#isUnread = true;
      receiver.end('too large');
      return;
    }
    const intake = new BodyIntake({ bytesMax, pace: this.#pace }, receiver, {
      pause: () => request.pause(),
      resume: () => request.resume(),
      wait: () => {},
      cut: () => request.socket.destroy(),
      abandon: () => {
        this.#isUnread = true;
      },
    });
    this.#intake = intake;
    request.on('data', (chunk: Buffer) => intake.offer(chunk, false));
    request.once('end', () => intake.offer(Buffer.alloc(0), true));
  }

  async replyBytes(status: number, headers: string, source: ByteSource): Promise<void> {
    this.#markReplied();
    const response = this.#response;
    let wake: () => void = () => {};
    response.once('close', () => wake());
    try {
      if (response.destroyed) return;
      this.#writeHead(status, headers, source.length);
      this.#skipBody();
      if (this.method === 'HEAD') {
        response.end();
        return;
      }
      for (let sent = 0; sent < source.length; ) {
        const bytes = await source.next();
        sent += bytes.length;
        await new Promise<void>((resolve) => {
          wake = resolve;
          // Not called if the client disconnects first.
          response.write(bytes, () => resolve());
        });
        if (response.destroyed) return;
      }
      response.end();
    } catch (error) {
      response.destroy();
      throw error;
    } finally {
      await source.close();
    }
  }

  #markReplied(): void {
    if (this.#replied) throw new Error('The exchange already has a response.');
    this.#replied = true;
    this.#share?.release();
    this.#intake?.answered();
  }

  /**
   * Writes the status line and the headers.
   *
   * @param length - null if the response has no Content-Length
   */
  #writeHead(status: number, headers: string, length: number | null): void {
    const close =
      this.#closeAfter || this.#isUnread || this.#isClosing() || (!this.#bodyRead && this.#hasHugeBody());
    const flat = flatHeaders(headers);
    if (length !== null) flat.push('Content-Length', String(length));
    if (close) flat.push('Connection', 'close');
    this.#response.writeHead(status, REASONS[status] ?? '', flat);
    // Disconnects a client that does not read its response. node:http itself clears this timeout when the response has been sent.
    this.#request.socket.setTimeout(HTTP_LIMITS.slowClientMs);
  }

  reply(status: number, headers: HeaderLines, body: string | Uint8Array): void {
    this.#markReplied();
    const response = this.#response;
    if (response.destroyed) return;
    const bytes = Buffer.from(body);
    this.#writeHead(status, String(headers), status === 304 ? null : bytes.length);
    if (this.#isUnread) {
      this.#linger(bytes);
      return;
    }
    response.end(status === 304 ? undefined : bytes);
    this.#skipBody();
  }

  /**
   * Responds to a client that is still sending and keeps reading for a while: closing a socket with unread bytes resets the
   * connection, and the response would be lost.
   */
  #linger(bytes: Uint8Array): void {
    const response = this.#response;
    response.write(bytes);
    const end = (): void => {
      response.end();
    };
    const lingering = setTimeout(end, HTTP_LIMITS.lingerMs);
    lingering.unref();
    response.once('close', () => clearTimeout(lingering));
    this.#request.once('end', end);
    this.#request.resume();
  }

  openStream(headers: string): EventStream {
    this.#markReplied();
    if (this.#upgrade !== null) return new NodeSocket(this.#upgrade());
    const response = this.#response;
    response.writeHead(200, flatHeaders(`${headers}\r\n${SSE_HEADERS}`));
    response.write(': open\n\n');
    return new NodeEvents(response);
  }

  #hasHugeBody(): boolean {
    return Number(this.header('content-length')) > HTTP_LIMITS.bodyBytesMax;
  }
}
