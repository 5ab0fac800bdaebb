/** Replays a receipt: scores its evidence again with its policy, and compares the result with what was signed. */
import { AssayError, messageOf } from '../base/errors.ts';
import { type PolicyJson, policyFromJson } from '../risk/policy.ts';
import type { Evidence } from '../screening/evidence.ts';
import { rescore } from '../screening/rescore.ts';
import { canonicalJson, canonicalSha256 } from './canonical.ts';
import { answerOf } from './receipt.ts';
import type { LinesEvidence, NamesEvidence } from './service.ts';
import type { ReceiptContent } from './store.ts';

/** A field that differs. */
export interface ReplayDifference {
  readonly field: string;
  /** Value in the receipt, as JSON text. */
  readonly receipt: string;
  /** Value of the replay, as JSON text. */
  readonly replay: string;
}

export interface ReplayReport {
  readonly id: string;
  readonly isEqual: boolean;
  readonly differences: readonly ReplayDifference[];
  /** False for names and lines: the evidence is compared, and nothing is matched or scored again. */
  readonly isScored: boolean;
  /** The version that issued the receipt, if this is another one: a difference may come from a change of the program. */
  readonly otherVersion: string | null;
}

type Values = Readonly<Record<string, unknown>>;

function differencesOf(signed: Values, found: Values): ReplayDifference[] {
  return Object.keys(found).flatMap((field) => {
    const [receipt, replay] = [canonicalJson(signed[field]), canonicalJson(found[field])];
    return receipt === replay ? [] : [{ field, receipt, replay }];
  });
}

/** Returns the hashes that the parts of a file have. */
const hashesOf = ({ evidence, policy }: Pick<ReceiptContent, 'evidence' | 'policy'>): Values => ({
  evidenceSha256: canonicalSha256(evidence),
  policySha256: canonicalSha256(policy),
});

function judgementOf(evidence: Values, policy: object): Values {
  try {
    // The kind selects the function; a part that is missing makes it fail, which the message reports.
    const { verdict, score, riskLevel, sanctioned, reasonCodes } = rescore(
      evidence as unknown as Evidence,
      policyFromJson(policy as PolicyJson),
    );
    return { verdict, score, riskLevel, sanctioned, reasonCodes };
  } catch (cause) {
    throw new AssayError('INVALID_FILE', `evidence: cannot be scored: ${messageOf(cause)}.`, { cause });
  }
}

/**
 * Replays a receipt. The graph is not walked again: exposures are part of the evidence.
 *
 * @param softwareVersion - of this program
 * @throws INVALID_FILE if the evidence is not of the kind of the receipt, or cannot be scored
 */
export function replay({ receipt, evidence, policy }: ReceiptContent, softwareVersion: string): ReplayReport {
  if (evidence.kind !== receipt.kind)
    throw new AssayError(
      'INVALID_FILE',
      `evidence: must be of the kind ${receipt.kind} (got ${JSON.stringify(evidence.kind)}).`,
    );
  const hashes = hashesOf({ evidence, policy });
  const isScored = !['NAMES', 'BULK', 'BATCH'].includes(String(evidence.kind));
  const found = isScored ? judgementOf(evidence, policy) : answerHash(evidence);
  const differences = differencesOf(receipt, { ...hashes, ...found });
  return {
    id: receipt.id,
    isEqual: differences.length === 0,
    differences,
    isScored,
    otherVersion: receipt.softwareVersion === softwareVersion ? null : receipt.softwareVersion,
  };
}

function answerHash(evidence: Values): Values {
  const { answer } = evidence as Partial<NamesEvidence | LinesEvidence>;
  return { answerSha256: canonicalSha256(answerOf(answer ?? {})) };
}
