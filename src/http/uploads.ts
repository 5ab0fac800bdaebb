/** A body that is taken piece by piece by whoever works on it: from its first byte to the answer, or to nothing left of it. */
import type { Awaitable } from '../base/awaitable.ts';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { BodyReceiver } from './server.ts';

/** Who takes a body. After a call that throws or rejects, `abort` is called, but behind `end` nothing is. */
export interface Upload {
  /** The bytes may be used until it returned, or its promise settled. */
  write(bytes: Uint8Array): Awaitable<void>;
  /** All came. Resolves with the JSON text of `data`. */
  end(): Promise<Uint8Array>;
  /** Leaves nothing of it. */
  abort(): Promise<void>;
}

const SECOND_MS = 1_000;

/** Why the rest of a body is not taken, in a sentence. */
const STOPPED: Readonly<Record<'silent' | 'too slow', string>> = {
  silent: `The upload was given up: nothing came for ${LIMITS.uploadSilenceMs / SECOND_MS} seconds.`,
  'too slow': `The upload was given up: an upload of more than ${LIMITS.uploadGraceMs / SECOND_MS} seconds must bring ${LIMITS.uploadBytesPerSecondMin} bytes a second on average.`,
};

/** What becomes of an upload. Exactly one of them is called, once. */
export interface UploadOutcome {
  readonly done: (data: Uint8Array) => void;
  readonly refused: (error: unknown) => void;
  /** The client went away before it had sent all. */
  readonly gone: () => void;
  /** What was begun could not be cleared away; called besides the others. */
  readonly notCleared: (error: unknown) => void;
}

/**
 * Receives a body for `opened`, which may still be asking whether it may come: until then the client waits. A refusal is told at
 * once, though the body is still on its way.
 */
export function receiveUpload(
  bytesMax: number,
  opened: Promise<Upload>,
  { done, refused, gone, notCleared }: UploadOutcome,
): BodyReceiver {
  let upload: Upload | null = null;
  let isOver = false;

  /** Where it was not opened nothing is there to clear away. */
  const clear = (): void => {
    opened.then(
      (begun) => begun.abort().catch(notCleared),
      () => {},
    );
  };
  function refuse(error: unknown): void {
    if (isOver) return;
    isOver = true;
    refused(error);
  }
  function fail(error: unknown): void {
    if (isOver) return;
    clear();
    refuse(error);
  }
  opened.then((begun) => {
    upload = begun;
  }, refuse);

  async function writeOn(bytes: Uint8Array): Promise<void> {
    try {
      const begun = upload ?? (await opened);
      await begun.write(bytes);
    } catch (error) {
      // One that was never opened is refused already.
      if (upload !== null) fail(error);
    }
  }

  return {
    write: (bytes) => (isOver ? undefined : writeOn(bytes)),
    end(how) {
      if (isOver) return;
      if (how === 'whole') {
        opened
          .then((begun) => begun.end())
          .then((data) => {
            if (isOver) return;
            done(data);
            isOver = true;
          })
          .catch(refuse);
        return;
      }
      if (how === 'gone') {
        isOver = true;
        clear();
        gone();
        return;
      }
      fail(
        how === 'too large'
          ? new AssayError('BODY_TOO_LARGE', `The request body is over ${bytesMax} bytes.`, { field: 'body' })
          : new AssayError('INVALID_REQUEST', STOPPED[how], { field: 'body' }),
      );
    },
  };
}
