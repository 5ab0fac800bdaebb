/** A log with entries in a folder of its own. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { openReceiptLog, type ReceiptLog } from '../../../src/receipts/log/log.ts';
import type { LogEntry, LogStore } from '../../../src/receipts/log/store.ts';
import { openLogStore } from '../../../src/receipts/log/store-lmdb.ts';
import { createEncryption, type Encryption } from '../../../src/state/encryption.ts';

export const ORIGIN = 'log.example/assay';
export const encryption = createEncryption(Buffer.alloc(32, 1), systemRandom);

export const entryOf = (number: number): LogEntry => ({
  id: `receipt-${number}`,
  hash: createHash('sha256').update(`receipt ${number}`).digest(),
});

/** Returns the entries `from` to `to`, the last one excluded. */
export const entriesOf = (from: number, to: number): readonly LogEntry[] =>
  Array.from({ length: to - from }, (_, index) => entryOf(from + index));

export interface OpenedLog {
  readonly log: ReceiptLog;
  readonly store: LogStore;
  close(): Promise<void>;
}

/** Opens the log of a folder. By default, no checkpoint is signed by time. */
export async function openLog(
  folder: string,
  {
    origin = ORIGIN,
    checkpointMs = 3_600_000,
    isWitnessed = false,
    key = encryption,
  }: {
    readonly origin?: string | null;
    readonly checkpointMs?: number;
    readonly isWitnessed?: boolean;
    readonly key?: Encryption;
  } = {},
): Promise<OpenedLog> {
  const store = openLogStore({ path: join(folder, 'log.mdb') });
  try {
    const log = await openReceiptLog(
      { origin, fallbackOrigin: 'assay.invalid/test', isWitnessed, checkpointMs },
      { store, encryption: () => key, clock: systemClock, random: systemRandom, log: silentLogger },
    );
    return {
      log,
      store,
      async close() {
        await log.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}
