/** Creates the services of screening: the policy, the facts, and the exposure index. Each is opened at its first use. */
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { OpenedOnce } from '../base/opened-once.ts';
import { loadBridges } from '../chains/bridges.ts';
import type { ExposureServices } from '../cli/services.ts';
import type { Config } from '../config/config.ts';
import { buildExposureIndex } from '../exposure/build.ts';
import { createInputs } from '../exposure/facts.ts';
import { createExposureReader, isStoredIn, positionIn } from '../exposure/reader.ts';
import { chainsWithTransfers, exposureStatus } from '../exposure/status.ts';
import { loadCountryLists } from '../risk/geography.ts';
import { loadJurisdictions } from '../risk/jurisdictions.ts';
import { loadPolicy } from '../risk/policy.ts';
import { type Assessor, createAssessor } from '../screening/assess.ts';
import type { LabelDeps, ScreeningDeps } from '../screening/deps.ts';
import type { ExposureReader } from '../screening/exposure-port.ts';
import type { ChainServices } from './chain-services.ts';
import type { LabelServices } from './label-services.ts';

export interface ScreeningServicesDeps extends Pick<OpenedOnce, 'once'> {
  readonly clock: Clock;
  readonly log: Logger;
  readonly chains: ChainServices;
  readonly labels: LabelServices;
}

export type ScreeningServices = ReturnType<typeof createScreeningServices>;

/** Creates the services of screening. */
export function createScreeningServices(
  config: Config,
  { once, clock, log, chains, labels }: ScreeningServicesDeps,
) {
  const { transferStores } = chains;
  const exposureFolder = join(config.dataDir, 'exposure');
  const policy = once(
    () => loadPolicy(labels.rules.taxonomy.rows),
    () => {},
  );
  const facts = once<Pick<ScreeningDeps, 'assets' | 'bridges' | 'jurisdictions' | 'countryLists'>>(
    () => ({
      bridges: loadBridges(),
      assets: chains.assetFacts(),
      jurisdictions: loadJurisdictions(),
      countryLists: loadCountryLists(),
    }),
    () => {},
  );
  const labelDeps = (): LabelDeps => ({
    labels: labels.snapshots(),
    freshness: labels.freshness,
    policy: policy(),
    clock,
  });
  const deps = (): ScreeningDeps => ({
    ...labelDeps(),
    transfers: chains.transfersRead(),
    outputs: chains.outputsStores.read(),
    clusters: chains.clusters(),
    ...facts(),
  });
  const assessor = once<Assessor>(
    () => createAssessor(deps()),
    () => {},
  );
  /** The inputs with which an index must have been computed to be up to date. */
  const inputs = createInputs({
    dataVersion: () => labels.snapshots().current.meta.dataVersion,
    policyVersion: () => policy().version,
    tokensFile: config.tokensFile,
  });
  const exposureReader = once<ExposureReader>(
    () =>
      createExposureReader(exposureFolder, {
        clock,
        log,
        position: positionIn(transferStores.read(), chains.graphStores),
        coverage: (chain) => transferStores.read().coverage(chain),
        isStored: isStoredIn(transferStores.read()),
        inputs,
      }),
    () => {},
  );
  const exposures: ExposureServices = {
    chains: () => chainsWithTransfers(transferStores.read()),
    build: (chain, options) =>
      buildExposureIndex(
        { chain, folder: exposureFolder, inputs: inputs(chain), ...options },
        { ...deps(), transfers: transferStores.read(), log },
      ),
    status: () => exposureStatus(exposureFolder, { transfers: transferStores.read(), inputs, log }),
  };
  return { exposureFolder, policy, facts, labelDeps, deps, assessor, exposureReader, exposures };
}
