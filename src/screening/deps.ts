/** Dependencies of the screening use cases. */
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

/** Dependencies of use cases that read only labels: entity, raw labels, sanctions check, oracle. */
export interface LabelDeps {
  readonly labels: SnapshotSet;
  /** Returns the current state of the five list groups. */
  readonly freshness: () => ListFreshness;
  readonly policy: RiskPolicy;
  readonly clock: Clock;
}

export interface ScreeningDeps extends LabelDeps {
  readonly transfers: TransferReader;
  readonly outputs: Pick<OutputsReader, 'graph' | 'outputsOf' | 'addressNumber'>;
  readonly clusters: Pick<ClusterReader, 'clusterOf'>;
  readonly bridges: Pick<Bridges, 'of' | 'ofEntity'>;
  /** Which assets are evidence, and the status of their prices. */
  readonly assets: AssetFacts;
  readonly jurisdictions: Jurisdictions;
  readonly countryLists: CountryLists;
}
