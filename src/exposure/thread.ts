/**
 * The thread that keeps the exposure indexes up to date. It opens what it reads, and runs each build in a child process, so that the
 * memory of the build is freed when the process exits.
 */
import { parentPort } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import { CommandChild } from '../base/command-child.ts';
import { createLogger, type LogLevel } from '../base/log.ts';
import { endBehind } from '../base/threads.ts';
import { loadBridges } from '../chains/bridges.ts';
import { loadAssetFacts } from '../chains/known-assets.ts';
import { loadTokenList } from '../chains/tokens.ts';
import { openTransferStore } from '../graph/store.ts';
import { loadTaxonomy } from '../labels/categories.ts';
import { openFreshness } from '../labels/freshness.ts';
import { openSnapshotSet } from '../labels/index/snapshot-set.ts';
import { loadCountryLists } from '../risk/geography.ts';
import { loadJurisdictions } from '../risk/jurisdictions.ts';
import { loadPolicy } from '../risk/policy.ts';
import { createInputs } from './facts.ts';
import { createExposureKeeper, TICK_MS } from './keeper.ts';

export interface ExposureThreadJob {
  readonly folder: string;
  readonly snapshotsFolder: string;
  readonly labelsFolder: string;
  readonly transfersFolder: string;
  readonly listMaxAgeDays: number;
  /** The operator's own token list. Default: none. */
  readonly tokensFile?: string | null;
  readonly logLevel: LogLevel;
  /** Command that builds an index; the id of the chain is appended. */
  readonly buildCommand: readonly string[];
}

/** Runs until it receives the message to stop. */
export function runExposureThread(job: ExposureThreadJob): void {
  const log = createLogger({ level: job.logLevel });
  const labels = openSnapshotSet(job.snapshotsFolder, { log });
  const freshness = openFreshness({ labelsFolder: job.labelsFolder });
  const policy = loadPolicy(loadTaxonomy().rows);
  const tokensFile = job.tokensFile ?? null;
  const builds = new CommandChild(job.buildCommand, log);

  const keeper = createExposureKeeper(
    { folder: job.folder, transfersFolder: job.transfersFolder },
    {
      labels,
      freshness: () => freshness.listFreshness(systemClock.now(), job.listMaxAgeDays),
      policy,
      clock: systemClock,
      log,
      transfers: openTransferStore({ path: job.transfersFolder, readOnly: true }),
      outputs: { graph: () => null, outputsOf: () => [], addressNumber: () => null },
      clusters: { clusterOf: () => null },
      bridges: loadBridges(),
      assets: loadAssetFacts({ tokens: loadTokenList({ ownFile: tokensFile }) }),
      jurisdictions: loadJurisdictions(),
      countryLists: loadCountryLists(),
      inputs: createInputs({
        dataVersion: () => labels.current.meta.dataVersion,
        policyVersion: () => policy.version,
        tokensFile,
      }),
      build: (chain) => builds.run(chain, 'The exposure index build'),
    },
  );
  let told = '';
  const timer = setInterval(() => {
    keeper.tick();
    const kept = keeper.kept();
    const text = JSON.stringify(kept);
    if (text !== told) parentPort?.postMessage(kept);
    told = text;
  }, TICK_MS);
  parentPort?.on('message', () => {
    clearInterval(timer);
    // The child is too busy to receive messages, and its output becomes an index only in its last step.
    builds.kill('SIGKILL');
    endBehind(parentPort);
  });
}
