/** Streams a request body to an `Upload` piece by piece, from its first byte to the response or to a complete abort. */
import type { Awaitable } from '../../base/awaitable.ts';
import { AssayError } from '../../base/errors.ts';
import { HTTP_LIMITS } from '../limits.ts';
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
const STOPPED: Readonly<Record<'in small chunks' | 'silent' | 'too slow', string>> = {
  'in small chunks': `The body came in more than ${HTTP_LIMITS.bodyChunksMax} chunks of less than ${HTTP_LIMITS.uploadChunkBytesMin} bytes; send larger chunks.`,
  silent: `The upload timed out: no data was received for ${HTTP_LIMITS.uploadSilenceMs / SECOND_MS} seconds.`,
  'too slow': `The upload is too slow: after ${HTTP_LIMITS.uploadGraceMs / SECOND_MS} seconds, the average rate must be at least ${HTTP_LIMITS.uploadBytesPerSecondMin} bytes per second.`,
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
 */
class UploadReceiver implements BodyReceiver {
  readonly #bytesMax: number;
  readonly #opened: Promise<Upload>;
  readonly #outcome: UploadOutcome;
  /** Null until it was opened. */
  #upload: Upload | null = null;
  /** The outcome was reported. */
  #isOver = false;

  constructor(bytesMax: number, opened: Promise<Upload>, outcome: UploadOutcome) {
    this.#bytesMax = bytesMax;
    this.#opened = opened;
    this.#outcome = outcome;
    opened.then(
      (upload) => {
        this.#upload = upload;
      },
      (error: unknown) => this.#refuse(error),
    );
  }

  write(bytes: Uint8Array): Awaitable<void> {
    return this.#isOver ? undefined : this.#write(bytes);
  }

  end(reason: Parameters<BodyReceiver['end']>[0]): void {
    if (this.#isOver) return;
    switch (reason) {
      case 'whole':
        this.#opened
          .then((upload) => upload.end())
          .then((data) => {
            if (this.#isOver) return;
            this.#outcome.done(data);
            this.#isOver = true;
          })
          .catch((error: unknown) => this.#refuse(error));
        return;
      case 'gone':
        this.#isOver = true;
        this.#discard();
        this.#outcome.gone();
        return;
      case 'too large':
        this.#fail(
          new AssayError('BODY_TOO_LARGE', `The request body is larger than ${this.#bytesMax} bytes.`, {
            field: 'body',
          }),
        );
        return;
      default:
        this.#fail(new AssayError('INVALID_REQUEST', STOPPED[reason], { field: 'body' }));
    }
  }

  async #write(bytes: Uint8Array): Promise<void> {
    try {
      const upload = this.#upload ?? (await this.#opened);
      await upload.write(bytes);
    } catch (error) {
      // If the upload was never opened, it has already been refused.
      if (this.#upload !== null) this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#discard();
    this.#refuse(error);
  }

  #refuse(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#outcome.refused(error);
  }

  /** Aborts the upload. If it was not opened, there is nothing to discard. */
  #discard(): void {
    this.#opened.then(
      (upload) => upload.abort().catch(this.#outcome.notCleared),
      () => {},
    );
  }
}

/**
 * Creates the receiver of a body for an upload.
 *
 * @param bytesMax - number of bytes that the error of a larger body names
 * @param opened - rejects if the upload is refused
 */
export const receiveUpload = (
  bytesMax: number,
  opened: Promise<Upload>,
  outcome: UploadOutcome,
): BodyReceiver => new UploadReceiver(bytesMax, opened, outcome);
