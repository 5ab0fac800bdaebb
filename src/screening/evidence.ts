/**
 * The evidence of an answer as it entered its score: plain data that rescore.ts scores again years later. The graph itself is not part of
 * it: a walk gives exposures, and these are kept.
 */
import type { TransferReader } from '../graph/transfers.ts';
import type { Label } from '../labels/label.ts';
import type { ExposureEvidence } from '../risk/evidence.ts';
import type { UnfollowedPart } from '../risk/reasons.ts';
import type { Reason } from './answers.ts';
import type { Assessment } from './assess.ts';
import type { ExposureVerdict } from './exposure-port.ts';

/** State of the stored transfers of the chain. */
export interface GraphEvidence {
  /** Last stored block; null if the transfers came from files, or if none is stored. */
  readonly height: number | null;
  /** ISO time of the newest stored transfer; null if none is stored. */
  readonly asOf: string | null;
}

/** Evidence about one address, beside its labels. */
export interface PartyEvidence {
  /** Exposures of each reading of the money: with derived labels counted, then left out if that differs. */
  readonly readings: readonly (readonly ExposureEvidence[])[];
  readonly unfollowed: readonly UnfollowedPart[];
  /** Reasons that state facts and add no points. */
  readonly earlier: readonly Reason[];
  readonly suspected: readonly Reason[];
}

interface AnyEvidence {
  /** Labels of each address, in their order of precedence. */
  readonly labels: readonly (readonly Label[])[];
  /** Set if a sanctions list was missing or too old. */
  readonly staleReason: Reason | null;
}

export interface ScreeningEvidence extends AnyEvidence {
  readonly kind: 'SCREENING';
  /** ISO date of the request; null for now. */
  readonly asOf: string | null;
  readonly parties: readonly [PartyEvidence];
  /** Reasons for forged transfers and look-alike addresses, which add no points. */
  readonly spoofing: readonly Reason[];
  readonly graph: GraphEvidence;
}

export interface KytEvidence extends AnyEvidence {
  readonly kind: 'KYT';
  /** The address, or the sender and the receiver. */
  readonly parties: readonly [PartyEvidence, PartyEvidence?];
  /** Risky parties on paths from the sender to the receiver. */
  readonly between: readonly ExposureEvidence[];
  readonly graph: GraphEvidence;
}

export interface OracleEvidence extends AnyEvidence {
  readonly kind: 'ORACLE';
  /** The entry of the exposure index. */
  readonly entry: ExposureVerdict;
  readonly isSeen: boolean;
  readonly notRead: Reason | null;
  readonly graph: GraphEvidence;
}

export interface SanctionsEvidence extends AnyEvidence {
  readonly kind: 'SANCTIONS';
}

/** Evidence of an answer that is scored. */
export type Evidence = ScreeningEvidence | KytEvidence | OracleEvidence | SanctionsEvidence;

const partyOf = ({ readings, unfollowed, earlier, suspected }: Assessment): PartyEvidence => ({
  readings: readings.map(({ evidence }) => evidence.exposures),
  unfollowed,
  earlier,
  suspected,
});

function graphOf({ subject }: Assessment, transfers: Pick<TransferReader, 'coverage'>): GraphEvidence {
  const { lastBlock, asOf } = transfers.coverage(subject.chain);
  return { height: lastBlock, asOf };
}

/** Returns the evidence of a screening. */
export const screeningEvidence = (
  assessment: Assessment,
  { asOf, spoofing }: Pick<ScreeningEvidence, 'asOf' | 'spoofing'>,
  transfers: Pick<TransferReader, 'coverage'>,
): ScreeningEvidence => ({
  kind: 'SCREENING',
  asOf,
  labels: [assessment.labels],
  staleReason: assessment.staleReason,
  parties: [partyOf(assessment)],
  spoofing,
  graph: graphOf(assessment, transfers),
});

/** Returns the evidence of a KYT answer. */
export const kytEvidence = (
  assessments: readonly [Assessment] | readonly [Assessment, Assessment],
  between: readonly ExposureEvidence[],
  transfers: Pick<TransferReader, 'coverage'>,
): KytEvidence => ({
  kind: 'KYT',
  labels: assessments.map(({ labels }) => labels),
  staleReason: assessments[0].staleReason,
  parties:
    assessments.length === 1 ? [partyOf(assessments[0])] : [partyOf(assessments[0]), partyOf(assessments[1])],
  between,
  graph: graphOf(assessments[0], transfers),
});
