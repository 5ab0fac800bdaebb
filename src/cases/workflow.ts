/**
 * The states of a case, and the only function that changes them. A case is closed by a decision: a disposition with a reason code. With
 * the four-eyes rule, one person proposes it and another one approves it.
 */
import { AssayError } from '../base/errors.ts';

export const CASE_STATUSES = ['OPEN', 'IN_REVIEW', 'ESCALATED', 'CLOSED'] as const;
export type CaseStatus = (typeof CASE_STATUSES)[number];

export const DISPOSITIONS = ['NO_ACTION', 'FALSE_POSITIVE', 'RESTRICTED', 'REPORTED', 'EXITED'] as const;
export type Disposition = (typeof DISPOSITIONS)[number];

/** Steps of a decision. */
export const DECISION_ACTIONS = ['PROPOSE', 'APPROVE', 'REJECT'] as const;
export type DecisionAction = (typeof DECISION_ACTIONS)[number];

/** A decision that waits for the approval of another person. */
export interface Proposal {
  /** Sequence number of its event. */
  readonly event: number;
  readonly disposition: Disposition;
  readonly reasonCode: string;
  readonly by: string;
  /** Identity of the proposer, compared by the four-eyes rule. */
  readonly identity: string;
}

/** The state of a case. */
export type CaseState =
  | { readonly status: 'OPEN' | 'ESCALATED'; readonly proposal: null; readonly outcome: null }
  | { readonly status: 'IN_REVIEW'; readonly proposal: Proposal | null; readonly outcome: null }
  | { readonly status: 'CLOSED'; readonly proposal: null; readonly outcome: Outcome };

/** The decision that closed a case. */
export interface Outcome {
  readonly disposition: Disposition;
  readonly reasonCode: string;
  readonly closedAtMs: number;
  readonly decidedBy: string;
  /** Null without the four-eyes rule. */
  readonly approvedBy: string | null;
}

/** A step of a decision, as its event records it. */
export interface Decision {
  readonly action: DecisionAction;
  readonly disposition: Disposition;
  readonly reasonCode: string;
  /** Sequence number of the event that proposed it; of this event, if it is the proposal. */
  readonly proposal: number;
  /** Whether the step closed the case. */
  readonly isFinal: boolean;
}

/** A requested change of the state. */
export type CaseMove =
  | { readonly kind: 'STATUS'; readonly status: CaseStatus }
  | { readonly kind: 'PROPOSE'; readonly disposition: Disposition; readonly reasonCode: string }
  | { readonly kind: 'APPROVE' | 'REJECT'; readonly proposal: number };

export interface MoveContext {
  readonly fourEyes: boolean;
  /** Sequence number of the event of the move. */
  readonly event: number;
  readonly by: string;
  readonly identity: string;
  readonly nowMs: number;
}

export interface Moved {
  readonly state: CaseState;
  /** Null for a change of the status alone. */
  readonly decision: Decision | null;
}

export const NEW_STATE: CaseState = { status: 'OPEN', proposal: null, outcome: null };

/** Changes of the status alone. CLOSED is reached by a decision; a closed case can only be opened again. */
const TRANSITIONS: Readonly<Record<CaseStatus, readonly Exclude<CaseStatus, 'CLOSED'>[]>> = {
  OPEN: ['IN_REVIEW', 'ESCALATED'],
  IN_REVIEW: ['OPEN', 'ESCALATED'],
  ESCALATED: ['OPEN', 'IN_REVIEW'],
  CLOSED: ['OPEN'],
};

const refuse = (field: string, message: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${message}`, { field });

/** Throws INVALID_REQUEST if a closed case does not accept a change. */
export function requireNotClosed({ status }: CaseState, field: string): void {
  if (status === 'CLOSED')
    throw refuse(field, 'the case is closed; set its status to OPEN first. Only notes can be added.');
}

function withStatus(state: CaseState, status: CaseStatus): CaseState {
  if (status === state.status) return state;
  if (status === 'CLOSED')
    throw refuse('status', 'a case is closed by a decision: POST /cases/{id}/events with the type DECISION.');
  const allowed = TRANSITIONS[state.status];
  if (!allowed.includes(status))
    throw refuse('status', `must be one of ${allowed.join(', ')} (the case is ${state.status}).`);
  if (state.proposal !== null)
    throw refuse(
      'status',
      `the decision of event ${state.proposal.event} waits for approval; approve or reject it first.`,
    );
  return { status, proposal: null, outcome: null };
}

function closed(
  { disposition, reasonCode, by }: Pick<Proposal, 'disposition' | 'reasonCode' | 'by'>,
  { nowMs }: MoveContext,
  approvedBy: string | null,
): CaseState {
  return {
    status: 'CLOSED',
    proposal: null,
    outcome: { disposition, reasonCode, closedAtMs: nowMs, decidedBy: by, approvedBy },
  };
}

/**
 * Returns the state of a case after a move.
 *
 * @throws INVALID_REQUEST if the state does not allow the move; FORBIDDEN if the person who proposed a decision approves it
 */
export function moved(state: CaseState, move: CaseMove, context: MoveContext): Moved {
  if (move.kind === 'STATUS') return { state: withStatus(state, move.status), decision: null };
  requireNotClosed(state, 'decision');
  const { fourEyes, event, by, identity } = context;
  const { proposal } = state;
  if (move.kind === 'PROPOSE') {
    const { disposition, reasonCode } = move;
    if (proposal !== null)
      throw refuse(
        'decision',
        `the decision of event ${proposal.event} waits for approval; approve or reject it first.`,
      );
    const decision = { action: move.kind, disposition, reasonCode, proposal: event, isFinal: !fourEyes };
    const proposed = { event, disposition, reasonCode, by, identity };
    if (!fourEyes) return { state: closed(proposed, context, null), decision };
    return { state: { status: 'IN_REVIEW', proposal: proposed, outcome: null }, decision };
  }
  if (proposal === null) throw refuse('decision.action', 'no decision waits for approval.');
  if (proposal.event !== move.proposal)
    throw refuse('decision.proposal', `the decision of event ${proposal.event} waits for approval.`);
  const { disposition, reasonCode } = proposal;
  const decision = { action: move.kind, disposition, reasonCode, proposal: proposal.event };
  if (move.kind === 'REJECT')
    return {
      state: { status: 'IN_REVIEW', proposal: null, outcome: null },
      decision: { ...decision, isFinal: false },
    };
  if (proposal.identity === identity)
    throw new AssayError(
      'FORBIDDEN',
      'decision: the four-eyes rule requires the approval of another person than the one who proposed the decision. Keys that were created by the same key or by a session of the account count as one person.',
      { field: 'decision' },
    );
  return { state: closed(proposal, context, by), decision: { ...decision, isFinal: true } };
}
