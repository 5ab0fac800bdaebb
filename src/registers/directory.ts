/**
 * The directory of exchanges and firms: shipped exchange identities and the firms of all imported registers, joined by LEI, legal name and
 * domain. A firm that belongs to no known exchange is a subject of its own. The directory is built in slices, and immutable once built.
 */
import type { ExchangeIdentity, RegisterFacts, ShippedRegistration } from './catalogue.ts';
import {
  type FirmDetails,
  fileOrder,
  formerNames,
  namesOf,
  type StatusSpan,
  spansOf,
  UNVERIFIED_LEIS,
} from './history.ts';
import {
  buildNameIndex,
  foldName,
  foldWithoutForm,
  type IndexedName,
  type NameHit,
  type NameIndex,
} from './name-index.ts';
import type { ShippedRegister, ShippedRow } from './shipped.ts';
import type { RegisterRow, RegisterStore } from './store.ts';

/** A registration of a subject: from an imported file, or a shipped fact. */
export type SubjectRegistration =
  | {
      readonly from: 'file';
      readonly register: string;
      /** The importer, or `shipped` for a row of data/register-rows.json. */
      readonly source: string;
      readonly asOf: string;
      readonly verified: boolean;
      readonly details: FirmDetails;
      /** Legal names that the firm had before. */
      readonly formerNames: readonly string[];
      /** Oldest first; the last one is the current one. */
      readonly spans: readonly StatusSpan[];
    }
  | { readonly from: 'shipped'; readonly fact: ShippedRegistration };

/** An exchange, or a firm without a known exchange. */
export interface Subject {
  readonly name: string;
  readonly identity: ExchangeIdentity | null;
  readonly registrations: readonly SubjectRegistration[];
}

/** A register, and the rows of it that are known. */
export interface CheckedRegister {
  readonly id: string;
  readonly jurisdiction: string;
  /** Day of the newest file or of the shipped rows, ISO date; null if no row is known. */
  readonly asOf: string | null;
  readonly records: number;
  /** True if the rows are the whole register of that day: only then a firm without a row is not on the register. */
  readonly whole: boolean;
  /** The importer of the newest file, or `shipped`; null if no row is known. */
  readonly source: string | null;
  /** Where people can search the register; null for a register of the operator. */
  readonly url: string | null;
  /** How the authority publishes the entries, and which command reads them; null for a register of the operator. */
  readonly access: string | null;
}

export interface Directory {
  readonly subjects: readonly Subject[];
  readonly names: NameIndex;
  readonly checked: readonly CheckedRegister[];
  byLei(lei: string): number | undefined;
  /** Returns the subject of a host name or of a parent domain. */
  byDomain(host: string): { readonly subject: number; readonly domain: string } | undefined;
}

export interface DirectoryOptions {
  readonly exchanges: readonly ExchangeIdentity[];
  readonly registers: readonly RegisterFacts[];
  /** Rows of registers that ship. Default: none. */
  readonly shipped?: readonly ShippedRegister[];
}

interface Draft {
  name: string;
  readonly identity: ExchangeIdentity | null;
  readonly registrations: SubjectRegistration[];
}

/**
 * Builds the directory; each step takes a few milliseconds.
 *
 * @throws the errors of the store
 */
