/**
 * `assay lookup` without the rest of the program, which takes a multiple of the time of a look-up to load. Its services are those of
 * services.ts that a look-up uses.
 */
import { systemClock } from '../base/clock.ts';
import { createOpenedOnce, endEach } from '../base/opened-once.ts';
import { systemJitter, systemRandom } from '../base/random.ts';
import { silentLogger } from '../base/silent-logger.ts';
import { createChainAdapters } from '../chains/families/adapters.ts';
import { addLookupCommand } from '../cli/lookup.ts';
import type { LookupServices } from '../cli/services.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { SETTINGS } from '../config/settings.ts';
import { loadTaxonomy } from '../labels/categories.ts';
import { labelsFolderOf, snapshotsFolderOf } from '../labels/folders.ts';
import { openFreshness } from '../labels/freshness.ts';
import { openOnlySnapshot } from '../labels/index/snapshot-set.ts';
import { loadPolicy } from '../risk/policy.ts';
import { createLabelSet } from '../screening/label-set.ts';
import { ensureDataFolder } from '../state/data-folder.ts';
import { openInstallation } from '../state/installation-record.ts';
import { programVersion, runCommandLine } from './command-line.ts';

/**
 * Creates the services of a look-up.
 *
 * @throws INVALID_CONFIG and the errors of the stores, as `createServices` does
 */
function createLookupServices(config: Config): LookupServices {
  const { dataDir, listMaxAgeDays } = config;
  ensureDataFolder(dataDir, SETTINGS.dataDir.variable);
  const place = { dataDir, isShared: config.redis !== null };
  const installation = openInstallation(place, { clock: systemClock, random: systemRandom });
  // They are not used, but every command reports a misspelt chain.
  createChainAdapters(config.chains, { clock: systemClock, log: silentLogger, jitter: systemJitter });
  const labelsFolder = labelsFolderOf(dataDir);
  const opened = createOpenedOnce();
  const snapshots = opened.once(
    () => openOnlySnapshot(snapshotsFolderOf(dataDir)),
    (set) => set.close(),
  );
  return {
    dataDir,
    clock: systemClock,
    store: { folder: labelsFolder },
    bulkDeps: { listMaxAgeDays },
    labelSet() {
      const freshness = openFreshness({ labelsFolder });
      return createLabelSet({
        labels: snapshots(),
        freshness: () => freshness.listFreshness(systemClock.now(), listMaxAgeDays),
        policy: loadPolicy(loadTaxonomy().rows),
        clock: systemClock,
      });
    },
    // Labels are read from the files of this machine, not from what nodes share.
    ready: async () => {},
    close: () => endEach([() => opened.closeAll(), () => installation.close()]),
  };
}

/** Returns the settings if they are valid and name nothing that only the whole program checks. */
function plainConfig(): Config | null {
  try {
    const config = loadConfig();
    const { entityParties, paymentKeys, chains } = config;
    const isPlain =
      entityParties === null &&
      Object.values(paymentKeys).every((key) => key === null) &&
      Object.keys(chains.graphStores).length === 0;
    return isPlain ? config : null;
  } catch {
    return null;
  }
}

/**
 * Runs the command line of this process, which is a look-up, and exits. It returns if the whole program has to run it, because of its
 * settings; nothing was done then.
 */
export async function runLookup(): Promise<void> {
  const config = plainConfig();
  if (config === null) return;
  await runCommandLine({
    version: programVersion(),
    commands: [addLookupCommand],
    createServices: () => createLookupServices(config),
  });
  // Everything is closed. To take down Node in order takes as long as the look-up.
  for (const stream of [process.stdout, process.stderr])
    await new Promise<unknown>((resolve) => stream.write('', resolve));
  process.exit();
}
