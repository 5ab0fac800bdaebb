/**
 * GET /exchange-status: finds the exchange, its registrations and their history, and the registers that were read. Responses come from
 * memory; a new import is loaded between responses.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { SanctionsList } from '../sources/index.ts';
import type { RegistrationStatus } from '../sources/registers/registration.ts';
import { hostOf, readLei } from '../sources/registers/registration.ts';
import {
  type Closure,
  type ExchangeIdentity,
  loadExchanges,
  loadRegisterFacts,
  type RegisterFacts,
  type Restrictions,
  type ShippedRegistration,
} from './catalogue.ts';
import {
  buildDirectory,
  type CheckedRegister,
  type Directory,
  type Subject,
  type SubjectRegistration,
} from './directory.ts';
import { REGISTER_LIMITS } from './limits.ts';
import {
  foldName,
  foldWithoutForm,
  type IndexedName,
  isDistinctive,
  isTypo,
  type NameKind,
} from './name-index.ts';
import { parseScope, registerCovers, type Scope } from './regions.ts';
import { loadShippedRegisters } from './shipped.ts';
import type { RegisterStore } from './store.ts';

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

/** Returns the status of an exchange. Throws NOT_FOUND with the nearest names, INVALID_REQUEST for an invalid name or jurisdiction. */
export type ExchangeStatusQuery = (name: string, jurisdiction: string | undefined) => ExchangeStatus;

export interface ExchangeStatuses {
  readonly answer: ExchangeStatusQuery;
  /** Returns the JSON of `answer` as bytes, cached for further equal queries. */
  readonly answerBytes: (name: string, jurisdiction: string | undefined) => Buffer;
  /**
   * Loads new imports in slices between responses. If an import cannot be read, the old state remains and the error is logged. If there is
   * no old state, the error of the store is thrown.
   */
  refresh(): Promise<void>;
  /**
   * Like `refresh`, but if nothing was imported and nothing was queried, it leaves what ships to the first query or `refresh`. It throws the
   * error of an import once.
   */
  refreshImported(): Promise<void>;
}

/** A designation with its label entity. */
export interface EntityDesignation extends ExchangeDesignation {
  readonly entity: string;
  readonly checkedBy: string;
}

const NO_DESIGNATIONS: readonly EntityDesignation[] = [];

/** The stamp of a store without a catalogue. */
const NOTHING_IMPORTED = '';

/** Nearest names that a 404 lists. */
const NEAREST = 5;

