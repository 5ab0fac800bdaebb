/**
 * The rule `exchange-deposit` for one account: does it only forward what outsiders pay in to the collecting wallets of one entity? After
 * F. Victor, "Address Clustering Heuristics for Ethereum" (Financial Cryptography 2020), with amounts, times and senders checked for
 * each payment. A pure function of the account's transfers.
 */
import { ATTRIBUTION_LIMITS } from '../limits.ts';

/** Version of the rule. Increase it when the same transfers may give another result: accounts are then judged again. */
export const DEPOSIT_RULE_VERSION = 1;

/** Bits of `flags`. */
export const OUT = 1;
/** The sender of the payment signed its transaction. */
export const SIGNED_BY_SENDER = 2;
/** Another account signed it. */
export const SIGNED_BY_OTHER = 4;

/** Transfers of accounts in columns; those of one account are together, in the order of time. */
export interface EventColumns {
  readonly ordinal: ArrayLike<number>;
  readonly timestampMs: ArrayLike<number>;
  readonly asset: ArrayLike<number>;
  /** The other side; 0 if absent. */
  readonly party: ArrayLike<number>;
  readonly amount: ArrayLike<number>;
  readonly flags: ArrayLike<number>;
}

export interface JudgeRules {
  /** Number of the entity of a collecting wallet; 0 for every other address. */
  readonly entityOf: (node: number) => number;
  /** Number of the chain's native asset; its payments lose their fee. -1 if no transfer of it is stored. */
  readonly native: number;
}

/** The kind of an account, as far as its payments show it. */
export type AccountKind = 'account' | 'contract' | 'delegated' | 'unknown';

/** A payment to the entity that matches what was paid in before. */
export interface Forwarding {
  /** Numbers in the log: the payment to the entity, and the first payment that it forwards. */
  readonly out: number;
  readonly in: number;
  readonly timestampMs: number;
}

/** An account that behaves like a deposit address. */
export interface DepositVerdict {
  readonly entity: number;
  /** Oldest first. */
  readonly forwardings: readonly Forwarding[];
  /** Number in the log of the first payment of the native coin by the entity (for fees); null if there was none before the first forwarding. */
  readonly fundedBy: number | null;
  /** `account` if it signed a payment itself, which no contract can. */
  readonly kind: AccountKind;
}

/** Part of a native payment that the fee may take. Fees of small deposits are large, and a lower bound would only lose those. */
const NATIVE_FEE_SHARE = 0.1;
/** Tokens pay no fee in themselves. The nearest doubles of sums differ, and some sweeps leave a unit behind. */
const TOKEN_SHARE = 0.001;
/** Payments below this part of a forwarding do not decide how old it is: anyone can send dust. */
const DUST_SHARE = 0.01;

interface AssetVerdict {
  readonly entity: number;
  readonly forwardings: readonly Forwarding[];
}

/** Returns the assets of which the account paid something, in the order of their first payment. */
function paidAssets(events: EventColumns, start: number, end: number): number[] {
  const assets: number[] = [];
  for (let at = start; at < end; at++) {
    if (((events.flags[at] as number) & OUT) === 0 || events.amount[at] === 0) continue;
    const asset = events.asset[at] as number;
    if (!assets.includes(asset)) assets.push(asset);
    if (assets.length === ATTRIBUTION_LIMITS.depositAssetsMax) break;
  }
  return assets;
}

/** Returns the only entity that receives an asset from the account; 0 if a payment goes elsewhere. Payments of zero can be forged. */
function receiverOf(
  events: EventColumns,
  start: number,
  end: number,
  asset: number,
  rules: JudgeRules,
): number {
  let entity = 0;
  for (let at = start; at < end; at++) {
    if (events.asset[at] !== asset || ((events.flags[at] as number) & OUT) === 0 || events.amount[at] === 0)
      continue;
    const receiver = rules.entityOf(events.party[at] as number);
    if (receiver === 0 || (entity !== 0 && receiver !== entity)) return 0;
    entity = receiver;
  }
  return entity;
}

/** Matches each payment of an asset with what was paid in since the one before. Null if the account is no deposit address of it. */
function judgeAsset(
  events: EventColumns,
  start: number,
  end: number,
  asset: number,
  rules: JudgeRules,
): AssetVerdict | null {
  const entity = receiverOf(events, start, end, asset, rules);
  if (entity === 0) return null;
  const isNative = asset === rules.native;
  const share = isNative ? NATIVE_FEE_SHARE : TOKEN_SHARE;
  const forwardings: Forwarding[] = [];
  let unmatched = 0;
  let hasReceived = false;
  /** Since the last payment: sum, gas money of the entity, and where the payments in begin. */
  let pending = 0;
  let gas = 0;
  let received = 0;
  let gasReceived = 0;
  let pendingFrom = start;
  for (let at = start; at < end; at++) {
    const amount = events.amount[at] as number;
    if (events.asset[at] !== asset || amount === 0) continue;
    if (((events.flags[at] as number) & OUT) === 0) {
      const sender = events.party[at] as number;
      if (rules.entityOf(sender) === entity) {
        // The entity pays customers in the assets that they hold; a deposit address only gets native coins for its fees.
        if (!isNative) return null;
        gas += amount;
        gasReceived += amount;
        continue;
      }
      if (!hasReceived && sender === 0) return null;
      hasReceived = true;
      pending += amount;
      received += amount;
      continue;
    }
    // Its first payment in must come from an outsider.
    if (!hasReceived && !(isNative && gas > 0)) return null;
    const first = firstWorthy(events, pendingFrom, at, asset, amount, entity, rules);
    const isWhole = amount >= pending * (1 - share) && amount <= pending * (1 + share) + gas;
    const isInTime =
      first >= 0 &&
      (events.timestampMs[at] as number) - (events.timestampMs[first] as number) <=
        ATTRIBUTION_LIMITS.forwardWithinMs;
    if (pending > 0 && isWhole && isInTime)
      forwardings.push({
        out: events.ordinal[at] as number,
        in: events.ordinal[first] as number,
        timestampMs: events.timestampMs[at] as number,
      });
    else if (pending > 0 || amount > gas) unmatched++;
    pending = 0;
    gas = 0;
    pendingFrom = at + 1;
  }
  const paid = forwardings.length + unmatched;
  if (forwardings.length === 0 || unmatched > paid * ATTRIBUTION_LIMITS.unmatchedShareMax) return null;
  // More coins of the entity than fees need: a withdrawal of a customer.
  if (gasReceived > received * NATIVE_FEE_SHARE) return null;
  return { entity, forwardings };
}

