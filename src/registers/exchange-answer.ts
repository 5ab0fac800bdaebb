/** The answer about an exchange: its registrations with their history, its designations, and the registers that were read. */

import type { SanctionsList } from '../sources/index.ts';
import type { RegistrationStatus } from '../sources/registers/registration.ts';
import type { Closure, RegisterFacts, Restrictions, ShippedRegistration } from './catalogue.ts';
import type { CheckedRegister, Directory, Subject, SubjectRegistration } from './directory.ts';
import { statusOn } from './history.ts';
import type { NameKind } from './name-index.ts';
import { registerCovers, type Scope } from './regions.ts';

/** One status of a registration, with the dates of the first and the last file that give it. */
export interface StatusHistory {
  readonly status: RegistrationStatus;
  readonly firstSeen: string;
  readonly lastSeen: string;
  readonly registeredAs: string;
  readonly services: readonly string[];
  readonly passportedTo: readonly string[];
}

export interface RegistrationAnswer {
  readonly jurisdiction: string;
  readonly authority: string;
  readonly status: RegistrationStatus;
  readonly registrationId: string | null;
  readonly registeredAs: string;
  readonly legalName: string;
  /** Legal names that the firm had before, from older files of the register. */
  readonly formerNames: readonly string[];
  readonly lei: string | null;
  /** Id of a row in data/registers.json. */
  readonly register: string;
  /** The importer that read it, or `shipped`. */
  readonly source: string;
  readonly sourceUrl: string | null;
  readonly asOf: string;
  readonly verified: boolean;
  readonly registeredAt: string | null;
  readonly endedAt: string | null;
  /** Last day on which it can be valid, ISO date; null if no end is known. */
  readonly validUntil: string | null;
  readonly services: readonly string[];
  readonly passportedTo: readonly string[];
  readonly note: string | null;
  readonly history: readonly StatusHistory[];
}

/** A designation of the exchange, or of the party that operates it, on a sanctions list. */
export interface ExchangeDesignation {
  readonly list: SanctionsList;
  readonly authority: string;
  readonly entityName: string;
  /** The list's id of the entry. */
  readonly entityId: string;
  readonly program: string | null;
  readonly listedAt: string | null;
  /** Set if the designation is historical and not in force. */
  readonly delistedAt: string | null;
  readonly assetFreeze: boolean | null;
  readonly measures: readonly string[];
  readonly sourceUrl: string;
  /** `list`: the data comes from the imported list. `link`: the list was not imported. */
  readonly basis: 'list' | 'link';
  /** When the exchange was compared with the listed party. */
  readonly checkedAt: string;
  readonly verified: boolean;
}

/** A qualification of the answer. */
export interface StatusReason {
  readonly code: 'STALE_OR_MISSING_DATA';
  readonly severity: 'MEDIUM';
  readonly message: string;
}

export interface ExchangeStatus {
  readonly exchange: string;
  /** The name of the exchange that matched, and how well: 1 if letters and digits are equal. */
  readonly matched: {
    readonly by: NameKind;
    readonly value: string;
    readonly exact: boolean;
    readonly similarity: number;
  };
  /** Entity of the labels; null if no label names the exchange. */
  readonly entityId: string | null;
  readonly aliases: readonly string[];
  readonly legalEntities: readonly {
    readonly name: string;
    readonly lei: string | null;
    readonly jurisdiction: string | null;
    readonly verified: boolean;
  }[];
  readonly domains: readonly string[];
  readonly homeJurisdiction: string | null;
  /** When and why the exchange closed; null if it is not known to have closed. */
  readonly closed: Closure | null;
  /** True if a designation with an asset freeze is in force. */
  readonly sanctioned: boolean;
  /** Designations in force first. Empty if no link to a listed party is known. The jurisdiction filter does not apply. */
  readonly designations: readonly ExchangeDesignation[];
  /** Names the sanctions lists that are missing or too old: then `sanctioned: false` proves nothing. Empty if all are fresh. */
  readonly reasons: readonly StatusReason[];
  /** The filter as parsed; null without one. */
  readonly jurisdiction: string | null;
  readonly registrations: readonly RegistrationAnswer[];
  readonly totalRegistrations: number;
  readonly restrictedJurisdictions: readonly string[];
  /** Source and date of the exchange's own statement; null if nothing reliable is known. */
  readonly restrictions: Omit<Restrictions, 'jurisdictions'> | null;
  /**
   * Every register of the requested jurisdictions. A firm without a registration is not on a register only if `whole` is true; a
   * register with `source: null` has no row here, and is searched at its `url`.
   */
  readonly registersChecked: readonly CheckedRegister[];
  /** Registers of these jurisdictions without a known row: a missing registration there is no evidence. */
  readonly registersNotRead: readonly string[];
}