/** Opens the directory at the first query or refresh. */
export function createExchangeStatuses(deps: {
  readonly store: RegisterStore;
  readonly log: Logger;
  readonly clock: Clock;
  /** Returns the designations of entities in the current snapshot; the same array while they are unchanged. Omitted if none is known. */
  readonly designations?: () => readonly EntityDesignation[];
}): ExchangeStatuses {
  const { store, log, clock } = deps;
  const today = (): string => isoTime(clock.now()).slice(0, 10);
  const designationsNow = deps.designations ?? (() => NO_DESIGNATIONS);
  let cachedFor: readonly EntityDesignation[] = NO_DESIGNATIONS;
  let shipped: Parameters<typeof buildDirectory>[0] | null = null;
  let current: Directory | null = null;
  let stamp = '';
  let refreshing = false;
  /** The stamp of an import that could not be read, for which there is no old state. */
  let refused = NOTHING_IMPORTED;
  let cache = new Map<string, Buffer>();

  function steps(): Generator<void, Directory> {
    if (shipped === null) {
      const registers = loadRegisterFacts();
      shipped = { registers, exchanges: loadExchanges(registers), shipped: loadShippedRegisters(registers) };
    }
    return buildDirectory(shipped, store);
  }

  function publish(directory: Directory, from: string): Directory {
    current = directory;
    stamp = from;
    cache = new Map();
    return directory;
  }

  function now(): Directory {
    if (current !== null) return current;
    const from = store.stamp();
    const building = steps();
    for (let step = building.next(); ; step = building.next()) {
      if (step.done === true) return publish(step.value, from);
    }
  }

  const answer: ExchangeStatusQuery = (name, jurisdiction) => {
    const directory = now();
    const scope = jurisdiction === undefined ? null : parseScope(jurisdiction);
    const found = find(directory, name);
    return statusOf(
      directory,
      withNamesakes(directory, found),
      found.matched,
      scope,
      shipped?.registers ?? [],
      today(),
      designationsNow(),
    );
  };

  async function refresh(): Promise<void> {
    if (refreshing) return;
    refreshing = true;
    let from = stamp;
    try {
      from = store.stamp();
      if (current !== null && from === stamp) return;
      const building = steps();
      for (let step = building.next(); ; step = building.next()) {
        if (step.done === true) {
          publish(step.value, from);
          return;
        }
        await turn();
      }
    } catch (error) {
      if (current === null) throw error;
      // Retried only after the next import: the broken data does not change before that.
      stamp = from;
      log.error({ reason: messageOf(error) }, 'registers could not be read, using the previous state');
    } finally {
      refreshing = false;
    }
  }

  return {
    answer,
    answerBytes(name, jurisdiction) {
      const directory = now();
      const designations = designationsNow();
      if (designations !== cachedFor) cache = new Map();
      cachedFor = designations;
      // The day is part of the key, because registrations end on a day.
      const key = `${today()}\n${jurisdiction ?? ''}\n${name}`;
      const known = cache.get(key);
      if (known !== undefined) return known;
      const bytes = Buffer.from(JSON.stringify(answer(name, jurisdiction)));
      if (cache.size >= REGISTER_LIMITS.exchangeAnswersKept) cache.clear();
      if (directory === current) cache.set(key, bytes);
      return bytes;
    },
    refresh,
    async refreshImported() {
      const from = store.stamp();
      if (current === null && (from === NOTHING_IMPORTED || from === refused)) return;
      try {
        await refresh();
      } catch (error) {
        refused = from;
        throw error;
      }
    },
  };
}

interface Found {
  readonly subject: number;
  readonly matched: ExchangeStatus['matched'];
  /** All names that are the matched one; none for a match by LEI or domain, which identifies a single firm. */
  readonly namesakes: readonly IndexedName[];
}

const isNameOf = (identity: ExchangeIdentity, text: string): boolean => {
  const folded = foldWithoutForm(text);
  const legalNames = identity.legalEntities.map(({ name }) => name);
  return [identity.name, ...identity.aliases, ...legalNames].some((name) => foldWithoutForm(name) === folded);
};

/**
 * Returns the name that identifies best: that of an exchange itself, or else of a firm that is known by it, or else the first. A name that
 * only a register gives to an exchange may be that of its group (`Ripple`).
 */
const bestOf = (
  { subjects }: Directory,
  names: readonly IndexedName[],
  text: string,
): IndexedName | undefined =>
  names.find(({ subject }) => {
    const identity = subjects[subject]?.identity ?? null;
    return identity !== null && isNameOf(identity, text);
  }) ??
  names.find(({ subject }) => foldName(subjects[subject]?.name ?? '') === foldName(text)) ??
  names[0];

/**
 * Returns a firm with the registrations of all firms of the same name. They need not be one firm, but a name does not show which one is
 * meant, and a registration must not be missing because another firm was found first. To an exchange, only firms that are known to be its
 * own are joined: a clone has its name too.
 */
function withNamesakes({ subjects }: Directory, { subject, namesakes }: Found): Subject {
  const found = subjects[subject] as Subject;
  if (found.identity !== null) return found;
  const all = new Set([subject, ...namesakes.map((one) => one.subject)]);
  return all.size === 1
    ? found
    : { ...found, registrations: [...all].flatMap((one) => subjects[one]?.registrations ?? []) };
}

