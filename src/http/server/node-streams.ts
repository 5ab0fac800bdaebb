/** Streams of events over node:http: server-sent events, or a WebSocket of the library `ws`. */
import type { ServerResponse } from 'node:http';
import type { WebSocket } from 'ws';
import { MONITORING_LIMITS } from '../../monitoring/limits.ts';
import { type EventStream, frameText, sseText, WS_REASON_BYTES_MAX, WS_TRY_AGAIN_LATER } from './port.ts';

type Message = Parameters<EventStream['send']>[0];

/** Server-sent events on a response that stays open. */
export class NodeEvents implements EventStream {
  readonly #response: ServerResponse;
  readonly #listeners: (() => void)[] = [];
  #isEnded = false;

  constructor(response: ServerResponse) {
    this.#response = response;
    const ping = setInterval(() => response.write(': ping\n\n'), MONITORING_LIMITS.streamPingMs);
    ping.unref();
    response.once('close', () => {
      this.#isEnded = true;
      clearInterval(ping);
      for (const listener of this.#listeners) listener();
    });
  }

  get waitingBytes(): number {
    return this.#isEnded ? 0 : this.#response.writableLength;
  }

  send(message: Message): boolean {
    if (this.#isEnded) return false;
    this.#response.write(sseText(message));
    return true;
  }

  close(reason: string): void {
    if (this.#isEnded) return;
    const isStuck = this.#response.writableNeedDrain;
    this.#response.end(sseText({ id: '', event: 'closed', data: JSON.stringify({ reason }) }));
    if (isStuck) this.#response.destroy();
  }

  onEnd(listener: () => void): void {
    if (this.#isEnded) listener();
    else this.#listeners.push(listener);
  }
}

/** A WebSocket that only sends. Messages sent before the handshake has ended are queued until then. */
export class NodeSocket implements EventStream {
  readonly #listeners: (() => void)[] = [];
  /** Null until the handshake has ended. */
  #socket: WebSocket | null = null;
  /** Messages that wait for the handshake. */
  #queued: string[] = [];
  /** Reason of a close that waits for the handshake. */
  #closeReason: string | null = null;
  #isEnded = false;

  constructor(opening: Promise<WebSocket>) {
    opening.then(
      (socket) => this.#opened(socket),
      () => this.#end(),
    );
  }

  get waitingBytes(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  send(message: Message): boolean {
    if (this.#isEnded) return false;
    if (this.#socket === null) this.#queued.push(frameText(message));
    else this.#socket.send(frameText(message));
    return true;
  }

  close(reason: string): void {
    if (this.#isEnded) return;
    if (this.#socket === null) this.#closeReason = reason;
    else this.#closeSocket(this.#socket, reason);
    this.#end();
  }

  onEnd(listener: () => void): void {
    if (this.#isEnded) listener();
    else this.#listeners.push(listener);
  }

  #opened(socket: WebSocket): void {
    this.#socket = socket;
    const ping = setInterval(() => socket.ping(), MONITORING_LIMITS.streamPingMs);
    ping.unref();
    socket.once('close', () => {
      clearInterval(ping);
      this.#end();
    });
    socket.on('error', () => socket.terminate());
    for (const text of this.#queued) socket.send(text);
    this.#queued = [];
    if (this.#closeReason !== null) this.#closeSocket(socket, this.#closeReason);
  }

  #closeSocket(socket: WebSocket, reason: string): void {
    if (socket.bufferedAmount > 0) socket.terminate();
    else socket.close(WS_TRY_AGAIN_LATER, Buffer.from(reason).subarray(0, WS_REASON_BYTES_MAX));
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    for (const listener of this.#listeners) listener();
  }
}
