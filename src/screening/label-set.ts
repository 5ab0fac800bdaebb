/**
 * The entity label set. GET /entity/{address}, POST /screen and GET /address/{chain}/{address}/labels return the same data: as
 * objects, or as bytes on the hot path. Both give the same text.
 */

import { copyInto, fragment, textInto } from '../base/byte-text.ts';
import { NOT_LABELLED } from '../labels/index/reader.ts';
import { labelToJson } from '../labels/label-json.ts';
import { type AnswerWriter, createHeadWriter, fieldsJson, newLookup } from './answer-bytes.ts';
import type { EntityLabelSet } from './answers.ts';
import { createLabelContext, type LabelContext } from './context.ts';
import type { LabelDeps } from './deps.ts';
import { sanctionsDetail } from './sanctions-detail.ts';
import { parseSubject } from './subject.ts';

export type LabelSetQuery = (chainText: string, addressText: string) => EntityLabelSet;

/** Returns the end of every label set of a context: the fields that do not depend on the address. */
const tailOf = (
  { coverage, staleReason, reader }: LabelContext,
  assessed: boolean,
): Pick<EntityLabelSet, 'coverage' | 'assessed' | 'reasons' | 'dataVersion'> => ({
  coverage,
  assessed,
  reasons: staleReason ? [staleReason] : [],
  dataVersion: reader.meta.dataVersion,
});

/**
 * Returns the version of all that label sets depend on besides the address: the snapshot, the age of its labels, and which lists are
 * loaded and fresh.
 */
export function labelSetVersion({ reader, freshness, coverage }: LabelContext): string {
  const { status, asOf } = coverage.labels;
  const stale = freshness.staleLists.map(({ list, checkedAt }) => `${list}@${checkedAt ?? 'none'}`);
  const parts = [reader.meta.dataVersion, `${status}@${asOf ?? 'none'}`, freshness.asOf ?? 'none', ...stale];
  return parts.join('.').replace(/[^\w.:-]/g, '_');
}

/** Returns the query that answers with objects. It throws UNKNOWN_CHAIN or INVALID_ADDRESS. */
export function createLabelSet(deps: LabelDeps): LabelSetQuery {
  const contextNow = createLabelContext(deps);
  return (chainText, addressText) => {
    const subject = parseSubject(chainText, addressText);
    const context = contextNow();
    const labels = context.reader.lookup(subject.key, subject.chain);
    const detail = sanctionsDetail(labels, context.sanctionsAsOf);
    return {
      address: subject.shown,
      chain: subject.chain,
      labels: labels.map(labelToJson),
      sanctioned: detail.isSanctioned,
      sanctionsDetail: detail.isSanctioned ? detail : null,
      ...tailOf(context, labels.length > 0),
    };
  };
}

const LABELS = fragment('"labels":');
const CLEAN = fragment(',"sanctioned":false,"sanctionsDetail":null,');

/** Returns the writer that answers with bytes: see AnswerWriter. Only a sanctioned address needs objects. */
export function createLabelSetWriter(deps: LabelDeps): AnswerWriter {
  const contextNow = createLabelContext(deps);
  const lookup = newLookup();
  const writeHead = createHeadWriter(lookup);
  let rendered: LabelContext | null = null;
  let known = fragment('');
  let unknown = known;

  return (chainText, addressText, out, offset) => {
    const context = contextNow();
    if (context !== rendered) {
      known = fragment(`${fieldsJson(tailOf(context, true))}}`);
      unknown = fragment(`${fieldsJson(tailOf(context, false))}}`);
      rendered = context;
    }
    const { reader } = context;
    let at = copyInto(LABELS, out, writeHead(reader, chainText, addressText, out, offset));
    if (at < 0) return -1;
    const { handle, chain } = lookup;
    const labelsAt = at;
    at = reader.writeLabelsJson(handle, chain, out, labelsAt);
    if (at < 0) return -1;
    // An address may have labels only on other chains of its family: then the array is empty.
    const tail = at - labelsAt > 2 ? known : unknown;
    if (handle === NOT_LABELLED || !reader.isSanctioned(handle, chain))
      return copyInto(tail, out, copyInto(CLEAN, out, at));
    const detail = sanctionsDetail(reader.labels(handle, chain), context.sanctionsAsOf);
    const middle = `,"sanctioned":true,"sanctionsDetail":${JSON.stringify(detail)},`;
    return copyInto(tail, out, textInto(middle, out, at));
  };
}
