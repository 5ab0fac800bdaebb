/** The stores that the oracle and label look-ups read, opened read-only for one thread. */
import { systemClock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { createInputs } from '../exposure/facts.ts';
import { createExposureReader, isStoredIn, positionIn } from '../exposure/reader.ts';
import type { GraphStores } from '../graph/remote/transfers.ts';
import { openTransferStore, type TransferStore } from '../graph/store.ts';
import { loadTaxonomy } from '../labels/categories.ts';
import { openFreshness } from '../labels/freshness.ts';
import { openSnapshotSet } from '../labels/index/snapshot-set.ts';
import { loadPolicy } from '../risk/policy.ts';
import { type ExposureReader, unreadExposures } from '../screening/exposure-port.ts';
import type { OracleDeps } from '../screening/oracle.ts';

/** Folders of the stores, and the settings that determine what is read in them. */
export interface OracleStoreSettings {
  readonly snapshotsFolder: string;
  readonly labelsFolder: string;
  readonly transfersFolder: string;
  /** Folder of the exposure indexes; if omitted, verdicts say that no transfers were read. */
  readonly exposureFolder?: string;
  readonly listMaxAgeDays: number;
  /** The operator's own token list. Default: none. */
  readonly tokensFile?: string | null;
  /** Chains with transfers that are read from servers. Default: none. */
  readonly graphStores?: GraphStores;
}

export interface OracleStores extends OracleDeps {
  readonly labels: ReturnType<typeof openSnapshotSet>;
  /** The transfers of this machine. */
  readonly transfers: TransferStore;
  readonly exposures: ExposureReader;
}

/**
 * Opens the stores.
 *
 * @throws STORE_VERSION, STORE_CORRUPT, INVALID_FILE
 */
export function openOracleStores(
  {
    snapshotsFolder,
    labelsFolder,
    transfersFolder,
    exposureFolder,
    listMaxAgeDays,
    tokensFile = null,
    graphStores = {},
  }: OracleStoreSettings,
  { log }: { readonly log: Logger },
): OracleStores {
  const labels = openSnapshotSet(snapshotsFolder, { log });
  const freshness = openFreshness({ labelsFolder });
  const transfers = openTransferStore({ path: transfersFolder, readOnly: true });
  const policy = loadPolicy(loadTaxonomy().rows);
  return {
    labels,
    freshness: () => freshness.listFreshness(systemClock.now(), listMaxAgeDays),
    policy,
    clock: systemClock,
    transfers,
    exposures:
      exposureFolder === undefined
        ? unreadExposures((chain) => transfers.coverage(chain).transfers)
        : createExposureReader(exposureFolder, {
            clock: systemClock,
            log,
            position: positionIn(transfers, graphStores),
            coverage: (chain) => transfers.coverage(chain),
            isStored: isStoredIn(transfers),
            inputs: createInputs({
              dataVersion: () => labels.current.meta.dataVersion,
              policyVersion: () => policy.version,
              tokensFile,
            }),
          }),
  };
}
