/**
 * Watched wallets that are listed or labelled themselves. When labels change, the wallets of a chain are compared with them: a wallet that
 * falls under another rule than before raises an alert, and is screened again. The node that screens the wallets of a chain does this, with
 * the labels that its screenings read.
 */
import type { Clock } from '../base/clock.ts';
import { maxKeyBytes, writeAddressKeyFromText } from '../chains/address/parse.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import { type Attribution, attribute, attributionAt } from '../screening/attribution.ts';
import type { Fence } from '../state/live-store.ts';
import type { MonitoringPolicy } from './policy.ts';
import type { MonitoredWallet, MonitoringChain, RuleId } from './records.ts';
import { ownFinding, ruleFor } from './rules.ts';
import type { BlockWriter, MonitoringStore } from './store.ts';

export interface OwnListingsDeps {
  readonly store: Pick<MonitoringStore, 'write' | 'watchedPage' | 'ownRecheckState'>;
  /** Returns the newest label snapshot; null before the first. */
  readonly labels: () => LabelReader | null;
  readonly policy: MonitoringPolicy;
  readonly riskPolicy: RiskPolicy;
  readonly clock: Clock;
}

export interface OwnListings {
  /** Returns the rule that an address itself falls under, null for none; undefined before the first snapshot. */
  ruleOf(chain: MonitoringChain, address: string): RuleId | null | undefined;
  /** Whether labels have changed since the last recheck of the chain. */
  isDue(chain: MonitoringChain): boolean;
  /**
   * Compares all watched wallets of a chain with the labels. An interrupted recheck continues from its stored position.
   *
   * @returns the number of compared wallets and of raised alerts
   */
  recheck(
    chain: MonitoringChain,
    signal: AbortSignal,
    fence?: Fence | null,
  ): Promise<{ readonly wallets: number; readonly alerts: number }>;
  /** Compares one wallet, which is about to be screened. */
  reassess(wallet: MonitoredWallet, fence?: Fence | null): Promise<void>;
}

/** Wallets per page. The alerts of a page are one transaction, and the listeners can write between two pages. */
const PAGE = 200;
/** Pages between two stored positions: the most that is repeated after a stop. */
const PAGES_A_PLACE = 50;
/** Clocks of nodes differ by less. Labels that were built further ahead are those of a clock that was set back since. */
const AHEAD_MS_MAX = 600_000;

interface Listing {
  readonly wallet: MonitoredWallet;
  readonly ruleId: RuleId | null;
  readonly attribution: Attribution;
}

/** Creates the comparison of watched wallets with the labels. */
export function createOwnListings(deps: OwnListingsDeps): OwnListings {
  const { store, labels, policy, riskPolicy, clock } = deps;
  const key = Buffer.alloc(maxKeyBytes);

  function attributionOf(chain: MonitoringChain, address: string, reader: LabelReader): Attribution | null {
    const length = writeAddressKeyFromText(chain, address, key, 0);
    if (length === 0) return null;
    const found = reader.lookup(Uint8Array.prototype.slice.call(key, 0, length), chain);
    return attributionAt(attribute(found, riskPolicy, null), clock.now());
  }

  /** Returns the listing of a wallet if it is not the one of its record. */
  function changed(wallet: MonitoredWallet, reader: LabelReader): Listing | null {
    const attribution = attributionOf(wallet.chain, wallet.walletAddress, reader);
    if (attribution === null) return null;
    const ruleId = ruleFor(attribution, policy);
    return ruleId === (wallet.ownRuleId ?? null) ? null : { wallet, ruleId, attribution };
  }

  /** Stores a listing. Call it inside a transaction. Returns true if it raised an alert. */
  function note(writer: BlockWriter, { wallet: of, ruleId, attribution }: Listing, cause: string): boolean {
    const wallet = writer.wallet(of.accountId, of.id);
    if (wallet?.status !== 'ACTIVE' || ruleId === (wallet.ownRuleId ?? null)) return false;
    writer.setOwnRule(wallet, ruleId);
    if (ruleId === null || !wallet.enabledRules.includes(ruleId)) return false;
    // The record of an earlier version has no rule. If its score covers the label, it was known when the wallet was screened.
    if (wallet.ownRuleId === undefined && attribution.points <= (wallet.riskScore ?? 0)) return false;
    const draft = {
      ...ownFinding(attribution, policy),
      ruleId,
      ruleName: policy.ruleNames[ruleId],
      transaction: null,
      final: true,
    };
    return writer.raise(wallet, draft, `own ${ruleId} ${cause}`, null) !== null;
  }

  return {
    ruleOf(chain, address) {
      const reader = labels();
      const attribution = reader === null ? null : attributionOf(chain, address, reader);
      return attribution === null ? undefined : ruleFor(attribution, policy);
    },
    isDue(chain) {
      const reader = labels();
      if (reader === null) return false;
      const state = store.ownRecheckState(chain);
      if (state === null) return true;
      const { dataVersion, builtAt } = reader.meta;
      // A node that has not received the newest labels yet leaves the comparison to the others.
      const isSetBack = Date.parse(state.builtAt) > clock.now() + AHEAD_MS_MAX;
      return state.dataVersion === dataVersion ? !state.isDone : builtAt >= state.builtAt || isSetBack;
    },
    async recheck(chain, signal, fence = null) {
      const counts = { wallets: 0, alerts: 0 };
      const reader = labels();
      if (reader === null) return counts;
      const { dataVersion, builtAt } = reader.meta;
      const before = store.ownRecheckState(chain);
      let after = before?.dataVersion === dataVersion ? before.after : null;
      for (let pages = 1; ; pages++) {
        signal.throwIfAborted();
        const page = store.watchedPage(chain, { after, limit: PAGE });
        const listings = page.wallets.flatMap((wallet) => changed(wallet, reader) ?? []);
        counts.wallets += page.wallets.length;
        const state = { dataVersion, builtAt, isDone: page.next === null, after: page.next };
        if (listings.length > 0 || state.isDone || pages % PAGES_A_PLACE === 0) {
          let raised = 0;
          await store.write((writer) => {
            raised = 0;
            for (const listing of listings) if (note(writer, listing, dataVersion)) raised++;
            writer.setOwnRecheckState(chain, state);
          }, fence);
          counts.alerts += raised;
        }
        if (page.next === null) return counts;
        after = page.next;
        // A page is processed synchronously; other work runs between two pages.
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
    async reassess(wallet, fence = null) {
      const reader = labels();
      const listing = reader === null ? null : changed(wallet, reader);
      if (reader === null || listing === null) return;
      await store.write((writer) => void note(writer, listing, reader.meta.dataVersion), fence);
    },
  };
}
