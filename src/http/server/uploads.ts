/** Streams a request body to an `Upload` piece by piece, from its first byte to the response or to a complete abort. */
import type { Awaitable } from '../../base/awaitable.ts';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { BodyReceiver } from './port.ts';

/** Receiver of a body. If `write` fails or the client stops sending, `abort` is called; after `end`, no method is called. */
export interface Upload {
  /** Takes a piece. The bytes are valid until it returns or its promise settles. */
  write(bytes: Uint8Array): Awaitable<void>;
  /** The body is complete. Resolves with the JSON text of `data`. */
  end(): Promise<Uint8Array>;
  /** Discards everything that was received. */
  abort(): Promise<void>;
}

const SECOND_MS = 1_000;

/** Sentences that say why the rest of a body was refused. */
const STOPPED: Readonly<Record<'silent' | 'too slow', string>> = {
  silent: `The upload timed out: no data was received for ${LIMITS.uploadSilenceMs / SECOND_MS} seconds.`,
  'too slow': `The upload is too slow: after ${LIMITS.uploadGraceMs / SECOND_MS} seconds, the average rate must be at least ${LIMITS.uploadBytesPerSecondMin} bytes per second.`,
};

/** Outcome of an upload. Exactly one of `done`, `refused` and `gone` is called, once. */
export interface UploadOutcome {
  readonly done: (data: Uint8Array) => void;
  readonly refused: (error: unknown) => void;
  /** The client disconnected before the end of the body. */
  readonly gone: () => void;
  /** The received part could not be discarded. Called in addition to one of the others. */
  readonly notCleared: (error: unknown) => void;
}

/**
 * Receives a body for an upload that is still being opened; until then the client waits. A refusal is reported at once, even if the
 * body is still arriving.
 *
 * @param opened - rejects if the upload is refused
 */
export function receiveUpload(
  bytesMax: number,
  opened: Promise<Upload>,
  { done, refused, gone, notCleared }: UploadOutcome,
): BodyReceiver {
  let upload: Upload | null = null;
  let isOver = false;

  /** Aborts the upload. If it was not opened, there is nothing to discard. */
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
      // If the upload was never opened, it has already been refused.
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
          ? new AssayError('BODY_TOO_LARGE', `The request body is larger than ${bytesMax} bytes.`, {
              field: 'body',
            })
          : new AssayError('INVALID_REQUEST', STOPPED[how], { field: 'body' }),
      );
    },
  };
}
