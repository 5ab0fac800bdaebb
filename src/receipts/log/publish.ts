/**
 * Publishes the log as static files (C2SP tlog-tiles): first the tiles and entry bundles of the checkpoint, then the checkpoint, so that a
 * reader always finds what it names. An interrupted round is repeated: files have one content each.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { sleep } from '../../base/retry.ts';
import { parseCheckpoint, verifyCheckpoint } from './checkpoint.ts';
import { LOG_LIMITS } from './limits.ts';
import type { ReceiptLog } from './log.ts';
import { CHECKPOINT, type LogTarget } from './places.ts';
import { type TileName, tilePath, tilesBetween } from './tiles.ts';

/** Publishes to one place. `audit` and `publish` are not called again before they have settled. */
export class LogPublisher {
  readonly #log: ReceiptLog;
  readonly #target: LogTarget;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** The checkpoint that the place had when it was last read or written; null if it had none. */
  #there: string | null = null;
  /** When the place was last read, by the monotonic clock; null before the first time. */
  #readAtMs: number | null = null;

  constructor(log: ReceiptLog, target: LogTarget, clock: Pick<Clock, 'monotonic'> = systemClock) {
    this.#log = log;
    this.#target = target;
    this.#clock = clock;
  }

  /**
   * Publishes the checkpoint of the log, unless the place has it.
   *
   * @throws STORE_CORRUPT if the place has a checkpoint that this log does not continue: the log was restored from an older backup, or
   * the folder of state was copied, and it is halted; SOURCE_UNAVAILABLE, STORAGE_FULL, NOT_READY
   */
  async publish(signal: AbortSignal): Promise<void> {
    // A halted log has none, so the place is not read again.
    const text = this.#log.checkpoint();
    const isRecent =
      this.#readAtMs !== null && this.#clock.monotonic() - this.#readAtMs < LOG_LIMITS.placeReadMs;
    if (!isRecent) await this.audit(signal);
    if (text === this.#there) return;
    const checkpoint = parseCheckpoint(text);
    const from = this.#there === null ? 0 : parseCheckpoint(this.#there).size;
    // Without witnesses, a later checkpoint may have been published than the last one that they were asked to sign.
    if (from > checkpoint.size) return;
    const tiles = tilesBetween(from, checkpoint.size);
    const upload = async (): Promise<void> => {
      for (const tile of tiles) {
        signal.throwIfAborted();
        await this.#target.write(tilePath(tile), this.#tile(tile));
      }
    };
    // All uploads take their next tile from the same generator.
    await Promise.all(Array.from({ length: LOG_LIMITS.uploadsAtOnce }, upload));
    signal.throwIfAborted();
    await this.#target.write(CHECKPOINT, Buffer.from(text));
    this.#there = text;
  }

  #tile(tile: TileName): Buffer {
    const bytes = this.#log.tile(tile);
    if (bytes === null)
      throw new AssayError('STORE_CORRUPT', `The transparency log has no ${tilePath(tile)}.`);
    return bytes;
  }

  /**
   * Reads the checkpoint of the place, and halts the log if it does not continue it.
   *
   * @throws as `publish`
   */
  async audit(signal: AbortSignal): Promise<void> {
    const bytes = await this.#target.read(CHECKPOINT);
    const text = bytes?.toString('utf8') ?? null;
    if (text !== null && text !== this.#there) await this.#requireContinued(text, signal);
    this.#there = text;
    this.#readAtMs = this.#clock.monotonic();
  }

  async #requireContinued(text: string, signal: AbortSignal): Promise<void> {
    const there = verifyCheckpoint(text, this.#log.verifier);
    let finding = await this.#log.audit(there);
    if (finding === 'rollback') {
      await sleep(LOG_LIMITS.auditAgainMs, signal);
      signal.throwIfAborted();
      finding = await this.#log.audit(there);
    }
    if (finding === 'consistent') return;
    const reason = `${this.#target.name} has a checkpoint of ${there.size} entries that the log of this installation does not continue: the log was restored from an older backup, or the folder of state was copied. Copy the newer log back or begin a new one, and restart.`;
    this.#log.halt(reason);
    throw new AssayError('STORE_CORRUPT', reason);
  }
}
