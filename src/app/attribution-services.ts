/** Connects the rules that derive labels with the stores and nodes of this machine. */
import { existsSync } from 'node:fs';
import { COINBASE_CHAIN } from '../attribution/chains.ts';
import type { BlockReader } from '../attribution/coinbase/read.ts';
import { loadPoolTags } from '../attribution/coinbase/tags.ts';
import type { CreationReader } from '../attribution/contracts/creations.ts';
import type { ProxyReader } from '../attribution/contracts/proxies.ts';
import { Disputes } from '../attribution/disputes.ts';
import { explainAddress } from '../attribution/explain.ts';
import { ChainFollower } from '../attribution/follow-chain.ts';
import { ATTRIBUTION_LIMITS } from '../attribution/limits.ts';
import { loadLogContracts } from '../attribution/logs/contracts.ts';
import type { LogReader } from '../attribution/logs/read.ts';
import { DisputePublisher } from '../attribution/publish.ts';
import type { ReportStore } from '../attribution/reports.ts';
import { attributeChain, importDerivedLabels, requireAttributable } from '../attribution/run.ts';
import { startAttributionKeeping } from '../attribution/start.ts';
import {
  type AttributionStore,
  attributionFileOf,
  attributionFolderOf,
  openAttributionStore,
} from '../attribution/store.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { OpenedOnce } from '../base/opened-once.ts';
import { programFile } from '../base/paths.ts';
import { CHAINS, type ChainId, isEvm } from '../chains/registry.ts';
import type { AttributionServices } from '../cli/services.ts';
import type { Config } from '../config/config.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import { parseSubject, type Subject } from '../screening/subject.ts';
import { type ChainServices, transfersFolderOf } from './chain-services.ts';
import type { LabelServices } from './label-services.ts';

const MINUTE_MS = 60_000;
/** Applies the rules to a chain and publishes the labels. */
const RUN_COMMAND = ['attribute', 'run', '--logs', 'known', '--publish', '--json'];
const PUBLISH_COMMAND = ['labels', 'disputes', '--publish'];
/** The program itself, with arguments. */
const assay = (...args: readonly string[]): readonly string[] => [process.execPath, programFile, ...args];

export interface AttributionParts extends Pick<OpenedOnce, 'once'> {
  readonly config: Pick<Config, 'dataDir' | 'attributeMinutes' | 'logLevel'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Reports of accounts on labels. */
  readonly reports: () => ReportStore;
  readonly chains: Pick<ChainServices, 'adapters' | 'chainAdapters' | 'transferStores'>;
  readonly labels: Pick<
    LabelServices,
    'importDeps' | 'snapshots' | 'snapshotsFolder' | 'requireBuilder' | 'pullsFrom'
  >;
}

