/** GET /sanctions/check: the entries of all sanctions lists for one address, in force and historical. */
import { copyInto, fragment, textInto } from '../base/byte-text.ts';
import type { ListFreshness } from '../labels/freshness.ts';
import { NOT_LABELLED } from '../labels/index/reader.ts';
import type { Label } from '../labels/label.ts';
import type { SanctionsList } from '../sources/index.ts';
import { LISTS } from '../sources/lists.ts';
import { type AnswerWriter, createHeadWriter, fieldsJson, newLookup } from './answer-bytes.ts';
import type { ListDates, Reason, SanctionsCheckAnswer } from './answers.ts';
import { asTime, createLabelContext, type LabelContext } from './context.ts';
import type { LabelDeps } from './deps.ts';
import type { SanctionsEvidence } from './evidence.ts';
import { suspectedOwnerReasons } from './judge.ts';
import { sanctionsDetail } from './sanctions-detail.ts';
import { parseSubject } from './subject.ts';

export type SanctionsCheckQuery = (chainText: string, addressText: string) => SanctionsCheckAnswer;

function listDates(freshness: ListFreshness): Partial<Record<SanctionsList, ListDates>> {
  const dates: Partial<Record<SanctionsList, ListDates>> = {};
  for (const list of LISTS.ids) {
    const check = freshness.lists[list];
    dates[list] = { publishedAt: check?.publishedAt ?? null, checkedAt: asTime(check?.checkedAt ?? null) };
  }
  return dates;
}

/** Returns the reasons of the answer. */
export const sanctionsReasons = (labels: readonly Label[], staleReason: Reason | null): readonly Reason[] => [
  ...suspectedOwnerReasons(labels),
  ...(staleReason ? [staleReason] : []),
];

/** Returns all fields of the answer except address and chain. */
function checkOf(
  { freshness, sanctionsAsOf, coverage, staleReason, reader }: LabelContext,
  labels: readonly Label[],
  assessed: boolean,
): Omit<SanctionsCheckAnswer, 'address' | 'chain'> {
  const { isSanctioned, lists, agreementCount, dataAsOf } = sanctionsDetail(labels, sanctionsAsOf);
  return {
    sanctioned: isSanctioned,
    lists,
    agreementCount,
    dataAsOf,
    freshness: listDates(freshness),
    coverage,
    assessed,
    reasons: sanctionsReasons(labels, staleReason),
    dataVersion: reader.meta.dataVersion,
  };
}

/** Returns the query that answers with objects. It throws UNKNOWN_CHAIN or INVALID_ADDRESS. */
export function createSanctionsCheck(deps: LabelDeps): SanctionsCheckQuery {
  const attested = createAttestedSanctionsCheck(deps);
  return (chainText, addressText) => attested(chainText, addressText).answer;
}

/** Like SanctionsCheckQuery, with the evidence of the answer. */
export type AttestedSanctionsQuery = (...request: Parameters<SanctionsCheckQuery>) => {
  readonly answer: SanctionsCheckAnswer;
  readonly evidence: SanctionsEvidence;
};

/** Returns the query of `createSanctionsCheck` that also returns the evidence. */
export function createAttestedSanctionsCheck(deps: LabelDeps): AttestedSanctionsQuery {
  const contextNow = createLabelContext(deps);
  return (chainText, addressText) => {
    const subject = parseSubject(chainText, addressText);
    const context = contextNow();
    const labels = context.reader.lookup(subject.key, subject.chain);
    const check = checkOf(context, labels, labels.length > 0);
    return {
      answer: { address: subject.shown, chain: subject.chain, ...check },
      evidence: { kind: 'SANCTIONS', labels: [labels], staleReason: context.staleReason },
    };
  };
}

/** Returns the writer that answers with bytes: see AnswerWriter. Only an address that a list names needs objects. */
export function createSanctionsCheckWriter(deps: LabelDeps): AnswerWriter {
  const contextNow = createLabelContext(deps);
  const lookup = newLookup();
  const writeHead = createHeadWriter(lookup);
  let rendered: LabelContext | null = null;
  let unknown = fragment('');
  let unlisted = unknown;

  return (chainText, addressText, out, offset) => {
    const context = contextNow();
    if (context !== rendered) {
      unknown = fragment(`${fieldsJson(checkOf(context, [], false))}}`);
      unlisted = fragment(`${fieldsJson(checkOf(context, [], true))}}`);
      rendered = context;
    }
    const at = writeHead(context.reader, chainText, addressText, out, offset);
    const { handle, chain } = lookup;
    if (handle === NOT_LABELLED) return copyInto(unknown, out, at);
    const labels = context.reader.labels(handle, chain);
    const isListed = labels.some((label) => label.sanctions.length > 0);
    if (!isListed) return copyInto(labels.length > 0 ? unlisted : unknown, out, at);
    return textInto(`${fieldsJson(checkOf(context, labels, true))}}`, out, at);
  };
}
