/** What every use case of screening is given. */
import type { Clock } from '../base/clock.ts';
import type { AssetFacts } from '../chains/assets.ts';
import type { Bridges } from '../chains/bridges.ts';
import type { ClusterReader } from '../graph/cluster/store.ts';
import type { TransferReader } from '../graph/transfers.ts';
import type { OutputsReader } from '../graph/utxo/outputs-store.ts';
import type { ListFreshness } from '../labels/freshness.ts';
import type { SnapshotSet } from '../labels/index/reader.ts';
import type { CountryLists } from '../risk/geography.ts';
import type { Jurisdictions } from '../risk/jurisdictions.ts';
import type { RiskPolicy } from '../risk/policy.ts';

/** Enough for what reads labels alone: entity, raw labels, sanctions check, oracle. */
export interface LabelDeps {
  readonly labels: SnapshotSet;
  /** The state of the five list groups as of now. */
  readonly freshness: () => ListFreshness;
  readonly policy: RiskPolicy;
  readonly clock: Clock;
}

export interface ScreeningDeps extends LabelDeps {
  readonly transfers: TransferReader;
  readonly outputs: Pick<OutputsReader, 'graph' | 'outputsOf' | 'addressNumber'>;
  readonly clusters: Pick<ClusterReader, 'clusterOf'>;
  readonly bridges: Pick<Bridges, 'of' | 'ofEntity'>;
  /** Which assets are evidence, and how their prices are known. */
  readonly assets: AssetFacts;
  readonly jurisdictions: Jurisdictions;
  readonly countryLists: CountryLists;
}