/** Returns the oldest payment in that is no dust beside the payment out; -1 if absent. */
function firstWorthy(
  events: EventColumns,
  from: number,
  to: number,
  asset: number,
  amount: number,
  entity: number,
  rules: JudgeRules,
): number {
  for (let at = from; at < to; at++)
    if (
      events.asset[at] === asset &&
      ((events.flags[at] as number) & OUT) === 0 &&
      (events.amount[at] as number) >= amount * DUST_SHARE &&
      rules.entityOf(events.party[at] as number) !== entity
    )
      return at;
  return -1;
}

/** Returns the kind of the account as its payments show it: a contract signs nothing, and only a contract pays coins that others signed for. */
function kindOf(events: EventColumns, start: number, end: number, native: number): AccountKind {
  let isSigner = false;
  for (let at = start; at < end; at++) {
    const flags = events.flags[at] as number;
    if ((flags & OUT) === 0 || events.amount[at] === 0) continue;
    if ((flags & SIGNED_BY_OTHER) !== 0 && events.asset[at] === native) return 'contract';
    if ((flags & SIGNED_BY_SENDER) !== 0) isSigner = true;
  }
  return isSigner ? 'account' : 'unknown';
}

/** Returns whether the account paid native coins to anyone but the entity: its owner holds the key. Such a payment cannot be forged. */
function paysElsewhere(
  events: EventColumns,
  start: number,
  end: number,
  entity: number,
  rules: JudgeRules,
): boolean {
  for (let at = start; at < end; at++)
    if (
      events.asset[at] === rules.native &&
      ((events.flags[at] as number) & OUT) !== 0 &&
      (events.amount[at] as number) > 0 &&
      rules.entityOf(events.party[at] as number) !== entity
    )
      return true;
  return false;
}

/** Returns the first payment of native coins by the entity that came before `untilOrdinalTime`; null if absent. */
function fundingOf(
  events: EventColumns,
  start: number,
  end: number,
  entity: number,
  untilMs: number,
  rules: JudgeRules,
): number | null {
  for (let at = start; at < end && (events.timestampMs[at] as number) <= untilMs; at++)
    if (
      events.asset[at] === rules.native &&
      ((events.flags[at] as number) & OUT) === 0 &&
      (events.amount[at] as number) > 0 &&
      rules.entityOf(events.party[at] as number) === entity
    )
      return events.ordinal[at] as number;
  return null;
}

/**
 * Judges the account with the transfers in the rows `start` to `end - 1`.
 *
 * @returns Null if the account is no deposit address, as far as these transfers show. `isSufficient` decides whether it is labelled.
 */
export function judgeAccount(
  events: EventColumns,
  start: number,
  end: number,
  rules: JudgeRules,
): DepositVerdict | null {
  let entity = 0;
  const forwardings: Forwarding[] = [];
  for (const asset of paidAssets(events, start, end)) {
    const verdict = judgeAsset(events, start, end, asset, rules);
    if (verdict === null) continue;
    // Assets that go to two entities: a customer of both.
    if (entity !== 0 && verdict.entity !== entity) return null;
    entity = verdict.entity;
    forwardings.push(...verdict.forwardings);
  }
  if (entity === 0 || paysElsewhere(events, start, end, entity, rules)) return null;
  const kind = kindOf(events, start, end, rules.native);
  if (kind === 'contract') return null;
  forwardings.sort((a, b) => a.timestampMs - b.timestampMs || a.out - b.out);
  const first = forwardings[0] as Forwarding;
  return {
    entity,
    forwardings,
    fundedBy: fundingOf(events, start, end, entity, first.timestampMs, rules),
    kind,
  };
}

/** Returns whether the evidence is enough for a label: two forwardings, or one by an account with fees that the entity paid. */
export const isSufficient = (forwardings: number, isFunded: boolean): boolean =>
  forwardings >= 2 || (forwardings === 1 && isFunded);

/**
 * Returns the confidence of a label.
 *
 * @param kind - of an unknown kind the account may be a contract, which the rule excludes: it is believed like one with little evidence
 */
export function depositConfidence(forwardings: number, kind: AccountKind): number {
  if (kind === 'unknown' || forwardings < 3) return 0.6;
  return forwardings < 10 ? 0.8 : 0.9;
}
