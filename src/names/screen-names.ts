/** Screens names: for each name its matches of every list type, their evidence, and whether they were cleared. */
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { ListCatalogue } from '../sources/lists.ts';
import type { PublishedNames } from './build-names.ts';
import type { ClearedEntity } from './cleared.ts';
import { NAME_LIMITS } from './limits.ts';
import { coverageOf, type NameReason, type NamesCoverage, reasonsOf } from './lists-coverage.ts';
import {
  type MatchReason,
  NAME_LIST_TYPES,
  type NameListType,
  type NameMatch,
  type NameQuery,
} from './name.ts';
import { PARTS_MAX } from './name-parts.ts';
import { parseName } from './parse.ts';

/** Minimum confidence of a match. */
export const NAME_THRESHOLD = 0.7;

export interface NameRequest extends NameQuery {
  /** The matches of this name that the account has cleared. */
  readonly cleared?: readonly ClearedEntity[];
  /** Minimum confidence of the matches returned. Default 0.7. */
  readonly threshold?: number;
  /** Maximum number of matches returned of each list type. Default 5. */
  readonly limit?: number;
  /** False: the matches have no `explanation`. Default true. */
  readonly explain?: boolean;
}

export interface TopMatch {
  /** The entity's primary name. */
  readonly name: string;
  /** Calibrated, 0 to 1: the share of matches with this confidence that are right. */
  readonly confidence: number;
  /** Id of the list. */
  readonly source: string;
  readonly listType: NameListType;
  readonly entityId: string;
  readonly schema: NameMatch['schema'];
  readonly matchedName: string;
  /** The publisher marks the matched name as weak. */
  readonly weakAlias: boolean;
  /** Only one name of several matches, or a person's only name. The confidence is then at most 0.8. */
  readonly partial: boolean;
  readonly countries: readonly string[];
  /** The first of `birthDates`. */
  readonly birthDate: string | null;
  readonly birthDates: readonly string[];
  readonly programs: readonly string[];
  readonly listedAt: string | null;
  readonly sourceUrl: string | null;
  readonly explanation: readonly MatchReason[];
  /** False: the list ships with the product and was not checked against a publisher's file. */
  readonly verified: boolean;
  /** The account has reviewed and cleared this match, and the entity has not changed since. */
  readonly cleared: boolean;
  /** Fingerprint that changes with the entity. */
  readonly entityVersion: string;
}

export interface NameResult {
  readonly name: string;
  /** At most `nameMatchesPerListType` of each list type, best first. */
  readonly topMatches: readonly TopMatch[];
  /** Total number of matches, at most `nameMatchesMax`. */
  readonly totalMatches: number;
}

export interface NamesAnswer {
  /** In the order of the request. */
  readonly results: readonly NameResult[];
  readonly creditsUsed: number;
  readonly coverage: NamesCoverage;
  /** Reasons why the response is not complete. */
  readonly reasons: readonly NameReason[];
  /** Version of the index that was used. */
  readonly dataVersion: string;
}

export interface NameScreeningDeps {
  readonly names: () => PublishedNames;
  readonly clock: Clock;
  readonly listMaxAgeDays: number;
  /** The sanctions lists that a complete response requires. Default: LISTS. */
  readonly lists?: Pick<ListCatalogue, 'required'>;
}

export type NameScreening = (requests: readonly NameRequest[]) => NamesAnswer;

/** Creates the screening; it reads the present index for each call. */
export function createNameScreening(deps: NameScreeningDeps): NameScreening {
  return (requests) => {
    const published = deps.names();
    const lists = published.lists();
    const unverified = new Set(lists.filter((row) => !row.verified).map((row) => row.list));
    const coverage = coverageOf(lists, deps.clock.now(), deps.listMaxAgeDays, deps.lists);
    return {
      results: requests.map((request) => screenOne(request, published, unverified)),
      creditsUsed: requests.length,
      coverage,
      reasons: reasonsOf(coverage),
      dataVersion: published.index.meta.version,
    };
  };
}

function screenOne(
  request: NameRequest,
  published: PublishedNames,
  unverified: ReadonlySet<string>,
): NameResult {
  const {
    cleared = [],
    threshold = NAME_THRESHOLD,
    limit = NAME_LIMITS.nameMatchesPerListType,
    explain = true,
    ...query
  } = request;
  const matches = published.index.match(query, {
    limit: NAME_LIMITS.nameMatchesMax,
    threshold,
  });
  const top = NAME_LIST_TYPES.flatMap((listType) =>
    matches.filter((match) => match.listType === listType).slice(0, limit),
  ).sort((a, b) => matches.indexOf(a) - matches.indexOf(b));
  return {
    name: request.name,
    topMatches: top.map((match) => {
      const { list, entityId } = match;
      const entityVersion = published.fingerprints.of(list, entityId) ?? '';
      return {
        name: match.primaryName,
        confidence: match.score,
        source: list,
        listType: match.listType,
        entityId,
        schema: match.schema,
        matchedName: match.matchedName,
        weakAlias: match.weak,
        partial: match.partial,
        countries: match.countries,
        birthDate: match.birthDates[0] ?? null,
        birthDates: match.birthDates,
        programs: match.programs,
        listedAt: match.listedAt,
        sourceUrl: match.sourceUrl,
        explanation: explain ? match.explanation : [],
        verified: !unverified.has(list),
        cleared: cleared.some(
          (one) => one.list === list && one.entityId === entityId && one.entityVersion === entityVersion,
        ),
        entityVersion,
      };
    }),
    totalMatches: matches.length,
  };
}

/**
 * Checks a name for screening.
 *
 * @param field Its position in the request (`names[3].name`).
 * @throws INVALID_REQUEST for a name that no list could match: empty, with control characters or invalid Unicode, without a
 * letter or digit, longer than `screenedNameCharsMax` characters, or with more words than are compared: a listed name behind them would
 * not be found.
 */
export function requireName(name: string, field: string): void {
  const fault = faultOf(name);
  if (fault !== null) throw new AssayError('INVALID_REQUEST', `${field}: ${fault}.`, { field });
}

function faultOf(name: string): string | null {
  if (name.trim() === '') return 'is empty';
  if (name.length > NAME_LIMITS.screenedNameCharsMax)
    return `must have at most ${NAME_LIMITS.screenedNameCharsMax} characters`;
  if (/\p{Cc}/u.test(name)) return 'contains a control character';
  if (/\p{Cs}/u.test(name)) return 'is not valid Unicode';
  if (!/[\p{L}\p{N}]/u.test(name)) return 'must contain a letter or a digit';
  if (mayBeCut(name) && parseName(name).isCut) return `must have at most ${PARTS_MAX} words`;
  return null;
}

const BETWEEN_WORDS =
  /[^\p{L}\p{N}\p{M}]+|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;

/** A word that is written as one may be read as two, and a character of Chinese is a word. */
function mayBeCut(name: string): boolean {
  if (name.length < PARTS_MAX) return false;
  return 2 * ((name.match(BETWEEN_WORDS)?.length ?? 0) + 1) > PARTS_MAX;
}
