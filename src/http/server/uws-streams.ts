/** Streams of events over uWebSockets.js: server-sent events, or a WebSocket. */

import { MONITORING_LIMITS } from '../../monitoring/limits.ts';
import { type EventStream, frameText, sseText, WS_REASON_BYTES_MAX, WS_TRY_AGAIN_LATER } from './port.ts';

/** The part of the library's response that a stream uses. */
interface EventResponse {
  onWritable(handler: (offset: number) => boolean): unknown;
  cork(run: () => void): unknown;
  write(text: string): boolean;
  end(): unknown;
  close(): unknown;
}

/** The part of the library's WebSocket that a stream uses. */
interface SendingSocket {
  getBufferedAmount(): number;
  send(text: string): unknown;
  end(code: number, reason: Uint8Array): unknown;
  close(): unknown;
}

/** Server-sent events on a response that stays open. */
export class UwsEvents implements EventStream {
  readonly #res: EventResponse;
  readonly #onEnd: (() => void)[] = [];
  readonly #ping: NodeJS.Timeout;
  #ended = false;
  #waiting = 0;

  constructor(res: EventResponse) {
    this.#res = res;
    res.onWritable(() => {
      this.#waiting = 0;
      return true;
    });
    this.#ping = setInterval(() => this.#write(': ping\n\n'), MONITORING_LIMITS.streamPingMs);
    this.#ping.unref();
  }

  get waitingBytes(): number {
    return this.#waiting;
  }

  send(message: { readonly id: string; readonly event: string; readonly data: string }): boolean {
    return this.#write(sseText(message));
  }

  close(reason: string): void {
    if (this.#ended) return;
    this.#write(sseText({ id: '', event: 'closed', data: JSON.stringify({ reason }) }));
    if (this.#ended) return;
    this.ended();
    // A client that does not read would otherwise keep the connection open until its idle timeout.
    if (this.#waiting > 0) this.#res.close();
    // Not with a close of the connection: the library then writes the header `Connection` after the body, as an invalid chunk.
    else this.#res.cork(() => this.#res.end());
  }

  onEnd(listener: () => void): void {
    if (this.#ended) listener();
    else this.#onEnd.push(listener);
  }

  /** The client disconnected, or the stream was closed. */
  ended(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#ping);
    for (const listener of this.#onEnd) listener();
  }

  #write(text: string): boolean {
    if (this.#ended) return false;
    let taken = true;
    this.#res.cork(() => {
      taken = this.#res.write(text);
    });
    this.#waiting = taken ? 0 : this.#waiting + Buffer.byteLength(text);
    return true;
  }
}

/** A WebSocket that only sends. */
export class UwsSocket implements EventStream {
  #socket: SendingSocket | null = null;
  readonly #onEnd: (() => void)[] = [];
  #ended = false;

  get waitingBytes(): number {
    return this.#ended ? 0 : (this.#socket?.getBufferedAmount() ?? 0);
  }

  send(message: { readonly id: string; readonly event: string; readonly data: string }): boolean {
    if (this.#ended || this.#socket === null) return false;
    this.#socket.send(frameText(message));
    return !this.#ended;
  }

  close(reason: string): void {
    if (this.#ended) return;
    const socket = this.#socket;
    this.#ended = true;
    // A client that does not read would otherwise keep the socket open until its idle timeout.
    if (this.waitingBytes > 0 || socket === null) socket?.close();
    else socket.end(WS_TRY_AGAIN_LATER, Buffer.from(reason).subarray(0, WS_REASON_BYTES_MAX));
    this.#notify();
  }

  onEnd(listener: () => void): void {
    if (this.#ended) listener();
    else this.#onEnd.push(listener);
  }

  opened(socket: SendingSocket): void {
    this.#socket = socket;
  }

  ended(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#onEnd.splice(0)) listener();
  }
}
