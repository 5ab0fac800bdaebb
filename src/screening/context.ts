/**
 * The context of an answer besides the address: the snapshot, the freshness of the lists, and the parts of answers that depend
 * only on these. It is built once and reused until one of them changes.
 */
import { isoTime } from '../base/clock.ts';
import type { ListFreshness } from '../labels/freshness.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import type { Coverage, CoverageEntry, Reason } from './answers.ts';
import type { LabelDeps } from './deps.ts';

export interface LabelContext {
  readonly reader: LabelReader;
  readonly freshness: ListFreshness;
  /** The oldest check among the loaded lists, ISO 8601 UTC; null if no list is loaded. */
  readonly sanctionsAsOf: string | null;
  /** Coverage of an answer that reads only labels. */
  readonly coverage: Coverage;
  /** Set if one of the five list groups is missing or too old. */
  readonly staleReason: Reason | null;
}

export const NOT_READ: CoverageEntry = { status: 'NONE', asOf: null };

/** The freshness of lists changes by the hour. Checking it once a second adds no cost to a request. */
const LOOK_AGAIN_MS = 1_000;
const DAY_MS = 86_400_000;
/** The source that ships with the product: a few hundred facts, too few for COMPLETE label coverage. */
const SEED = 'seed';

/**
 * Returns COMPLETE if publishers' files are imported and the newest import is within its maximum age. The shipped seed alone is
 * PARTIAL.
 */
function labelCoverage(reader: LabelReader, now: number, maxAgeDays: number): CoverageEntry {
  const { sources } = reader.meta;
  const newest = (among: typeof sources): string | null =>
    among.reduce<string | null>(
      (latest, { importedAt }) => (latest === null || importedAt > latest ? importedAt : latest),
      null,
    );
  const imported = newest(sources.filter((source) => source.id !== SEED && source.labels > 0));
  if (imported === null) {
    const seeded = newest(sources.filter((source) => source.labels > 0));
    return seeded === null ? NOT_READ : { status: 'PARTIAL', asOf: seeded };
  }
  const isFresh = now - Date.parse(imported) <= maxAgeDays * DAY_MS;
  return { status: isFresh ? 'COMPLETE' : 'PARTIAL', asOf: imported };
}

/**
 * Returns a date or time as ISO time. A list that was imported by hand has the date of its publication, which may have no time.
 */
export const asTime = (text: string | null): string | null => text && isoTime(Date.parse(text));

function sanctionsCoverage(freshness: ListFreshness): CoverageEntry {
  if (freshness.asOf === null) return NOT_READ;
  return { status: freshness.complete ? 'COMPLETE' : 'PARTIAL', asOf: asTime(freshness.asOf) };
}

/** Returns the reason that names each old or missing list; null if all lists are fresh. Operators get the commands from `/ready`. */
export function staleReasonOf(freshness: ListFreshness): Reason | null {
  if (freshness.complete) return null;
  const named = freshness.staleLists.map(({ list, checkedAt }) =>
    checkedAt === null ? `${list} (never loaded)` : `${list} (last checked ${asTime(checkedAt)})`,
  );
  return {
    code: 'STALE_OR_MISSING_DATA',
    severity: 'MEDIUM',
    category: 'UNKNOWN',
    message: `Sanctions lists are missing or older than their maximum age: ${named.join(', ')}. A clean answer needs all of them.`,
    source: null,
    verified: true,
  };
}

/**
 * Returns a function that gives the current context. It returns the same object until something in the context changes, so that
 * text rendered from it stays valid until another object is returned. A caller that has read the clock passes its time.
 */
export function createLabelContext(deps: LabelDeps): (nowMs?: number) => LabelContext {
  let context: LabelContext | null = null;
  let facts = '';
  let lookedAt = 0;
  return (now = deps.clock.now()) => {
    const reader = deps.labels.current;
    if (context !== null && context.reader === reader && Math.abs(now - lookedAt) < LOOK_AGAIN_MS)
      return context;
    lookedAt = now;
    const freshness = deps.freshness();
    const labels = labelCoverage(reader, now, deps.policy.labelsMaxAgeDays);
    const seen = JSON.stringify([freshness, labels]);
    if (context !== null && context.reader === reader && seen === facts) return context;
    facts = seen;
    context = {
      reader,
      freshness,
      sanctionsAsOf: asTime(freshness.asOf),
      coverage: {
        labels,
        graph: NOT_READ,
        balances: NOT_READ,
        history: NOT_READ,
        sanctions: sanctionsCoverage(freshness),
      },
      staleReason: staleReasonOf(freshness),
    };
    return context;
  };
}
