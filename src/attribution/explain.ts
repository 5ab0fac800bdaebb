/** The evidence of derived labels: what rules found about one address, with transactions and blocks. */

import { isoTime } from '../base/clock.ts';
import type { ParsedAddress } from '../chains/address/address.ts';
import type { TransferStore } from '../graph/store.ts';
import type { Derivation } from '../labels/derivation.ts';
import { derivationOf } from '../labels/derivation.ts';
import { isDerived } from '../labels/evidence-class.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import { type LabelJson, labelToJson } from '../labels/label-json.ts';
import { COINBASE_RULE } from './coinbase/read.ts';
import { CREATIONS, CREATOR_RULE } from './contracts/creations.ts';
import { PROXY_RULE } from './contracts/facts.ts';
import { ContractNaming, CREATOR_SOURCE, PROXY_SOURCE } from './contracts/naming.ts';
import { DEPOSIT_SOURCE, depositTemplate } from './deposit/labels.ts';
import type { Dispute, Disputes } from './disputes.ts';
import { ATTRIBUTION_LIMITS } from './limits.ts';
import { FACTORY_SOURCE, type FactLabel, labelsOfFacts, SOURCE_OF_RULE } from './logs/labels.ts';
import { FREEZE_RULE, STAKE_RULE } from './logs/read.ts';
import { type AttributionStore, type DepositRecord, type Fact, forwardingsOf } from './store.ts';

/** The part that a transaction has in the evidence. */
export type EvidenceRole =
  | 'RECEIVED'
  | 'FORWARDED'
  | 'FUNDED'
  | 'CREATED'
  | 'UPGRADED'
  | 'FROZEN'
  | 'UNFROZEN'
  | 'DESTROYED'
  | 'STAKED'
  | 'MINED';

export interface EvidenceTransaction {
  readonly role: EvidenceRole;
  readonly txHash: string;
  readonly blockNumber: number;
  /** ISO time; null if not known. */
  readonly timestamp: string | null;
  /** Position of the log in its block; null for transfers. */
  readonly logIndex: number | null;
  /** The chain's symbol, or the address of a token; null if no asset moved. */
  readonly asset: string | null;
  /** In the asset's smallest unit. */
  readonly amount: string | null;
}

/** The result of one rule for an address. */
export interface AttributionFinding extends Derivation {
  /** Source of the labels of the rule. */
  readonly source: string;
  /**
   * LABELLED: the evidence is enough for a label, which the next index has. INSUFFICIENT: it is not. ENDED: it was taken back on chain.
   * DISPUTED: it is enough, but the operator disputes the labels of the address.
   */
  readonly status: 'LABELLED' | 'INSUFFICIENT' | 'ENDED' | 'DISPUTED';
  readonly entityId: string | null;
  readonly entityName: string | null;
  readonly confidence: number | null;
  /** One sentence. */
  readonly summary: string;
  /** Forwardings or events in total; `evidence` lists the newest ones. */
  readonly count: number;
  readonly evidence: readonly EvidenceTransaction[];
}

/** A dispute as answers show it. */
export type AnsweredDispute = Pick<
  Dispute,
  'reason' | 'disputedAt' | 'entityId' | 'name' | 'category' | 'threatLevel'
>;

export interface AttributionAnswer {
  /** As answers write addresses. */
  readonly address: string;
  readonly chain: string;
  /** The derived labels of the present snapshot. */
  readonly labels: readonly LabelJson[];
  readonly findings: readonly AttributionFinding[];
  /** Why the operator disputes the labels of the address, and what holds instead; null if it does not. */
  readonly dispute: AnsweredDispute | null;
  /** ISO time up to which transfers were judged; null if the rules never ran on the chain. */
  readonly judgedAt: string | null;
  readonly dataVersion: string;
}

export interface ExplainDeps {
  readonly transfers: Pick<TransferStore, 'graph' | 'loggedAt' | 'shownTransfer'>;
  readonly labels: LabelReader;
  /** Null if the rules never ran on the chain. */
  readonly store: AttributionStore | null;
  readonly disputes: Pick<Disputes, 'of'>;
}

const derivationFor = (source: string): Derivation =>
  derivationOf({ source, class: 'structural' }) as Derivation;

function transferEvidence(
  { chain }: ParsedAddress,
  ordinal: number,
  role: EvidenceRole,
  { transfers }: ExplainDeps,
): EvidenceTransaction[] {
  const logged = transfers.loggedAt(chain, ordinal);
  const shown = logged === null ? null : transfers.shownTransfer(chain, logged);
  if (shown === null) return [];
  return [
    {
      role,
      txHash: shown.txHash,
      blockNumber: shown.blockNumber,
      timestamp: isoTime(shown.timestampMs),
      logIndex: null,
      asset: shown.asset,
      amount: shown.amount.toString(),
    },
  ];
}

