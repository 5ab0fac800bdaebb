/**
 * A body on its way from a socket to whoever takes it: one piece at a time, the socket held back meanwhile. What both servers do
 * alike; what they do it with is the socket's.
 */
import type { BodyReceiver } from './server.ts';

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

/** Looks at a silent client before it is cut off: one in 5 s, where a minute is allowed. */
const WAITS_MAX = 12;

type Ending = Parameters<BodyReceiver['end']>[0];

const joined = (pieces: readonly Uint8Array[], length: number): Uint8Array => {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, length);
};

/** `silenceMs`: how long the client may send nothing while it is waited for. */
export function createBodyIntake(
  { bytesMax, silenceMs }: { readonly bytesMax: number; readonly silenceMs: number },
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
  const silence = setInterval(() => {
    if (isWorking) return;
    waits++;
    if (waits < WAITS_MAX) socket.wait();
    else socket.cut();
  }, silenceMs / WAITS_MAX);
  silence.unref();

  function close(): void {
    isOver = true;
    waiting = [];
    clearInterval(silence);
  }

  function endWith(how: Ending): void {
    close();
    // The next request comes by the same socket.
    if (isPaused && how === 'whole') socket.resume();
    receiver.end(how);
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
