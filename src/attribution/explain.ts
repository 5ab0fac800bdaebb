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
import { DEPOSIT_SOURCE, depositTemplate } from './deposit/labels.ts';
import type { Dispute, Disputes } from './disputes.ts';
import { ATTRIBUTION_LIMITS } from './limits.ts';
import { FACTORY_SOURCE, labelsOfFacts, SOURCE_OF_RULE } from './logs/labels.ts';
import { FREEZE_RULE, STAKE_RULE } from './logs/read.ts';
import { type AttributionStore, type DepositRecord, type Fact, forwardingsOf } from './store.ts';

/** The part that a transaction has in the evidence. */
export type EvidenceRole =
  | 'RECEIVED'
  | 'FORWARDED'
  | 'FUNDED'
  | 'CREATED'
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

const factEvidence = ({
  rule,
  kind,
  txHash,
  blockNumber,
  timestampMs,
  logIndex,
  by,
  values,
}: Fact): EvidenceTransaction => ({
  role: rule === COINBASE_RULE ? 'MINED' : (ROLES[kind] ?? 'CREATED'),
  txHash,
  blockNumber,
  timestamp: timestampMs === null ? null : isoTime(timestampMs),
  logIndex: rule === COINBASE_RULE ? null : logIndex,
  asset: assetOf({ rule, kind, by }),
  amount: values.amount ?? null,
});

function factFindings(subject: ParsedAddress, facts: readonly Fact[]): AttributionFinding[] {
  const labels = labelsOfFacts(subject.chain, facts);
  const groups = new Map<string, Fact[]>();
  for (const fact of facts) groups.set(fact.by, [...(groups.get(fact.by) ?? []), fact]);
  return [...groups].map(([by, own]): AttributionFinding => {
    const rule = own[0]?.rule ?? '';
    const isFreeze = rule === FREEZE_RULE;
    const source = SOURCE_OF_RULE[rule] ?? FACTORY_SOURCE;
    const label = labels.find(
      ({ template }) =>
        template.source === source &&
        (rule === COINBASE_RULE || template.tags.some((tag) => tag.endsWith(by.split(' ')[1] ?? by))),
    );
    return {
      ...derivationFor(source),
      source,
      status: label === undefined ? (isFreeze ? 'ENDED' : 'INSUFFICIENT') : 'LABELLED',
      entityId: label?.template.entity.id ?? null,
      entityName: label?.template.entity.name ?? null,
      confidence: label?.template.confidence ?? null,
      summary: isFreeze
        ? `${own.length} events of ${by} froze the address or ended the freeze.`
        : rule === COINBASE_RULE
          ? `${own.length} blocks with the tag of ${[...new Set(own.map(({ kind }) => kind))].join(', ')} pay only the address.`
          : rule === STAKE_RULE
            ? `${own.length} deposits of 32 coins or more to ${by} name the address for withdrawals.`
            : `The factory ${by} logged that it created the contract.`,
      count: own.length,
      evidence: own.slice(-ATTRIBUTION_LIMITS.evidenceListed).map(factEvidence),
    };
  });
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
      ...factFindings(subject, store?.facts(subject.key) ?? []),
    ].map((finding) =>
      dispute !== null && finding.status === 'LABELLED' ? { ...finding, status: 'DISPUTED' } : finding,
    ),
    dispute: dispute === null ? null : answeredDispute(dispute),
    judgedAt: store?.depositState()?.at ?? null,
    dataVersion: labels.meta.dataVersion,
  };
}