function depositFinding(
  subject: ParsedAddress,
  record: DepositRecord,
  deps: ExplainDeps,
): AttributionFinding | null {
  const state = deps.store?.depositState() ?? null;
  const owner = state?.entities[record.entity - 1];
  if (state === null || owner === undefined) return null;
  const template = depositTemplate(subject.chain, record, state);
  const count = forwardingsOf(record);
  const newest = record.forwardings.slice(-Math.floor(ATTRIBUTION_LIMITS.evidenceListed / 2));
  const funding = record.fundedBy === null ? [] : transferEvidence(subject, record.fundedBy, 'FUNDED', deps);
  return {
    ...derivationFor(DEPOSIT_SOURCE),
    source: DEPOSIT_SOURCE,
    status: template === null ? 'INSUFFICIENT' : 'LABELLED',
    entityId: owner.entity.id,
    entityName: owner.entity.name,
    confidence: template?.confidence ?? null,
    summary:
      `${count} ${count === 1 ? 'payment was' : 'payments were'} forwarded whole and within a day to collecting wallets of ` +
      `${owner.entity.name}, and none of these assets went anywhere else.` +
      (record.fundedBy === null ? '' : ` ${owner.entity.name} paid for the fees.`) +
      (record.kind === 'unknown' ? ' It is not known whether the account is a contract.' : ''),
    count,
    evidence: [
      ...funding,
      ...newest.flatMap(({ in: first, out }) => [
        ...transferEvidence(subject, first, 'RECEIVED', deps),
        ...transferEvidence(subject, out, 'FORWARDED', deps),
      ]),
    ],
  };
}

const ROLES: Readonly<Record<string, EvidenceRole>> = {
  frozen: 'FROZEN',
  unfrozen: 'UNFROZEN',
  destroyed: 'DESTROYED',
  stake: 'STAKED',
};

function assetOf({ rule, kind, by }: Pick<Fact, 'rule' | 'kind' | 'by'>): string | null {
  if (rule === COINBASE_RULE) return 'BTC';
  if (kind === 'stake') return 'ETH';
  return kind === 'destroyed' ? (by.split(' ')[1] ?? null) : null;
}

function roleOf({ rule, kind, by }: Pick<Fact, 'rule' | 'kind' | 'by'>): EvidenceRole {
  if (rule === COINBASE_RULE) return 'MINED';
  if (rule === PROXY_RULE && by !== CREATIONS) return 'UPGRADED';
  return ROLES[kind] ?? 'CREATED';
}

/** Rules whose evidence is a transaction, not a log in it. */
const isOfTransaction = ({ rule, by }: Fact): boolean => rule === COINBASE_RULE || by === CREATIONS;

const factEvidence = (fact: Fact): EvidenceTransaction => ({
  role: roleOf(fact),
  txHash: fact.txHash,
  blockNumber: fact.blockNumber,
  timestamp: fact.timestampMs === null ? null : isoTime(fact.timestampMs),
  logIndex: isOfTransaction(fact) ? null : fact.logIndex,
  asset: assetOf(fact),
  amount: fact.values.amount ?? null,
});

/** The part of a finding that is the same for all rules over facts. */
function findingOf(
  source: string,
  label: FactLabel | undefined,
  own: readonly Fact[],
  { summary, otherwise }: { readonly summary: string; readonly otherwise: AttributionFinding['status'] },
): AttributionFinding {
  return {
    ...derivationFor(source),
    source,
    status: label === undefined ? otherwise : 'LABELLED',
    entityId: label?.template.entity.id ?? null,
    entityName: label?.template.entity.name ?? null,
    confidence: label?.template.confidence ?? null,
    summary,
    count: own.length,
    evidence: own.slice(-ATTRIBUTION_LIMITS.evidenceListed).map(factEvidence),
  };
}

function summaryOf(by: string, own: readonly Fact[]): string {
  switch (own[0]?.rule) {
    case FREEZE_RULE:
      return `${own.length} events of ${by} froze the address or ended the freeze.`;
    case COINBASE_RULE:
      return `${own.length} blocks with the tag of ${[...new Set(own.map(({ kind }) => kind))].join(', ')} pay only the address.`;
    case STAKE_RULE:
      return `${own.length} deposits of 32 coins or more to ${by} name the address for withdrawals.`;
    default:
      return `The factory ${by} logged that it created the contract.`;
  }
}

