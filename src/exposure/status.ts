/** The status of the exposure indexes, read from outside the keeper. */
import { isoTime } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { CHAINS, type ChainId } from '../chains/registry.ts';
import type { TransferStore } from '../graph/store.ts';
import type { IndexInputs } from './format.ts';
import { exposureFolderOf, isSameInputs, openCurrent } from './reader.ts';

export interface ExposureIndexStatus {
  readonly chain: ChainId;
  /**
   * MISSING: no usable index. OTHER_INPUTS: labels, policy or built-in facts have changed since the build.
   */
  readonly state: 'CURRENT' | 'BEHIND' | 'OTHER_INPUTS' | 'MISSING';
  /** Time at which it was last up to date, ISO 8601 UTC; null without an index. */
  readonly asOf: string | null;
  readonly addresses: number;
  readonly entries: number;
  /** Number of transfers that the index does not include yet. */
  readonly newTransfers: number;
  /** Number of entries that were computed since the build, and number of pending entries. */
  readonly computed: number;
  readonly waiting: number;
}

export interface StatusDeps {
  readonly transfers: Pick<TransferStore, 'logPosition'>;
  readonly inputs: (chain: ChainId) => IndexInputs;
  readonly log: Logger;
}

/** Returns the chains with stored transfers. */
export const chainsWithTransfers = ({ logPosition }: Pick<TransferStore, 'logPosition'>): ChainId[] =>
  CHAINS.map(({ id }) => id).filter((id) => (logPosition(id)?.transfers ?? 0) > 0);

/** Returns the status of each chain with stored transfers. */
export const exposureStatus = (folder: string, deps: StatusDeps): ExposureIndexStatus[] =>
  chainsWithTransfers(deps.transfers).map((chain) => {
    const ordinal = deps.transfers.logPosition(chain)?.ordinal ?? 0;
    const opened = openCurrent(exposureFolderOf(folder, chain), deps.log, { check: true })?.opened;
    const isOfStore = opened?.index.meta.position.store === deps.transfers.logPosition(chain)?.store;
    if (opened === undefined || !isOfStore)
      return {
        ...{ chain, state: 'MISSING', asOf: null, addresses: 0, entries: 0 },
        ...{ newTransfers: ordinal, computed: 0, waiting: 0 },
      };
    const { meta } = opened.index;
    const state = opened.changes.state();
    const newTransfers = ordinal - (state?.position ?? meta.position).ordinal;
    const isSame = isSameInputs(meta, deps.inputs(chain));
    return {
      chain,
      state: !isSame ? 'OTHER_INPUTS' : newTransfers > 0 ? 'BEHIND' : 'CURRENT',
      asOf: isoTime(state?.processedAtMs ?? meta.asOfMs),
      addresses: meta.addresses + (state?.added ?? 0),
      entries: meta.entries,
      newTransfers,
      computed: state?.computed ?? 0,
      waiting: state?.waiting ?? 0,
    };
  });