/** A designation with its label entity. */
export interface EntityDesignation extends ExchangeDesignation {
  readonly entity: string;
  readonly checkedBy: string;
}

/**
 * Returns the last day on which a shipped registration can be valid: its own end, or the end of its register's regime, whichever is
 * earlier.
 */
function lastDayOf(fact: ShippedRegistration, registers: readonly RegisterFacts[]): string | null {
  const ends = [fact.validUntil, registers.find(({ id }) => id === fact.register)?.validUntil];
  return ends.reduce<string | null>(
    (first, end) => (end === undefined || (first !== null && first <= end) ? first : end),
    null,
  );
}

function registrationAnswer(
  one: SubjectRegistration,
  registers: readonly RegisterFacts[],
  today: string,
): RegistrationAnswer {
  if (one.from === 'shipped') {
    const { fact } = one;
    const validUntil = lastDayOf(fact, registers);
    const isOver = validUntil !== null && validUntil < today;
    return {
      jurisdiction: fact.jurisdiction,
      authority: fact.authority,
      status: isOver ? 'WITHDRAWN' : fact.status,
      registrationId: fact.registrationId,
      registeredAs: fact.registeredAs,
      legalName: fact.legalName,
      formerNames: [],
      lei: null,
      register: fact.register,
      source: 'shipped',
      sourceUrl: fact.sourceUrl,
      asOf: fact.asOf,
      verified: fact.verified,
      registeredAt: fact.registeredAt,
      endedAt: isOver ? validUntil : null,
      validUntil,
      services: [],
      passportedTo: fact.passportedTo,
      note: fact.note ?? null,
      history: [],
    };
  }
  const { details, formerNames, spans, register, source, asOf, verified } = one;
  const last = spans.at(-1);
  if (last === undefined) throw new Error(`${details.legalName} is on ${register} without a status.`);
  return {
    jurisdiction: details.jurisdiction,
    authority: details.authority,
    status: statusOn(today, last),
    registrationId: details.registrationId,
    registeredAs: last.registeredAs,
    legalName: details.legalName,
    formerNames,
    lei: details.lei,
    register,
    source,
    sourceUrl: details.sourceUrl,
    asOf,
    verified,
    registeredAt: last.registeredAt,
    endedAt: last.endedAt,
    validUntil: last.endedAt,
    services: last.services,
    passportedTo: last.passportedTo,
    note: details.note,
    history: spans.map(({ status, firstSeen, lastSeen, registeredAs, services, passportedTo }) => ({
      status,
      firstSeen,
      lastSeen,
      registeredAs,
      services,
      passportedTo,
    })),
  };
}

/** The registers of a directory on one day. */
interface Coverage {
  readonly today: string;
  /** Those with rows first. */
  readonly all: readonly CheckedRegister[];
  /** Ids of those without rows. */
  readonly unread: readonly string[];
}

/** Every look-up needs the same 50 rows, so they are computed once for a directory and a day. */
const coverages = new WeakMap<Directory, Coverage>();

const isUnread = ({ source }: CheckedRegister): boolean => source === null;
const idOf = ({ id }: CheckedRegister): string => id;

function coverageOf(directory: Directory, registers: readonly RegisterFacts[], today: string): Coverage {
  const known = coverages.get(directory);
  if (known?.today === today) return known;
  const read = new Set(directory.checked.map(idOf));
  const unread = registers
    // If a regime has ended, its register is not missing.
    .filter(({ id, validUntil }) => !read.has(id) && !(validUntil !== undefined && validUntil < today))
    .map(
      ({ id, jurisdiction, url, access }): CheckedRegister => ({
        id,
        jurisdiction,
        asOf: null,
        records: 0,
        whole: false,
        source: null,
        url,
        access,
      }),
    );
  const coverage = { today, all: [...directory.checked, ...unread], unread: unread.map(idOf) };
  coverages.set(directory, coverage);
  return coverage;
}

/** Registers of the authority at the firm's own seat; other registers list firms, or warn of them, wherever they are based. */
const HOME_REGISTERS: ReadonlySet<string> = new Set(['esma-casp', 'esma-emt', 'esma-art']);