/** The account that created a contract, and what its own label says. */
function creatorFinding(
  facts: readonly Fact[],
  labels: readonly FactLabel[],
  naming: ContractNaming,
): AttributionFinding[] {
  const own = facts.filter(({ rule }) => rule === CREATOR_RULE);
  const creator = own[0]?.values.creator;
  if (creator === undefined) return [];
  const named = naming.account(creator);
  const summary =
    `The account ${creator} created the contract, and ` +
    (named === null
      ? 'no list or publisher names that account.'
      : `${named.source} labels that account as ${named.name}. What the contract serves does not follow from it.`);
  const label = labels.find(({ rule }) => rule === CREATOR_RULE);
  return [findingOf(CREATOR_SOURCE, label, own, { summary, otherwise: 'INSUFFICIENT' })];
}

/** The code that a proxy delegates to, and whose it is. */
function proxyFinding(
  facts: readonly Fact[],
  labels: readonly FactLabel[],
  naming: ContractNaming,
): AttributionFinding[] {
  const own = facts.filter(({ rule, kind }) => rule === PROXY_RULE && kind === 'proxy');
  if (own.length === 0) return [];
  const found = naming.delegation(facts);
  const { standard = '', beacon, admin } = found?.fact.values ?? {};
  const summary =
    found === null
      ? 'The contract was a proxy, and is none at the block that was read last.'
      : `At block ${found.readAt} the contract (${standard}) named the code of ${found.implementation}` +
        `${beacon === undefined ? '' : ` through the beacon ${beacon}`}${admin === undefined ? '' : `, admin ${admin}`}: ` +
        (found.named === null
          ? 'it has no label of a list or publisher.'
          : `${found.named.name}, by ${found.named.source}.`) +
        ' Anyone can deploy a proxy of any code, so it does not show whose the proxy is.';
  const label = labels.find(({ rule }) => rule === PROXY_RULE);
  const otherwise = found === null ? 'ENDED' : 'INSUFFICIENT';
  return [findingOf(PROXY_SOURCE, label, own, { summary, otherwise })];
}

const FOLLOWING_RULES: ReadonlySet<string> = new Set([CREATOR_RULE, PROXY_RULE]);

function factFindings(
  subject: ParsedAddress,
  facts: readonly Fact[],
  naming: ContractNaming,
): AttributionFinding[] {
  const labels = labelsOfFacts(subject.chain, facts, naming);
  const groups = new Map<string, Fact[]>();
  for (const fact of facts)
    if (!FOLLOWING_RULES.has(fact.rule)) groups.set(fact.by, [...(groups.get(fact.by) ?? []), fact]);
  const logged = [...groups].map(([by, own]): AttributionFinding => {
    const rule = own[0]?.rule ?? '';
    const source = SOURCE_OF_RULE[rule] ?? FACTORY_SOURCE;
    const label = labels.find(
      ({ template }) =>
        template.source === source &&
        (rule === COINBASE_RULE || template.tags.some((tag) => tag.endsWith(by.split(' ')[1] ?? by))),
    );
    const otherwise = rule === FREEZE_RULE ? 'ENDED' : 'INSUFFICIENT';
    return findingOf(source, label, own, { summary: summaryOf(by, own), otherwise });
  });
  return [...logged, ...creatorFinding(facts, labels, naming), ...proxyFinding(facts, labels, naming)];
}

/** Returns a dispute as answers show it. */
export const answeredDispute = (dispute: Dispute): AnsweredDispute => {
  const { reason, disputedAt, entityId, name, category, threatLevel } = dispute;
  return { reason, disputedAt, entityId, name, category, threatLevel };
};

/** Returns what the rules found about an address. */
export function explainAddress(
  subject: ParsedAddress & { readonly shown: string },
  deps: ExplainDeps,
): AttributionAnswer {
  const { store, transfers, labels, disputes } = deps;
  const dispute = disputes.of(subject.chain, subject.key);
  const node = transfers.graph(subject.chain)?.idOf(subject.key) ?? null;
  const record = node === null ? null : (store?.deposit(node) ?? null);
  const deposit = record === null ? null : depositFinding(subject, record, deps);
  return {
    address: subject.shown,
    chain: subject.chain,
    labels: labels
      .lookup(subject.key, subject.chain)
      .filter((label) => isDerived(label.class))
      .map(labelToJson),
    findings: [
      ...(deposit === null ? [] : [deposit]),
      ...(store === null
        ? []
        : factFindings(
            subject,
            store.facts(subject.key),
            new ContractNaming(subject.chain, { labels, store }),
          )),
    ].map((finding) =>
      dispute !== null && finding.status === 'LABELLED' ? { ...finding, status: 'DISPUTED' } : finding,
    ),
    dispute: dispute === null ? null : answeredDispute(dispute),
    judgedAt: store?.depositState()?.at ?? null,
    dataVersion: labels.meta.dataVersion,
  };
}