export function* buildDirectory(
  { exchanges, registers, shipped = [] }: DirectoryOptions,
  store: Pick<RegisterStore, 'catalogue' | 'shard'>,
): Generator<void, Directory> {
  const subjects: Draft[] = [];
  const names: IndexedName[] = [];
  const leis = new Map<string, number>();
  const domains = new Map<string, number>();
  /** Subjects by legal name, with and without the company form, and by jurisdiction and legal name. */
  const legal = new Map<string, number>();
  const legalKeys = (name: string): string[] => [foldName(name), foldWithoutForm(name)];
  const first = <Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void => {
    if (!map.has(key)) map.set(key, value);
  };

  for (const identity of exchanges) {
    const subject = subjects.push({ name: identity.name, identity, registrations: [] }) - 1;
    names.push({ text: identity.name, kind: 'NAME', subject });
    for (const text of identity.aliases) names.push({ text, kind: 'ALIAS', subject });
    for (const { name, lei } of identity.legalEntities) {
      names.push({ text: name, kind: 'LEGAL_NAME', subject });
      for (const key of legalKeys(name)) first(legal, key, subject);
      if (lei !== null) first(leis, lei, subject);
    }
    for (const domain of identity.domains) first(domains, domain, subject);
  }
  const identities = subjects.length;
  /** Names and aliases of exchanges, for the curated trade names of shipped rows. */
  const exchangeNames = new Map<string, number>();
  for (const { text, kind, subject } of names)
    if (kind !== 'LEGAL_NAME') first(exchangeNames, foldName(text), subject);
  /** Only domains and names of exchanges join a firm to an exchange: those of firms are often shared (banks, hosting). */
  const exchangeDomains = new Map(domains);
  const exchangeLegal = new Map(legal);

  const checked: CheckedRegister[] = [];
  const shippedById = new Map(shipped.map((register) => [register.id, register]));
  const importedRegisters = store.catalogue().registers;
  const hasFiles = new Set(importedRegisters.map(({ register }) => register));
  /** Shipped rows by register and firm, for imported files of the same firms. */
  const shippedRows = new Map<string, ShippedRow>();
  for (const { id, rows } of shipped.filter((register) => hasFiles.has(register.id)))
    for (const [index, row] of rows.entries()) {
      for (const key of keysOf(id, row.details)) first(shippedRows, key, row);
      if (index % ROWS_A_STEP === 0) yield;
    }
  /** Firms of imported files, by register; they replace the shipped rows of the same firms. */
  const imported = new Set<string>();
  /** Day of the newest whole file, by register. */
  const wholeSince = new Map<string, string>();
  /** LEIs by register and country: a second firm with the LEI of another one has a wrong LEI. */
  const registerLeis = new Set<string>();
  /** Names of the firms of each LEI. */
  const leiNames = new Map<string, Set<string>>();
  for (const { legalEntities } of exchanges)
    for (const { name, lei } of legalEntities) if (lei !== null) nameLei(lei, name);

  function* addImported(row: RegisterRow): Generator<void, void> {
    const order = fileOrder(row.files);
    const newest = row.files.at(-1);
    if (newest === undefined) return;
    const facts = registers.find((register) => register.id === row.register);
    const replaceable = shippedById.get(row.register);
    let anywhere = facts?.jurisdiction ?? null;
    for (const name of row.shards) {
      for (const firm of store.shard(name)) {
        anywhere ??= firm.details.jurisdiction;
        const spans = spansOf(firm, order);
        const keys = keysOf(row.register, firm.details);
        const sameFirm = keys.map((key) => shippedRows.get(key)).find((found) => found !== undefined);
        const newestRow = newestOf(
          {
            from: 'file',
            register: row.register,
            source: row.source,
            asOf: newest.asOf,
            verified: true,
            details: firm.details,
            formerNames: [],
            spans,
          },
          sameFirm,
          replaceable,
        );
        const legalNames = [
          ...(firm.names ?? [firm.details.legalName]),
          ...(sameFirm === undefined ? [] : [sameFirm.details.legalName]),
        ];
        const registration = { ...newestRow, formerNames: formerNames(legalNames, newestRow.details) };
        // A file of the register replaces the shipped row of a firm; it stays with the exchange that the row was joined to.
        const subject = subjectOf(row.register, registration, sameFirm && namesOf(sameFirm.details));
        subjects[subject]?.registrations.push(registration);
        if (replaceable !== undefined) for (const key of keys) imported.add(key);
      }
      yield;
    }
    const lastWhole = row.files.findLast((file) => file.whole);
    if (lastWhole !== undefined) wholeSince.set(row.register, lastWhole.asOf);
    checked.push({
      id: row.register,
      jurisdiction: anywhere ?? '',
      asOf: newest.asOf,
      records: newest.records,
      whole: newest.whole,
      source: row.source,
      url: facts?.url ?? null,
      access: facts?.access ?? null,
    });
  }

  function* addShipped(register: ShippedRegister): Generator<void, void> {
    // A newer file of the whole register replaces the shipped rows; an older or partial one replaces the rows of its own firms.
    if ((wholeSince.get(register.id) ?? '') >= register.asOf) return;
    const isImported = ({ details }: ShippedRow): boolean =>
      keysOf(register.id, details).some((key) => imported.has(key));
    const rows = hasFiles.has(register.id) ? register.rows.filter((row) => !isImported(row)) : register.rows;
    for (const [index, row] of rows.entries()) {
      const registration: FileRegistration = {
        from: 'file',
        register: register.id,
        source: 'shipped',
        asOf: row.asOf,
        verified: row.verified,
        details: row.details,
        formerNames: [],
        spans: [row.span],
      };
      const subject = subjectOf(register.id, registration, namesOf(row.details));
      subjects[subject]?.registrations.push(registration);
      if (index % ROWS_A_STEP === 0) yield;
    }
    const at = checked.findIndex(({ id }) => id === register.id);
    const read = checked[at];
    const facts = registers.find(({ id }) => id === register.id);
    const own: CheckedRegister = {
      id: register.id,
      jurisdiction: facts?.jurisdiction ?? '',
      asOf: register.asOf,
      records: register.rows.length,
      whole: register.whole,
      source: 'shipped',
      url: facts?.url ?? null,
      access: facts?.access ?? null,
    };
    if (read === undefined) checked.push(own);
    else {
      const isNewer = read.asOf === null || register.asOf > read.asOf;
      // Rows that are the whole register of a later day decide about each firm. Rows of a part are added to those of the files.
      if (isNewer && register.whole) checked[at] = own;
      else {
        const asOf = isNewer && !read.whole ? register.asOf : read.asOf;
        checked[at] = { ...read, asOf, records: read.records + rows.length };
      }
    }
  }

  // Registers with unverified LEIs come last: those of the other registers are known by then.
  for (const isUnverified of [false, true]) {
    const isDue = (id: string): boolean => UNVERIFIED_LEIS.has(id) === isUnverified;
    for (const row of importedRegisters) if (isDue(row.register)) yield* addImported(row);
    for (const register of shipped) if (isDue(register.id)) yield* addShipped(register);
  }
  const order = new Map(registers.map(({ id }, index) => [id, index]));
  const rank = ({ id }: CheckedRegister): number => order.get(id) ?? registers.length;
  checked.sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1));

  /**
   * Returns the exchange of a firm, an earlier firm with the same LEI or name, or a new subject.
   *
   * @param curated - names of the firm that people checked
   */
  function subjectOf(
    register: string,
    { details, formerNames: former, spans }: FileRegistration,
    curated: readonly string[] = [],
  ): number {
    const { legalName, tradeNames } = details;
    const isWarning = spans.at(-1)?.status === 'WARNING';
    const lei = leiOf(register, details);
    const byLei = lei === null ? undefined : leis.get(lei);
    // A warning is about a site; a clone has the name of the exchange that it imitates, and must not be joined to it.
    const byName = isWarning
      ? undefined
      : legalKeys(legalName)
          .map((key) => exchangeLegal.get(key))
          .find((found) => found !== undefined);
    const byDomain = details.domains
      .map((host) => exchangeDomains.get(host))
      .find((found) => found !== undefined);
    // The names of shipped rows were checked by people; the trade names of a register are the firm's own claim.
    const byTrade = isWarning
      ? undefined
      : curated.map((name) => exchangeNames.get(foldName(name))).find((found) => found !== undefined);
    const own = `${details.jurisdiction}|${foldName(legalName)}`;
    const known = byLei ?? byName ?? byDomain ?? byTrade ?? (lei === null ? legal.get(own) : undefined);
    const subject =
      known ?? subjects.push({ name: tradeNames[0] ?? legalName, identity: null, registrations: [] }) - 1;
    if (known === undefined) first(legal, own, subject);
    if (lei !== null) {
      first(leis, lei, subject);
      nameLei(lei, legalName);
    }
    names.push({ text: legalName, kind: 'LEGAL_NAME', subject });
    for (const text of former) names.push({ text, kind: 'FORMER_NAME', subject });
    if (subject >= identities || !isWarning) {
      for (const text of tradeNames) names.push({ text, kind: 'ALIAS', subject });
    }
    for (const host of details.domains) first(domains, host, subject);
    return subject;
  }

  function nameLei(lei: string, name: string): void {
    const known = leiNames.get(lei);
    if (known === undefined) leiNames.set(lei, new Set([foldWithoutForm(name)]));
    else known.add(foldWithoutForm(name));
  }

  /** Returns the LEI of a firm; null if it has none, or has that of another firm. */
  function leiOf(register: string, { lei, legalName, jurisdiction }: FirmDetails): string | null {
    if (lei === null) return null;
    const key = `${register}|${jurisdiction}|${lei}`;
    const known = leiNames.get(lei);
    const isSecond = registerLeis.has(key);
    registerLeis.add(key);
    const mustAgree = isSecond || UNVERIFIED_LEIS.has(register);
    return mustAgree && known !== undefined && !known.has(foldWithoutForm(legalName)) ? null : lei;
  }

  for (let subject = 0; subject < identities; subject++) {
    const draft = subjects[subject] as Draft;
    for (const fact of draft.identity?.registrations ?? []) {
      if (!isCovered(fact, draft.registrations)) draft.registrations.push({ from: 'shipped', fact });
    }
  }
  yield;
  const index = yield* buildNameIndex(names);
  return {
    subjects,
    names: index,
    checked,
    byLei: (lei) => leis.get(lei),
    byDomain(host) {
      for (let domain = host; domain.includes('.'); domain = domain.slice(domain.indexOf('.') + 1)) {
        const subject = domains.get(domain);
        if (subject !== undefined) return { subject, domain };
      }
      return undefined;
    },
  };
}

