/** What a receipt states about an answer: its judgement, its subjects, what its request narrowed, and the facts of a verdict for a contract. */

import { AssayError } from '../base/errors.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { type ChainId, isEvm } from '../chains/registry.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import { DIRECTION_DEFAULT, EXPOSURE_HOPS } from '../screening/choices.ts';
import type { Evidence } from '../screening/evidence.ts';
import { codesOf, type Judgement, rescore, verdictOfEvidence } from '../screening/rescore.ts';
import type { VerdictFacts } from './eip712.ts';
import { accountIdOf, receiptHash } from './receipt.ts';
import type { Receipt } from './receipt-schema.ts';
import type { AnswerToAttest } from './service.ts';

/** An answer as JSON, or a part of it. */
export type Answer = Readonly<Record<string, unknown>>;

/** Returns a member that is a text; null for any other. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
/** Returns a member that has members; without any if it has none. */
export const partsOf = (value: unknown): Answer =>
  typeof value === 'object' && value !== null ? (value as Answer) : {};

/** Returns the addresses of an answer: that of the address, or of the sender and the receiver. */
function addressesOf({ from, to, address }: Answer): readonly string[] {
  return [from, to, address].flatMap((party) => textOf(party) ?? textOf(partsOf(party).address) ?? []);
}

/** Returns the judgement of names or lines: none of a subject, because each of them has its own. */
const unscoredJudgement = ({ reasons }: Answer): NullableJudgement => ({
  verdict: null,
  score: null,
  riskLevel: null,
  sanctioned: null,
  reasonCodes: codesOf(Array.isArray(reasons) ? reasons : []),
});

/** Whether the judgement of an answer follows from its evidence. */
const isScored = (evidence: AnswerToAttest['evidence']): evidence is Evidence =>
  evidence.kind !== 'NAMES' && evidence.kind !== 'BULK' && evidence.kind !== 'BATCH';

type NullableJudgement = Omit<Judgement, 'sanctioned'> & { readonly sanctioned: boolean | null };

/** Members of an answer that the evidence must give, by their names in each kind of answer. */
function requireGiven(judgement: Judgement, kind: string, answer: Answer): void {
  // A KYT answer has the sanctions of each party only.
  const isSanctioned = answer.sanctioned ?? judgement.sanctioned;
  const compared = [
    ['verdict', judgement.verdict, answer.verdict ?? answer.decision ?? null],
    ['score', judgement.score, answer.score ?? answer.riskScore ?? null],
    ['riskLevel', judgement.riskLevel, answer.riskLevel ?? null],
    ['sanctioned', judgement.sanctioned, isSanctioned],
  ] as const;
  for (const [name, given, shown] of compared)
    if (given !== shown)
      throw new AssayError(
        'INTERNAL',
        `The evidence of a ${kind} answer gives ${name} ${given}, and the answer has ${shown}; no receipt was issued.`,
      );
}

/**
 * Returns the judgement of an answer from its evidence.
 *
 * @throws INTERNAL if it is not that of the answer
 */
export function judgementOf(
  evidence: AnswerToAttest['evidence'],
  answer: Answer,
  policy: RiskPolicy,
): NullableJudgement {
  if (!isScored(evidence)) return unscoredJudgement(answer);
  const judgement = rescore(evidence, policy);
  requireGiven(judgement, evidence.kind, answer);
  return judgement;
}

/** Returns the fields of a request that make it read less than by default. */
export function narrowedOf({ maxHops, direction }: Answer): string[] {
  return [
    ...(typeof maxHops === 'number' && maxHops < EXPOSURE_HOPS.standard ? [`maxHops=${maxHops}`] : []),
    ...(typeof direction === 'string' && direction !== DIRECTION_DEFAULT ? [`direction=${direction}`] : []),
  ];
}

/** Returns the chain of an answer; null if it has none. */
export const chainOfAnswer = ({ chain }: Answer): ChainId | null => textOf(chain) as ChainId | null;

/** Returns the whole answer. */
const wholeOf = ({ answer, own }: AnswerToAttest): Answer =>
  own === undefined ? answer : { ...answer, ...own };

/** Returns the CAIP-10 ids of the subjects of an answer. */
export function subjectsOf(attested: AnswerToAttest): string[] {
  const chain = chainOfAnswer(attested.answer);
  if (chain === null) return [];
  const canonical =
    attested.addresses ??
    addressesOf(wholeOf(attested)).map((address) => parseAddress(chain, address).canonical);
  return canonical.map((address) => accountIdOf(chain, address));
}

/** Creates the error of a verdict that cannot be signed for a contract. */
export const refuseForm = (sentence: string): AssayError =>
  new AssayError('INVALID_REQUEST', `receipt: eip712 ${sentence}; use jws.`, { field: 'receipt' });

/**
 * Returns the facts of a verdict for a contract.
 *
 * @throws INVALID_REQUEST if the answer is not about one EVM address, as it is now and read as deep as by default, or if it may be clean only
 *   because lists are missing
 */
export function verdictFacts(attested: AnswerToAttest, receipt: Receipt, policy: RiskPolicy): VerdictFacts {
  const { evidence } = attested;
  const answer = wholeOf(attested);
  const chain = textOf(answer.chain) as ChainId | null;
  const [address, ...others] = addressesOf(answer);
  if (!isScored(evidence) || chain === null || address === undefined || !isEvm(chain))
    throw refuseForm('needs an address of an EVM chain');
  if (others.length > 0) throw refuseForm('has one subject, and this request has a sender and a receiver');
  if (receipt.expiresAt === receipt.issuedAt)
    throw refuseForm('has no asOf, and no fields that narrow the request');
  const verdict = verdictOfEvidence(evidence, policy);
  const sanctioned = receipt.sanctioned ?? false;
  // Without a verdict, a contract can only read `sanctioned`, which says nothing about lists that were not read.
  if (verdict === null && !sanctioned && evidence.staleReason !== null)
    throw refuseForm(`is not signed while lists are missing or too old (${evidence.staleReason.message})`);
  return {
    receiptSha256: receiptHash(receipt).toString('hex'),
    chain,
    address,
    verdict: verdict ?? 'unrated',
    score: receipt.score ?? (sanctioned ? 100 : 0),
    sanctioned,
    issuedAt: receipt.issuedAt,
    expiresAt: receipt.expiresAt,
    dataVersion: receipt.dataVersion,
    policySha256: receipt.policySha256,
  };
}
