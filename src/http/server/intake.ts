/**
 * Passes a request body from the socket to its receiver one piece at a time, and pauses the socket meanwhile. Both HTTP servers
 * share this code; each provides its own `IntakeSocket`.
 */

import { HTTP_LIMITS } from '../limits.ts';
import { ChunkCount } from './chunk-count.ts';
import type { BodyReceiver, UploadPace } from './port.ts';

/** Operations of an intake on the connection that carries its body. */
export interface IntakeSocket {
  /** Stops reading. Pieces that were already read may still be offered. */
  pause(): void;
  resume(): void;
  /** Called every few seconds while no data arrives, so that the server does not treat the connection as idle. */
  wait(): void;
  /** Closes the connection, which calls `gone`. */
  cut(): void;
  /** The rest of the body is discarded, and the response is the last one on this connection. */
  abandon(): void;
}

/** Number of checks of a silent client before it is refused: one every 5 s, if a minute of silence is allowed. */
const CHECKS_MAX = 12;

export const UPLOAD_PACE: UploadPace = {
  silenceMs: HTTP_LIMITS.uploadSilenceMs,
  graceMs: HTTP_LIMITS.uploadGraceMs,
  bytesPerSecondMin: HTTP_LIMITS.uploadBytesPerSecondMin,
};

type Ending = Parameters<BodyReceiver['end']>[0];

/** Size of a buffer that has been too small once: what the bindings read from a socket at once. */
const BUFFER_BYTES = 512 * 1024;
const NO_BYTES = Buffer.alloc(0);

/** The intake waits for the client, or for the receiver to take a piece, or nothing is passed on any more. */
type Phase = 'waiting' | 'writing' | 'over';

/** The intake of one body. The time limits count only while it waits for the client, not while the receiver works. */
export class BodyIntake {
  readonly #bytesMax: number;
  readonly #pace: UploadPace;
  readonly #receiver: BodyReceiver;
  readonly #socket: IntakeSocket;
  readonly #checks: NodeJS.Timeout;
  readonly #checkMs: number;
  #phase: Phase = 'waiting';
  /** Known before the last pieces have been written; null while more data may come. */
  #ending: Ending | null = null;
  #isPaused = false;
  /**
   * Bytes that wait for the receiver, and the buffer that it has taken or will. Two buffers for each body: with one for each piece, the garbage
   * collector would run several times for each upload, for tens of milliseconds.
   */
  #waiting = NO_BYTES;
  #waitingBytes = 0;
  #spare = NO_BYTES;
  #receivedBytes = 0;
  readonly #chunks = new ChunkCount();
  /** Checks since the last data. */
  #silentChecks = 0;
  #waitedMs = 0;

  /** @param receiver - gets the pieces in order, one at a time, then the reason of the end */
  constructor(
    { bytesMax, pace }: { readonly bytesMax: number; readonly pace: UploadPace },
    receiver: BodyReceiver,
    socket: IntakeSocket,
  ) {
    this.#bytesMax = bytesMax;
    this.#pace = pace;
    this.#receiver = receiver;
    this.#socket = socket;
    this.#checkMs = pace.silenceMs / CHECKS_MAX;
    this.#checks = setInterval(() => this.#checkPace(), this.#checkMs);
    this.#checks.unref();
  }

  /** Offers the next piece, which is copied. The last piece may be empty. */
  offer(bytes: Uint8Array, isLast: boolean): void {
    if (this.#phase === 'over' || this.#ending !== null) return;
    this.#silentChecks = 0;
    this.#receivedBytes += bytes.length;
    if (this.#receivedBytes > this.#bytesMax) {
      this.#waitingBytes = 0;
      this.#ending = 'too large';
      this.#socket.abandon();
    } else if (this.#chunks.isExceededFor(this.#receivedBytes)) {
      this.#waitingBytes = 0;
      this.#ending = 'in small chunks';
      this.#socket.abandon();
    } else {
      this.#keep(bytes);
      if (isLast) this.#ending = 'whole';
    }
    if (this.#phase === 'waiting') this.#advance();
  }

  #keep(bytes: Uint8Array): void {
    const end = this.#waitingBytes + bytes.length;
    if (end > this.#waiting.length) {
      // A small body is one piece.
      const larger = Buffer.allocUnsafeSlow(this.#waiting === NO_BYTES ? end : Math.max(end, BUFFER_BYTES));
      larger.set(this.#waiting.subarray(0, this.#waitingBytes));
      this.#waiting = larger;
    }
    this.#waiting.set(bytes, this.#waitingBytes);
    this.#waitingBytes = end;
  }

  /** The client disconnected. */
  gone(): void {
    if (this.#phase === 'over' || this.#ending === 'whole') return;
    this.#ending = 'gone';
    if (this.#phase === 'waiting') this.#end('gone');
  }

  /** A response was sent: the receiver is not called any more. */
  answered(): void {
    if (this.#phase === 'over') return;
    this.#close();
    if (this.#ending !== 'whole') this.#socket.abandon();
  }

  /** Passes on what has come: pieces first, then the end. */
  #advance(): void {
    if (this.#waitingBytes === 0) {
      if (this.#ending !== null) this.#end(this.#ending);
      return;
    }
    this.#phase = 'writing';
    if (this.#ending === null) {
      this.#isPaused = true;
      this.#socket.pause();
    }
    this.#writePieces().catch(() => {
      if (this.#phase === 'writing') this.#phase = 'waiting';
      this.#socket.cut();
    });
  }

  /** Passes the pieces to the receiver until none is left. */
  async #writePieces(): Promise<void> {
    while (this.#waitingBytes > 0 && this.#phase === 'writing' && this.#ending !== 'gone') {
      const bytes = this.#waiting.subarray(0, this.#waitingBytes);
      [this.#waiting, this.#spare] = [this.#spare, this.#waiting];
      this.#waitingBytes = 0;
      await this.#receiver.write(bytes);
    }
    if (this.#phase !== 'writing') return;
    this.#phase = 'waiting';
    if (this.#ending !== null) {
      this.#end(this.#ending);
      return;
    }
    this.#silentChecks = 0;
    this.#isPaused = false;
    this.#socket.resume();
  }

  #checkPace(): void {
    if (this.#phase === 'writing') return;
    this.#silentChecks++;
    this.#waitedMs += this.#checkMs;
    const bytesMin = (this.#pace.bytesPerSecondMin * this.#waitedMs) / 1_000;
    if (this.#silentChecks >= CHECKS_MAX) this.#refuse('silent');
    else if (this.#waitedMs > this.#pace.graceMs && this.#receivedBytes < bytesMin) this.#refuse('too slow');
    else this.#socket.wait();
  }

  /** Stops waiting for the client and passes the reason to the receiver. */
  #refuse(reason: Ending): void {
    this.#socket.abandon();
    this.#end(reason);
  }

  #end(reason: Ending): void {
    this.#close();
    // The next request uses the same socket.
    if (this.#isPaused && reason === 'whole') this.#socket.resume();
    this.#receiver.end(reason);
  }

  #close(): void {
    this.#phase = 'over';
    this.#waiting = NO_BYTES;
    this.#spare = NO_BYTES;
    this.#waitingBytes = 0;
    clearInterval(this.#checks);
  }
}
