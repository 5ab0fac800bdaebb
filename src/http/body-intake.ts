/**
 * A body on its way from a socket to whoever takes it: one piece at a time, the socket held back meanwhile. What both servers do
 * alike; what they do it with is the socket's.
 */
import { LIMITS } from '../base/limits.ts';
import type { BodyReceiver, UploadPace } from './server.ts';

/** What an intake does to the connection that its body comes by. */
export interface IntakeSocket {
  /** Reads no further. Pieces that were read already may still be offered. */
  pause(): void;
  resume(): void;
  /** Called every few seconds while nothing comes, so that the connection is not taken for dead. */
  wait(): void;
  /** Ends the connection; `gone` is called on the way. */
  cut(): void;
  /** What is left of the body is for nobody: the answer to come is the last by this connection. */
  abandon(): void;
}

export interface BodyIntake {
  /** The next piece, whose memory is the intake's from here on; `isLast` also with an empty one. */
  offer(bytes: Uint8Array, isLast: boolean): void;
  /** The client went away. */
  gone(): void;
  /** The exchange was answered: the receiver hears nothing any more. */
  answered(): void;
}

/** Looks at a silent client before it is told to go: one in 5 s, where a minute is allowed. */
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

/** Time counts while the client is waited for, and not while the receiver is at work. */
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
    // The next request comes by the same socket.
    if (isPaused && how === 'whole') socket.resume();
    receiver.end(how);
  }

  /** Nobody waits for the client any more; it is told why. */
  function giveUp(how: Ending): void {
    socket.abandon();
    endWith(how);
  }

  /** Hands over what waits, piece by piece, until nothing does. */
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
