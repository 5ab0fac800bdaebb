/** What was fetched of which address and when, on disk: so that no history is read twice, and a long one is gone on with. */
import { AssayError } from '../base/errors.ts';
import { openEnvironment } from '../base/lmdb.ts';
import type { ChainId } from '../chains/registry.ts';

export interface FetchedRecord {
  /** When the newest part was read, milliseconds since the epoch. */
  readonly fetchedAtMs: number;
  /** Height of the newest transfer; null where the address has none. */
  readonly newestHeight: number | null;
  /** Everything above this height is stored; null where everything is. */
  readonly resumeBelow: number | null;
  /** Whether the source left kinds of transfers out. */
  readonly lacksKinds: boolean;
}

export interface FetchedStore {
  get(chain: ChainId, address: string): FetchedRecord | null;
  /** Resolves once `get` answers it. Lost at a crash at worst: then it is fetched again, and nothing is counted twice. */
  put(chain: ChainId, address: string, record: FetchedRecord): Promise<void>;
  close(): Promise<void>;
}

/** Changes when bytes of the database mean something else. Never reused. */
const FORMAT = { name: 'assay-fetched', version: 1 } as const;

/** Opens the store at `path`, a file. Throws STORE_VERSION for one of another format, which it leaves as it is. */
export function openFetchedStore(options: { readonly path: string }): FetchedStore {
  const root = openEnvironment(options.path, { maxDbs: 2, noSubdir: true });
  const meta = root.openDB<unknown, string>({ name: 'meta', encoding: 'msgpack' });
  const records = root.openDB<FetchedRecord, string>({ name: 'fetched', encoding: 'msgpack' });
  const format = meta.get('format') as { name?: unknown; version?: unknown } | undefined;
  if (format === undefined) meta.putSync('format', FORMAT);
  else if (format.name !== FORMAT.name || format.version !== FORMAT.version) {
    void root.close();
    throw new AssayError(
      'STORE_VERSION',
      `${options.path} has the format ${JSON.stringify(format)}, and this program knows ${FORMAT.name} version ${FORMAT.version}. It is left as it is.`,
    );
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
