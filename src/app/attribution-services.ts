/** Connects the rules that derive labels with the stores and nodes of this machine. */
import { existsSync } from 'node:fs';
import { explainAddress } from '../attribution/explain.ts';
import { loadLogContracts } from '../attribution/logs/contracts.ts';
import type { LogReader } from '../attribution/logs/read.ts';
import { attributeChain, requireAttributable } from '../attribution/run.ts';
import {
  type AttributionStore,
  attributionFileOf,
  attributionFolderOf,
  openAttributionStore,
} from '../attribution/store.ts';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { OpenedOnce } from '../base/opened-once.ts';
import { type ChainId, isEvm } from '../chains/registry.ts';
import type { AttributionServices } from '../cli/services.ts';
import { parseSubject } from '../screening/subject.ts';
import type { ChainServices } from './chain-services.ts';
import type { LabelServices } from './label-services.ts';

export interface AttributionParts extends Pick<OpenedOnce, 'once'> {
  readonly dataDir: string;
  readonly clock: Clock;
  readonly chains: Pick<ChainServices, 'adapters' | 'transferStores'>;
  readonly labels: Pick<LabelServices, 'importDeps' | 'snapshots' | 'requireBuilder'>;
}

/** The attributions of all chains, open for reading. A chain on which the rules never ran has none; it is looked for again each time. */
class AttributionReaders {
  readonly #folder: string;
  readonly #open = new Map<ChainId, AttributionStore>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  of(chain: ChainId): AttributionStore | null {
    const known = this.#open.get(chain);
    if (known !== undefined) return known;
    const store = openAttributionStore(this.#folder, chain, true);
    if (store !== null) this.#open.set(chain, store);
    return store;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((store) => store.close()));
    this.#open.clear();
  }
}

async function logReaderOf(chain: ChainId, { chains }: AttributionParts): Promise<LogReader | null> {
  if (!isEvm(chain) || !chains.adapters().isConfigured(chain, 'rpc')) return null;
  const adapter = await chains.adapters().of(chain);
  const { logs, header } = adapter;
  if (logs === undefined || header === undefined) return null;
  return { logs, header, head: (call) => adapter.head(call) };
}

/** Creates the services of `assay attribute`. */
export function createAttributionServices(parts: AttributionParts): AttributionServices {
  const { dataDir, clock, chains, labels } = parts;
  const folder = attributionFolderOf(dataDir);
  const readers = parts.once(
    () => new AttributionReaders(folder),
    (open) => open.close(),
  );
  return {
    isActive: (chain) => existsSync(attributionFileOf(folder, chain)),
    async run(chain, { readLogs, transfers, ...options }) {
      labels.requireBuilder();
      requireAttributable(chain);
      const store = openAttributionStore(folder, chain, false);
      if (store === null) throw new AssayError('INTERNAL', 'The attributions could not be created.');
      try {
        return await attributeChain(
          { chain, folder, ...options },
          {
            transfers: transfers ?? chains.transferStores.read(),
            labels: labels.snapshots().current,
            store,
            importing: labels.importDeps,
            clock,
            logs: readLogs ? await logReaderOf(chain, parts) : null,
            contracts: loadLogContracts(),
          },
        );
      } finally {
        await store.close();
      }
    },
    explain(chain, address) {
      const subject = parseSubject(chain, address);
      return explainAddress(subject, {
        transfers: chains.transferStores.read(),
        labels: labels.snapshots().current,
        store: readers().of(subject.chain),
      });
    },
  };
}
