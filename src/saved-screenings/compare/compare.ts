/** Compares two saved answers about the same addresses: what changed, and what it follows from. */
import { type SavedAnswer, savedAnswer } from '../answers.ts';
import { type JsonObject, numberOf, objectOf, rowsOf } from '../json.ts';
import type { ListVersion, SavedScreening } from '../records.ts';
import { type Change, changesOf, hasChanges, inWords, type RowChanges, rowChanges } from './rows.ts';
import { CAUSES, type Cause, compareScores, type ScoreComparison } from './score.ts';

/** A saved screening and its parsed answer. */
export interface SavedSide {
  readonly screening: SavedScreening;
  readonly answer: JsonObject;
}

/** A sanctions list with another version. */
export interface ListChange {
  readonly list: string;
  /** Null if the list was not known. */
  readonly before: Omit<ListVersion, 'list'> | null;
  readonly after: Omit<ListVersion, 'list'> | null;
}

export interface Comparison {
  readonly before: SavedAnswer;
  readonly after: SavedAnswer;
  /**
   * Whether the findings differ: score, verdict, entries of lists, labels, exposures, transfers, flags or parties. The data behind them may
   * be newer all the same.
   */
  readonly isChanged: boolean;
  /** The changed parts in words, in the order of `CAUSES`. */
  readonly causes: readonly { readonly cause: Cause; readonly message: string }[];
  readonly score: ScoreComparison;
  /** Fields of the verdict that differ: level, sanctions, decision, assessment. */
  readonly verdict: readonly Change[];
  readonly request: readonly Change[];
  readonly sanctions: RowChanges | null;
  readonly lists: readonly ListChange[];
  readonly labels: RowChanges | null;
  readonly exposures: RowChanges | null;
  /** Totals of the transfers of the address; null if a side does not have them. */
  readonly transfers: readonly Change[] | null;
  /** Of KYT. */
  readonly flags: RowChanges | null;
  readonly parties: readonly Change[] | null;
  /** Reasons of the verdict and qualifications of the answer. They follow from the other parts. */
  readonly reasons: RowChanges | null;
  readonly coverage: readonly Change[];
  /** Parts that a side does not have, or has cut to its `limit`: their changes are unknown, or those of the listed rows only. */
  readonly notCompared: readonly string[];
}

const LABEL_FIELDS = ['source', 'chain', 'entityId', 'name'];
const ENTRY_FIELDS = ['list', 'entityId', 'matchType'];
const EXPOSURE_FIELDS = ['direction', 'type', 'category', 'entity', 'asset'];
/** Answers of earlier versions do not name the label of an exposure, which is no difference. */
const EXPOSURE_LABEL = 'label';
const FLAG_FIELDS = ['code', 'party', 'direction', 'category', 'riskType', 'entity'];

const REASON_FIELDS = ['code', 'category', 'source'];

const VERDICT_FIELDS = ['riskLevel', 'sanctioned', 'decision', 'assessed', 'entity'];

const picked = (object: JsonObject, fields: readonly string[]): JsonObject =>
  Object.fromEntries(fields.filter((field) => field in object).map((field) => [field, object[field]]));

/** Lists of the answer that a comparison reads, by the names that the API has for them. */
const listsOf = (answer: JsonObject) => ({
  sanctions: rowsOf(objectOf(answer.sanctionsCheck).lists),
  labels: rowsOf(answer.entityLabels),
  exposures: rowsOf(answer.exposures),
  flags: rowsOf(answer.flags),
  reasons: rowsOf(answer.reasons),
});

function exposureChanges(
  before: readonly JsonObject[] | null,
  after: readonly JsonObject[] | null,
): RowChanges | null {
  const isNamed = [...(before ?? []), ...(after ?? [])].every((row) => EXPOSURE_LABEL in row);
  const bare = ({ [EXPOSURE_LABEL]: _, ...row }: JsonObject): JsonObject => row;
  const rows = (all: readonly JsonObject[] | null) => (isNamed || all === null ? all : all.map(bare));
  return rowChanges(rows(before), rows(after), EXPOSURE_FIELDS);
}

