/**
 * Passes a request body from the socket to its receiver one piece at a time, and pauses the socket meanwhile. Both HTTP servers
 * share this code; each provides its own `IntakeSocket`.
 */
import { LIMITS } from '../../base/limits.ts';
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

export interface BodyIntake {
  /** Offers the next piece. The intake owns its memory from then on. The last piece may be empty. */
  offer(bytes: Uint8Array, isLast: boolean): void;
  /** The client disconnected. */
  gone(): void;
  /** A response was sent: the receiver is not called any more. */
  answered(): void;
}

/** Number of checks of a silent client before it is refused: one every 5 s, if a minute of silence is allowed. */
const WAITS_MAX = 12;

export const UPLOAD_PACE: UploadPace = {
  silenceMs: LIMITS.uploadSilenceMs,
  graceMs: LIMITS.uploadGraceMs,
  bytesPerSecondMin: LIMITS.uploadBytesPerSecondMin,
};

type Ending = Parameters<BodyReceiver['end']>[0];

const joined = (pieces: readonly Uint8Array[], length: number): Uint8Array => {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, length);
};

/**
 * Creates the intake of one body. The time limits count only while the intake waits for the client, not while the receiver works.
 *
 * @param receiver - gets the pieces in order, one at a time, then the reason of the end
 */
export function createBodyIntake(
  { bytesMax, pace }: { readonly bytesMax: number; readonly pace: UploadPace },
  receiver: BodyReceiver,
  socket: IntakeSocket,
): BodyIntake {
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let received = 0;
  let isWorking = false;
  let isPaused = false;
  let isOver = false;
  let ending: Ending | null = null;
  let waits = 0;
  let waitedMs = 0;
  const lookMs = pace.silenceMs / WAITS_MAX;
  const looks = setInterval(() => {
    if (isWorking) return;
    waits++;
    waitedMs += lookMs;
    if (waits >= WAITS_MAX) giveUp('silent');
    else if (waitedMs > pace.graceMs && received < (pace.bytesPerSecondMin * waitedMs) / 1_000)
      giveUp('too slow');
    else socket.wait();
  }, lookMs);
  looks.unref();

  function close(): void {
    isOver = true;
    waiting = [];
    clearInterval(looks);
  }

  function endWith(how: Ending): void {
    close();
    // The next request uses the same socket.
    if (isPaused && how === 'whole') socket.resume();
    receiver.end(how);
  }

  /** Stops waiting for the client and passes the reason to the receiver. */
  function giveUp(how: Ending): void {
    socket.abandon();
    endWith(how);
  }

  /** Passes on the waiting pieces until none is left. */
  async function work(): Promise<void> {
    while (waiting.length > 0 && !isOver && ending !== 'gone') {
      const bytes = joined(waiting, waitingBytes);
      waiting = [];
      waitingBytes = 0;
      await receiver.write(bytes);
    }
    isWorking = false;
    if (isOver) return;
    if (ending !== null) {
      endWith(ending);
      return;
    }
    waits = 0;
    isPaused = false;
    socket.resume();
  }

  return {
    offer(bytes, isLast) {
      if (isOver || ending !== null) return;
      waits = 0;
      received += bytes.length;
      if (received > bytesMax) {
        waiting = [];
        ending = 'too large';
        socket.abandon();
      } else {
        if (bytes.length > 0) {
          waiting.push(bytes);
          waitingBytes += bytes.length;
        }
        if (isLast) ending = 'whole';
      }
      if (isWorking) return;
      if (waiting.length === 0) {
        if (ending !== null) endWith(ending);
        return;
      }
      isWorking = true;
      if (ending === null) {
        isPaused = true;
        socket.pause();
      }
      work().catch(() => {
        isWorking = false;
        socket.cut();
      });
    },
    gone() {
      if (isOver || ending === 'whole') return;
      ending = 'gone';
      if (!isWorking) endWith('gone');
    },
    answered() {
      if (isOver) return;
      close();
      if (ending !== 'whole') socket.abandon();
    },
  };
}