function find(directory: Directory, text: string): Found {
  const name = text.trim();
  if (name === '' || name.length > REGISTER_LIMITS.exchangeNameMax) {
    throw new AssayError(
      'INVALID_REQUEST',
      `name: must have 1 to ${REGISTER_LIMITS.exchangeNameMax} characters.`,
      {
        field: 'name',
      },
    );
  }
  const exactly = (by: NameKind, value: string, subject: number): Found => ({
    subject,
    matched: { by, value, exact: true, similarity: 1 },
    namesakes: [],
  });
  const lei = readLei(name);
  const ofLei = lei === null ? undefined : directory.byLei(lei);
  if (lei !== null && ofLei !== undefined) return exactly('LEI', lei, ofLei);
  const namesakes = directory.names.exact(name);
  const found = bestOf(directory, namesakes, name);
  if (found !== undefined) return { ...exactly(found.kind, found.text, found.subject), namesakes };
  const host = hostOf(name);
  const ofDomain = host === null ? undefined : directory.byDomain(host);
  if (ofDomain !== undefined) return exactly('DOMAIN', ofDomain.domain, ofDomain.subject);
  const bare = name.replace(/\s+(?:crypto\s+)?(?:exchange|wallet|global|group)$/i, '');
  const withoutWord = bare === name ? [] : directory.names.exact(bare);
  const bestWithoutWord = bestOf(directory, withoutWord, bare);
  if (bestWithoutWord !== undefined) {
    return {
      subject: bestWithoutWord.subject,
      matched: { by: bestWithoutWord.kind, value: bestWithoutWord.text, exact: false, similarity: 1 },
      namesakes: withoutWord,
    };
  }
  // Exchanges precede firms in the directory, so of two equally similar names the exchange is found.
  const near = directory.names.near(name, NEAREST);
  // A name without its general word is short, so `Bank Exchange` must be compared without it: it is not `LBank Exchange`.
  const compared = bare === name ? near : directory.names.near(bare, NEAREST);
  const best = [compared[0], isDistinctive(bare) ? near[0] : undefined].find(
    (hit) => hit !== undefined && isTypo(hit, bare),
  );
  if (best !== undefined) {
    const similarity = Math.round(best.similarity * 1000) / 1000;
    return {
      subject: best.name.subject,
      matched: { by: best.name.kind, value: best.name.text, exact: false, similarity },
      namesakes: directory.names.exact(best.name.text),
    };
  }
  const nearest = near.map((hit) => `'${hit.name.text}'`).join(', ');
  throw new AssayError(
    'NOT_FOUND',
    `name: unknown exchange '${name.slice(0, 80)}'.${nearest === '' ? '' : ` Nearest names: ${nearest}.`}`,
    { field: 'name' },
  );
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

const IN_FORCE: ReadonlySet<RegistrationStatus> = new Set(['AUTHORISED', 'REGISTERED', 'PENDING']);

/** Returns true if an ISO date, or the whole of a partial one (`2026-05`), is before a day. */
const isBefore = (date: string, day: string): boolean => date < day.slice(0, date.length);

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
  const { details, spans, register, source, asOf, verified } = one;
  const last = spans.at(-1);
  if (last === undefined) throw new Error(`${details.legalName} is on ${register} without a status.`);
  const isOver = last.endedAt !== null && isBefore(last.endedAt, today) && IN_FORCE.has(last.status);
  return {
    jurisdiction: details.jurisdiction,
    authority: details.authority,
    status: isOver ? 'WITHDRAWN' : last.status,
    registrationId: details.registrationId,
    registeredAs: last.registeredAs,
    legalName: details.legalName,
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

function statusOf(
  directory: Directory,
  { name, identity, registrations }: Subject,
  matched: ExchangeStatus['matched'],
  scope: Scope | null,
  registers: readonly RegisterFacts[],
  today: string,
  designations: readonly EntityDesignation[],
): ExchangeStatus {
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