/** Totals of the transfers, as flat fields; null if the answer has none of them. */
function transfersOf(answer: JsonObject): JsonObject | null {
  const flow = objectOf(answer.transactionFlow);
  const link = objectOf(answer.link);
  const totals = (name: string, flowTotal: unknown): [string, unknown][] => {
    const total = objectOf(flowTotal);
    return 'txCount' in total
      ? [
          [`${name}.txCount`, total.txCount],
          [`${name}.valueUsd`, total.valueUsd],
        ]
      : [];
  };
  const fields = [
    ...('totalTransactions' in answer ? [['totalTransactions', answer.totalTransactions]] : []),
    ...totals('inflow', flow.inflow),
    ...totals('outflow', flow.outflow),
    ...totals('sent', link.sent),
    ...totals('returned', link.returned),
  ];
  return fields.length === 0 ? null : Object.fromEntries(fields);
}

/** The parties of a KYT answer, as flat fields; null for a screening. */
function partiesOf(answer: JsonObject): JsonObject | null {
  const parties = ['from', 'to', 'address'].filter((name) => typeof answer[name] === 'object');
  if (parties.length === 0) return null;
  return Object.fromEntries(
    parties.flatMap((name) => {
      const { sanctioned, entity } = objectOf(answer[name]);
      return [
        [`${name}.sanctioned`, sanctioned],
        [`${name}.entity`, entity],
      ];
    }),
  );
}

/** Parts of the coverage whose `asOf` is the age of stored data; that of the others is the time at which a request read them. */
const STORED_PARTS = new Set(['labels', 'graph', 'sanctions']);

/** The coverage of an answer, without times that differ between any two requests. */
function coverageOf(answer: JsonObject): JsonObject {
  const parts = Object.entries(objectOf(answer.coverage)).map(([part, value]): [string, JsonObject] => {
    const { asOf, ...entry } = objectOf(value);
    return [part, STORED_PARTS.has(part) ? { ...entry, asOf } : entry];
  });
  return Object.fromEntries(parts);
}

function listChanges(before: readonly ListVersion[], after: readonly ListVersion[]): readonly ListChange[] {
  const versionOf = (lists: readonly ListVersion[], name: string): ListChange['before'] => {
    const list = lists.find((one) => one.list === name);
    return list === undefined ? null : { publishedAt: list.publishedAt, checkedAt: list.checkedAt };
  };
  return [...new Set([...before, ...after].map(({ list }) => list))]
    .map((list) => ({ list, before: versionOf(before, list), after: versionOf(after, list) }))
    .filter(
      ({ before: old, after: current }) =>
        old?.publishedAt !== current?.publishedAt || old?.checkedAt !== current?.checkedAt,
    );
}

/** Names the lists of an answer that its `limit` cut. */
function cutLists({ screening, answer }: SavedSide): string[] {
  const limit = numberOf(screening.request.limit);
  if (limit === null) return [];
  const { labels, exposures } = listsOf(answer);
  return [
    ...(labels !== null && labels.length >= limit ? ['labels'] : []),
    ...(exposures !== null && exposures.length >= limit ? ['exposures'] : []),
  ];
}

/** Compares two objects of which one may be missing. */
const flatChanges = (before: JsonObject | null, after: JsonObject | null): readonly Change[] | null =>
  before === null || after === null ? null : changesOf(before, after);

const versionMessage = (what: string, before: string, after: string): string =>
  `${what} changed from ${before} to ${after}.`;

/**
 * Lists fields with both of their values, such as `asOf from (not set) to 2026-03-01`.
 *
 * @param missing - what the value of a side means that does not have it
 */
const withValues = (changes: readonly Change[], missing: string): string => {
  const text = (value: unknown): string =>
    value === null ? `(${missing})` : typeof value === 'string' ? value : JSON.stringify(value);
  return changes
    .map(({ field, before, after }) => `${field} from ${text(before)} to ${text(after)}`)
    .join(', ');
};

/** Parts of a comparison from which its causes follow. */
type Parts = Pick<
  Comparison,
  | 'before'
  | 'after'
  | 'request'
  | 'sanctions'
  | 'lists'
  | 'labels'
  | 'exposures'
  | 'transfers'
  | 'flags'
  | 'parties'
  | 'coverage'
>;