/** The attributions of all chains, open for reading. A chain on which the rules never ran has none; it is looked for again each time. */
class AttributionReaders {
  readonly #folder: string;
  readonly #open = new Map<ChainId, AttributionStore>();
  /** A process can open an environment in one mode only: if a thread of it writes, readers share its mode. */
  isWritten = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  of(chain: ChainId): AttributionStore | null {
    const known = this.#open.get(chain);
    if (known !== undefined) return known;
    if (!existsSync(attributionFileOf(this.#folder, chain))) return null;
    const store = openAttributionStore(this.#folder, chain, !this.isWritten);
    if (store !== null) this.#open.set(chain, store);
    return store;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((store) => store.close()));
    this.#open.clear();
  }
}

async function nodeReaderOf(
  chain: ChainId,
  { chains }: AttributionParts,
): Promise<(LogReader & CreationReader & ProxyReader) | null> {
  if (!isEvm(chain) || !chains.adapters().isConfigured(chain, 'rpc')) return null;
  const adapter = await chains.adapters().of(chain);
  const { logs, header, creations, code, storage, callContract } = adapter;
  if (logs === undefined || header === undefined || creations === undefined) return null;
  if (code === undefined || storage === undefined || callContract === undefined) return null;
  return { logs, header, creations, code, storage, callContract, head: (call) => adapter.head(call) };
}

async function blockReaderOf(chain: ChainId, { chains }: AttributionParts): Promise<BlockReader | null> {
  if (chain !== COINBASE_CHAIN || !chains.chainAdapters.isConfigured(chain, 'rpc')) return null;
  return chains.adapters().of(chain);
}

/** @throws NOT_FOUND if the address has no label, or none of the source */
function requireLabelled({ key, chain, shown }: Subject, source: string | null, labels: LabelReader): void {
  if (labels.lookup(key, chain).some((label) => source === null || label.source === source)) return;
  const of = source === null ? '' : ` of the source '${source.slice(0, 40)}'`;
  throw new AssayError('NOT_FOUND', `address: ${shown} has no label${of} on ${chain}.`, {
    field: source === null ? 'address' : 'source',
  });
}

/** Creates the services of `assay attribute`, and of disputes and reports. */
export function createAttributionServices(parts: AttributionParts): AttributionServices {
  const { config, clock, log, chains, labels, reports } = parts;
  const folder = attributionFolderOf(config.dataDir);
  const disputes = new Disputes(folder);
  const readers = parts.once(
    () => new AttributionReaders(folder),
    (open) => open.close(),
  );
  const publisher = parts.once(
    () => new DisputePublisher(assay(...PUBLISH_COMMAND), log),
    (opened) => opened.stop(),
  );
  /** Imports the labels of a chain again, without those that are disputed now. */
  async function importAgain(chain: ChainId, signal: AbortSignal): Promise<void> {
    const store = existsSync(attributionFileOf(folder, chain))
      ? openAttributionStore(folder, chain, false)
      : null;
    if (store === null) return;
    try {
      await importDerivedLabels(
        chain,
        {
          ...{ store, disputes, importing: labels.importDeps },
          transfers: chains.transferStores.read(),
          labels: labels.snapshots().current,
        },
        signal,
      );
    } finally {
      await store.close();
    }
  }
  return {
    follower(chain, transfers) {
      if (labels.pullsFrom !== null || !existsSync(attributionFileOf(folder, chain))) return null;
      const store = openAttributionStore(folder, chain, false);
      if (store === null) return null;
      const current = (): LabelReader => labels.snapshots().current;
      const follower = new ChainFollower(chain, { transfers, labels: current, store, folder, clock });
      return { follow: () => follower.follow(), close: () => store.close() };
    },
    keep() {
      if (labels.pullsFrom !== null) return null;
      readers().isWritten = true;
      return startAttributionKeeping(
        {
          folder,
          snapshotsFolder: labels.snapshotsFolder,
          transfersFolder: transfersFolderOf(config.dataDir),
          intervalMs: config.attributeMinutes * MINUTE_MS,
          logChains: CHAINS.map(({ id }) => id).filter(
            (id) => (isEvm(id) || id === COINBASE_CHAIN) && chains.chainAdapters.isConfigured(id, 'rpc'),
          ),
          logLevel: config.logLevel,
          runCommand: assay(...RUN_COMMAND),
        },
        { log },
      );
    },
    isActive: (chain) => existsSync(attributionFileOf(folder, chain)),
    async run(chain, { logs, transfers, ...options }) {
      labels.requireBuilder();
      requireAttributable(chain);
      const store = openAttributionStore(folder, chain, false);
      if (store === null) throw new AssayError('INTERNAL', 'The attributions could not be created.');
      try {
        const node = logs === 'none' ? null : await nodeReaderOf(chain, parts);
        return await attributeChain(
          { chain, folder, onlyKnownLogs: logs === 'known', ...options },
          {
            transfers: transfers ?? chains.transferStores.read(),
            labels: labels.snapshots().current,
            store,
            importing: labels.importDeps,
            clock,
            ...{ logs: node, state: node },
            contracts: loadLogContracts(),
            disputes,
            blocks: logs === 'none' ? null : await blockReaderOf(chain, parts),
            pools: loadPoolTags,
          },
        );
      } finally {
        await store.close();
      }
    },
    disputes: () => disputes.list(),
    async dispute(request, signal) {
      labels.requireBuilder();
      const subject = parseSubject(request.chain, request.address);
      const dispute = await disputes.add({ ...request, subject }, labels.importDeps, isoTime(clock.now()));
      await importAgain(subject.chain, signal);
      return dispute;
    },
    async applyDisputes(signal) {
      labels.requireBuilder();
      for (const chain of new Set(disputes.list().map((one) => one.chain))) await importAgain(chain, signal);
    },
    async decide(id, { state, reason, ...party }) {
      if (state === 'REJECTED') return { report: await reports().decide(id, state, reason), dispute: null };
      labels.requireBuilder();
      const { chain, address } = reports().requireOpen(id);
      const dispute = await disputes.add(
        { ...party, reason, entityId: null, subject: parseSubject(chain, address) },
        labels.importDeps,
        isoTime(clock.now()),
      );
      const report = await reports().decide(id, state, reason);
      publisher().request();
      return { report, dispute };
    },
    async undispute(chain, address, signal) {
      labels.requireBuilder();
      const subject = parseSubject(chain, address);
      const dispute = await disputes.remove(subject, labels.importDeps);
      await importAgain(subject.chain, signal);
      return dispute;
    },
    async report({ chain, address, source, ...draft }) {
      const subject = parseSubject(chain, address);
      requireLabelled(subject, source, labels.snapshots().current);
      return reports().file({ ...draft, source, chain: subject.chain, address: subject.shown });
    },
    reports,
    reported({ chain, address, source }) {
      const { key } = parseSubject(chain, address);
      return labels
        .snapshots()
        .current.lookup(key, chain)
        .filter((label) => source === null || label.source === source)
        .slice(0, ATTRIBUTION_LIMITS.reportedLabelsMax)
        .map(({ source: of, entity, category, threatLevel }) => ({
          ...{ source: of, name: entity.name, category, threatLevel },
        }));
    },
    explain(chain, address) {
      const subject = parseSubject(chain, address);
      return explainAddress(subject, {
        transfers: chains.transferStores.read(),
        labels: labels.snapshots().current,
        store: readers().of(subject.chain),
        disputes,
      });
    },
  };
}