/** Shipped rows joined in one build step: a millisecond. */
const ROWS_A_STEP = 250;

const nameKey = ({ jurisdiction, legalName }: FirmDetails): string =>
  `${jurisdiction}|${foldWithoutForm(legalName)}`;

/** The same firm in an imported file and in the shipped rows: its number, or else its name. */
const firmKey = (details: FirmDetails): string =>
  details.registrationId === null ? nameKey(details) : `${details.jurisdiction}|#${details.registrationId}`;

/** The keys of a firm in its register; an unverified LEI is none. */
const keysOf = (register: string, details: FirmDetails): readonly string[] =>
  (UNVERIFIED_LEIS.has(register) ? [nameKey(details)] : [firmKey(details), nameKey(details)]).map(
    (key) => `${register}|${key}`,
  );

type FileRegistration = SubjectRegistration & { readonly from: 'file' };

/**
 * Returns the newest registration of a firm of imported files. If the shipped rows are the whole register of a later day, their row of the
 * firm decides, and a firm without a row is off the register. A warning stays: a copy of a register is no evidence that it was lifted.
 */
function newestOf(
  imported: FileRegistration,
  row: ShippedRow | undefined,
  register: ShippedRegister | undefined,
): FileRegistration {
  const last = imported.spans.at(-1);
  if (register === undefined || last === undefined || !register.whole) return imported;
  if (last.lastSeen >= register.asOf || last.status === 'WARNING') return imported;
  const shipped = { ...imported, source: 'shipped', asOf: register.asOf } as const;
  if (row !== undefined)
    return {
      ...shipped,
      asOf: row.asOf,
      verified: row.verified || row.span.status === last.status,
      details: { ...row.details, note: imported.details.note },
      spans: [...imported.spans, row.span],
    };
  if (last.status === 'WITHDRAWN') return imported;
  const off = { status: 'WITHDRAWN', firstSeen: register.asOf, lastSeen: register.asOf } as const;
  return { ...shipped, verified: false, spans: [...imported.spans, { ...last, ...off }] };
}

/** A shipped fact is omitted if the register's own file has the same firm. */
function isCovered(fact: ShippedRegistration, known: readonly SubjectRegistration[]): boolean {
  return known.some(
    (one) =>
      one.from === 'file' &&
      one.register === fact.register &&
      one.details.jurisdiction === fact.jurisdiction &&
      foldWithoutForm(one.details.legalName) === foldWithoutForm(fact.legalName),
  );
}

export type { NameHit };
