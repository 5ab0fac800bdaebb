/**
 * Stores on disk which part of an address's history was fetched, and when, so that no history is read twice and a long one is
 * continued.
 */
import type { ChainId } from '../chains/registry.ts';
import { isFormat, wrongFormat } from '../state/format-version.ts';
import { openEnvironment } from '../state/lmdb.ts';

export interface FetchedRecord {
  /** Time at which the newest part was read, milliseconds since the epoch. */
  readonly fetchedAtMs: number;
  /** Height of the newest transfer; null if the address has no transfers. */
  readonly newestHeight: number | null;
  /** All transfers above this height are stored; null if the whole history is stored. */
  readonly resumeBelow: number | null;
  /** True if the source left out some kinds of transfers. */
  readonly lacksKinds: boolean;
}

export interface FetchedStore {
  get(chain: ChainId, address: string): FetchedRecord | null;
  /**
   * Resolves once `get` returns the record. A crash may lose it: the history is then fetched again, and nothing is counted twice.
   */
  put(chain: ChainId, address: string, record: FetchedRecord): Promise<void>;
  close(): Promise<void>;
}

/** Changes when the meaning of the stored bytes changes. A version is never reused. */
const FORMAT = { name: 'assay-fetched', version: 1 } as const;

/**
 * Opens the store at `path`, a file.
 *
 * @throws STORE_VERSION if the file has another format; it is left as it is.
 */
export function openFetchedStore(options: { readonly path: string }): FetchedStore {
  const root = openEnvironment(options.path, { maxDbs: 2, noSubdir: true });
  const meta = root.openDB<unknown, string>({ name: 'meta', encoding: 'msgpack' });
  const records = root.openDB<FetchedRecord, string>({ name: 'fetched', encoding: 'msgpack' });
  const format = meta.get('format');
  if (format === undefined) meta.putSync('format', FORMAT);
  else if (!isFormat(format, FORMAT)) {
    void root.close();
    throw wrongFormat(options.path, format, FORMAT);
  }
  const keyOf = (chain: ChainId, address: string): string => `${chain} ${address}`;
  return {
    get: (chain, address) => records.get(keyOf(chain, address)) ?? null,
    async put(chain, address, record) {
      await records.put(keyOf(chain, address), record);
    },
    close: () => root.close(),
  };
}
