/**
 * The thread that keeps derived labels up to date. It follows the logs of chains, and runs the rules that read more (a whole log, a node, the
 * label store) in a child process, so that their memory is freed when it exits.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { CommandChild } from '../base/command-child.ts';
import { createLogger, type LogLevel } from '../base/log.ts';
import { endBehind } from '../base/threads.ts';
import type { ChainId } from '../chains/registry.ts';
import { openTransferStore, type TransferStore } from '../graph/store.ts';
import type { SnapshotSet } from '../labels/index/reader.ts';
import { openSnapshotSet } from '../labels/index/snapshot-set.ts';
import { hasAccounts } from './chains.ts';
import { ChainFollower } from './follow-chain.ts';
import { AttributionKeeper, TICK_MS } from './keeper.ts';
import { type AttributionStore, attributionFileOf, openAttributionStore } from './store.ts';

export interface AttributionThreadJob {
  /** Folder of attributions. */
  readonly folder: string;
  readonly snapshotsFolder: string;
  readonly transfersFolder: string;
  readonly intervalMs: number;
  /** Chains whose logs can be read. */
  readonly logChains: readonly ChainId[];
  readonly logLevel: LogLevel;
  /** Command that applies the rules to a chain and publishes the labels; the id of the chain is appended. */
  readonly runCommand: readonly string[];
}

/** The followers of the chains with attributions, each opened when its file is there. */
class Followers {
  readonly #job: AttributionThreadJob;
  readonly #labels: SnapshotSet;
  #transfers: TransferStore | null = null;
  readonly #stores: AttributionStore[] = [];
  readonly #open = new Map<ChainId, ChainFollower>();

  constructor(job: AttributionThreadJob, labels: SnapshotSet) {
    this.#job = job;
    this.#labels = labels;
  }

  of(chain: ChainId): ChainFollower | null {
    const known = this.#open.get(chain);
    if (known !== undefined) return known;
    const { folder, transfersFolder } = this.#job;
    if (!existsSync(attributionFileOf(folder, chain))) return null;
    // Coinbases are read from the node, so that Bitcoin needs no transfers.
    const hasTransfers = existsSync(join(transfersFolder, `${chain.toLowerCase()}.mdb`));
    if (!hasTransfers && hasAccounts(chain)) return null;
    const store = openAttributionStore(folder, chain, false);
    if (store === null) return null;
    this.#transfers ??= openTransferStore({ path: transfersFolder, readOnly: true });
    const follower = new ChainFollower(chain, {
      transfers: this.#transfers,
      labels: () => this.#labels.current,
      ...{ store, folder, clock: systemClock },
    });
    this.#stores.push(store);
    this.#open.set(chain, follower);
    return follower;
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
    await this.#transfers?.close();
  }
}

/** Runs until it receives the message to stop. */
export function runAttributionThread(job: AttributionThreadJob): void {
  const log = createLogger({ level: job.logLevel });
  const labels = openSnapshotSet(job.snapshotsFolder, { log });
  const followers = new Followers(job, labels);
  const rules = new CommandChild(job.runCommand, log);
  const keeper = new AttributionKeeper(
    { intervalMs: job.intervalMs },
    {
      clock: systemClock,
      log,
      followerOf: (chain) => followers.of(chain),
      readsLogs: (chain) => job.logChains.includes(chain),
      run: (chain) => rules.run(chain, `The rules of ${chain}`),
    },
  );
  const timer = setInterval(() => {
    labels.refresh();
    void keeper.tick();
  }, TICK_MS);
  parentPort?.on('message', () => {
    clearInterval(timer);
    // A run is resumed by the next one, and labels come into force in its last step.
    rules.kill('SIGTERM');
    void keeper
      .idle()
      .then(() => followers.close())
      .finally(() => endBehind(parentPort));
  });
}