/** Returns the sentence of each cause that applies. */
function messagesOf(parts: Parts): ReadonlyMap<Cause, string> {
  const { before, after, request, sanctions, lists, labels, exposures, transfers, flags, parties, coverage } =
    parts;
  const messages = new Map<Cause, string>();
  const note = (cause: Cause, applies: boolean, message: () => string): void => {
    if (applies) messages.set(cause, message());
  };
  const rows = (cause: Cause, changes: RowChanges | null, what: string): void =>
    note(cause, hasChanges(changes), () => `${what}: ${inWords(changes as RowChanges)}.`);
  const names = (changes: readonly Change[]): string => changes.map(({ field }) => field).join(', ');
  note('REQUEST', request.length > 0, () => `The requests differ: ${withValues(request, 'not set')}.`);
  note('POLICY', before.policyVersion !== after.policyVersion, () =>
    versionMessage('The risk policy', before.policyVersion, after.policyVersion),
  );
  rows('SANCTIONS', sanctions, 'Entries of sanctions lists');
  rows('LABELS', labels, 'Labels of the address');
  note(
    'TRANSFERS',
    transfers !== null && transfers.length > 0,
    () => `Known transfers changed: ${withValues(transfers ?? [], 'not known')}.`,
  );
  note('EXPOSURE', hasChanges(exposures), () => {
    const words = `Exposures: ${inWords(exposures as RowChanges)}.`;
    const isSameFlow = transfers !== null && transfers.length === 0;
    return isSameFlow
      ? `${words} The totals of the transfers are the same, so labels of counterparties or the policy changed.`
      : words;
  });
  note(
    'PARTIES',
    parties !== null && parties.length > 0,
    () => `The parties changed: ${names(parties ?? [])}.`,
  );
  rows('FLAGS', flags, 'Flags');
  note(
    'LISTS',
    lists.length > 0,
    () => `Lists were published or checked again: ${lists.map(({ list }) => list).join(', ')}.`,
  );
  note('COVERAGE', coverage.length > 0, () => `The coverage changed: ${names(coverage)}.`);
  note('DATA', before.dataVersion !== after.dataVersion, () =>
    versionMessage('The label snapshot', before.dataVersion, after.dataVersion),
  );
  note('SOFTWARE', before.softwareVersion !== after.softwareVersion, () =>
    versionMessage('The program', before.softwareVersion, after.softwareVersion),
  );
  return messages;
}

/** Causes that are findings about the addresses; the others are about the data and the program. */
const FINDINGS: readonly Cause[] = ['SANCTIONS', 'LABELS', 'TRANSFERS', 'EXPOSURE', 'PARTIES', 'FLAGS'];

/** Parts that only one kind of answer has. */
const PARTS_OF_KIND = {
  SCREENING: ['sanctions', 'labels', 'exposures', 'transfers'],
  KYT: ['flags', 'parties'],
} as const;

/** Compares two answers. The caller has checked that they are of one kind and about the same addresses. */
export function compareAnswers(first: SavedSide, second: SavedSide): Comparison {
  const [old, current] = [listsOf(first.answer), listsOf(second.answer)];
  const parts: Parts = {
    before: savedAnswer(first.screening),
    after: savedAnswer(second.screening),
    request: changesOf(first.screening.request, second.screening.request),
    sanctions: rowChanges(old.sanctions, current.sanctions, ENTRY_FIELDS),
    lists: listChanges(first.screening.lists, second.screening.lists),
    labels: rowChanges(old.labels, current.labels, LABEL_FIELDS),
    exposures: exposureChanges(old.exposures, current.exposures),
    transfers: flatChanges(transfersOf(first.answer), transfersOf(second.answer)),
    flags: rowChanges(old.flags, current.flags, FLAG_FIELDS),
    parties: flatChanges(partiesOf(first.answer), partiesOf(second.answer)),
    coverage: changesOf(coverageOf(first.answer), coverageOf(second.answer)),
  };
  const messages = messagesOf(parts);
  const side = ({ screening, answer }: SavedSide) => ({
    score: screening.riskScore,
    rows: rowsOf(answer.scoreBreakdown),
  });
  const score = compareScores(side(first), side(second), new Set(messages.keys()));
  const verdict = changesOf(picked(first.answer, VERDICT_FIELDS), picked(second.answer, VERDICT_FIELDS));
  const missing = PARTS_OF_KIND[first.screening.kind].filter((part) => parts[part] === null);
  return {
    ...parts,
    isChanged: verdict.length > 0 || score.difference !== 0 || FINDINGS.some((cause) => messages.has(cause)),
    causes: CAUSES.flatMap((cause) => {
      const message = messages.get(cause);
      return message === undefined ? [] : [{ cause, message }];
    }),
    score,
    verdict,
    reasons: rowChanges(old.reasons, current.reasons, REASON_FIELDS),
    notCompared: [...new Set([...missing, ...cutLists(first), ...cutLists(second)])],
  };
}
