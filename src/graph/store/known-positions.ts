/** The stored positions of a transaction, whatever version stored them: by their places in the log, or in `transactions`. */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { AssayError } from '../../base/errors.ts';
import { type ChainStore, isLoading } from './chain-store.ts';
import { type Fingerprinter, positionMark, transactionKey } from './fingerprint.ts';
import { transferAt } from './log.ts';
import { MARK_WORDS, runFile } from './runs.ts';
import { currentMark, type KnownPosition, readPositions } from './transactions.ts';

const MARK_BYTES = MARK_WORDS * 4;

/** Returns true if an earlier version stored transactions. The current one adds none to them. */
export const hasFormerTransactions = ({ transactions }: ChainStore): boolean => transactions.getCount() > 0;

/** Returns the positions that an earlier version stored with the transaction. */
export const formerPositions = ({ transactions }: ChainStore, key: Buffer): KnownPosition[] =>
  readPositions(transactions.getBinaryFast(key));

/**
 * Returns the positions of a transaction among transfers that may belong to it.
 *
 * @param key key of the transaction (`transactionKey`)
 * @param ordinals numbers in the log, from `places`
 */
export function positionsAt(
  store: ChainStore,
  fingerprint: Fingerprinter,
  key: Buffer,
  ordinals: readonly number[],
): KnownPosition[] {
  const found: KnownPosition[] = [];
  for (const ordinal of ordinals) {
    const logged = transferAt({ logChunk: (chunk) => store.log.getBinaryFast(chunk) }, ordinal);
    if (logged === null) {
      const reserved = reservedPosition(store, key, ordinal);
      if (reserved !== null) found.push(reserved);
      continue;
    }
    const { transaction, position, from, to } = logged;
    if (transactionKey(transaction, fingerprint).equals(key))
      found.push({ mark: positionMark(position, fingerprint), from, to, ordinal });
  }
  return found;
}

/** The part of the state of a bulk load that says which numbers its runs have. */
interface LoadedRuns {
  readonly runs: number;
  readonly firstOrdinal: number;
  readonly transfers: number;
}

/**
 * Finds a transfer that a bulk load has counted, but not written to the log yet: a block that arrives meanwhile must not count it again. It
 * is in a run, which is sorted by transaction.
 */
function reservedPosition(store: ChainStore, key: Buffer, ordinal: number): KnownPosition | null {
  if (!isLoading(store)) return null;
  const { runs, firstOrdinal, transfers } = store.meta.get('load') as LoadedRuns;
  const index = ordinal - firstOrdinal;
  if (index < 0 || index >= transfers) return null;
  for (let run = 0; run < runs; run++) {
    const path = runFile(`${store.path}.load`, run, 'marks');
    if (!existsSync(path))
      throw new AssayError(
        'STORE_CORRUPT',
        `The files of an unfinished load were removed from ${store.path}.load: its transfers cannot be identified any more.`,
      );
    const mark = markIn(path, key, index);
    if (mark !== null) return { ...mark, ordinal };
  }
  return null;
}

function markIn(path: string, key: Buffer, index: number): Omit<KnownPosition, 'ordinal'> | null {
  const file = openSync(path, 'r');
  // Words as the machine orders their bytes, like the run.
  const words = new Uint32Array(MARK_WORDS);
  const wanted = [key.readUInt32BE(0), key.readUInt32BE(4), key.readUInt32BE(8), index];
  const compare = (record: number): number => {
    readSync(file, words, 0, MARK_BYTES, record * MARK_BYTES);
    for (const [word, value] of wanted.entries())
      if (words[word] !== value) return (words[word] as number) - value;
    return 0;
  };
  try {
    let low = 0;
    let high = Math.floor(fstatSync(file).size / MARK_BYTES);
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const order = compare(middle);
      if (order === 0) {
        const mark = currentMark((words[4] as number) + (words[5] as number) * 2 ** 32);
        return { mark, from: words[6] as number, to: words[7] as number };
      }
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return null;
  } finally {
    closeSync(file);
  }
}