/** Sort order: registrations in force first, then by country, then by name. */
const STANDING: Readonly<Record<RegistrationStatus, number>> = {
  WARNING: 0,
  REVOKED: 1,
  AUTHORISED: 2,
  REGISTERED: 3,
  PENDING: 4,
  WITHDRAWN: 5,
};

/** What an answer is made from. */
export interface StatusFacts {
  readonly directory: Directory;
  readonly subject: Subject;
  readonly matched: ExchangeStatus['matched'];
  /** The country or region of the request; null for all. */
  readonly scope: Scope | null;
  readonly registers: readonly RegisterFacts[];
  /** ISO date. */
  readonly today: string;
  /** Designations of all entities. */
  readonly designations: readonly EntityDesignation[];
  /** `ExchangeStatus.reasons`. */
  readonly reasons: readonly StatusReason[];
}

/** Returns the status of an exchange in a country, a region, or everywhere. */
export function statusOf({
  directory,
  subject: { name, identity, registrations },
  matched,
  scope,
  registers,
  today,
  designations,
  reasons,
}: StatusFacts): ExchangeStatus {
  // A passported registration counts in the requested country; for a region, only registrations of its own countries count.
  const counts = ({ jurisdiction, passportedTo }: RegistrationAnswer): boolean =>
    scope === null ||
    scope.countries.has(jurisdiction) ||
    (!scope.region && passportedTo.includes(scope.code));
  const answers = registrations
    .map((one) => registrationAnswer(one, registers, today))
    .filter(counts)
    .sort(
      (a, b) =>
        STANDING[a.status] - STANDING[b.status] ||
        (a.jurisdiction < b.jurisdiction ? -1 : a.jurisdiction > b.jurisdiction ? 1 : 0) ||
        (a.legalName < b.legalName ? -1 : 1),
    );
  const covers = ({ jurisdiction }: { readonly jurisdiction: string }): boolean =>
    scope === null || registerCovers(jurisdiction, scope);
  const coverage = coverageOf(directory, registers, today);
  const restricted = identity?.restrictions ?? null;
  const details = registrations.flatMap((one) =>
    one.from === 'file'
      ? [
          {
            ...one.details,
            verified: one.verified,
            home: HOME_REGISTERS.has(one.register) ? one.details.jurisdiction : null,
          },
        ]
      : [],
  );
  const known = new Map(
    (identity?.legalEntities ?? []).map((entity) => [entity.lei ?? entity.name, entity] as const),
  );
  for (const { legalName, lei, home, verified } of details) {
    const key = lei ?? legalName;
    known.set(key, {
      name: legalName,
      lei,
      jurisdiction: home ?? known.get(key)?.jurisdiction ?? null,
      verified: verified || known.get(key)?.verified === true,
    });
  }
  const own = designations
    .filter(({ entity }) => entity === (identity?.entity ?? null))
    .map(({ entity: _, checkedBy: __, ...designation }): ExchangeDesignation => designation)
    .sort(
      (a, b) =>
        Number(a.delistedAt !== null) - Number(b.delistedAt !== null) ||
        (`${a.list} ${a.entityId}` < `${b.list} ${b.entityId}` ? -1 : 1),
    );
  return {
    exchange: name,
    matched,
    entityId: identity?.entity ?? null,
    aliases: identity?.aliases ?? [...new Set(details.flatMap((one) => one.tradeNames))],
    legalEntities: [...known.values()],
    domains: identity?.domains ?? [...new Set(details.flatMap((one) => one.domains))],
    homeJurisdiction:
      identity === null ? (details.find((one) => one.home)?.home ?? null) : identity.homeJurisdiction,
    closed: identity?.closed ?? null,
    sanctioned: own.some(({ delistedAt, assetFreeze }) => delistedAt === null && assetFreeze === true),
    designations: own,
    reasons,
    jurisdiction: scope?.code ?? null,
    registrations: answers,
    totalRegistrations: answers.length,
    restrictedJurisdictions: (restricted?.jurisdictions ?? []).filter(
      (code) => scope === null || scope.countries.has(code),
    ),
    restrictions:
      restricted === null
        ? null
        : { sourceUrl: restricted.sourceUrl, asOf: restricted.asOf, verified: restricted.verified },
    registersChecked: scope === null ? coverage.all : coverage.all.filter(covers),
    registersNotRead:
      scope === null ? coverage.unread : coverage.all.filter(isUnread).filter(covers).map(idOf),
  };
}
