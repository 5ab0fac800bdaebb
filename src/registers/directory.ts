/**
 * Who is who: shipped exchange identities and the firms of all imported registers, joined by LEI, legal name and domain. A firm
 * that belongs to no known exchange stands for itself. Built in slices, immutable once built.
 */
import type { ExchangeIdentity, RegisterFacts, ShippedRegistration } from './catalogue.ts';
import { type Firm, type FirmDetails, fileOrder, type StatusSpan, spansOf } from './history.ts';
import {
  buildNameIndex,
  foldName,
  foldWithoutForm,
  type IndexedName,
  type NameHit,
  type NameIndex,
} from './name-index.ts';
import type { RegisterStore } from './store.ts';

/** A registration of a subject: of an imported file, or a shipped fact. */
export type SubjectRegistration =
  | {
      readonly from: 'file';
      readonly register: string;
      readonly source: string;
      readonly asOf: string;
      readonly details: FirmDetails;
      /** Oldest first; the last is that of now. */
      readonly spans: readonly StatusSpan[];
    }
  | { readonly from: 'shipped'; readonly fact: ShippedRegistration };

/** An exchange, or a firm that no exchange is known for. */
export interface Subject {
  readonly name: string;
  readonly identity: ExchangeIdentity | null;
  readonly registrations: readonly SubjectRegistration[];
}

/** A register of which a file was imported. */
export interface CheckedRegister {
  readonly id: string;
  readonly jurisdiction: string;
  readonly asOf: string;
  readonly records: number;
}

export interface Directory {
  readonly subjects: readonly Subject[];
  readonly names: NameIndex;
  readonly checked: readonly CheckedRegister[];
  byLei(lei: string): number | undefined;
  /** The subject of a host name or of the domain above it. */
  byDomain(host: string): { readonly subject: number; readonly domain: string } | undefined;
}

export interface DirectoryOptions {
  readonly exchanges: readonly ExchangeIdentity[];
  readonly registers: readonly RegisterFacts[];
}

interface Draft {
  name: string;
  readonly identity: ExchangeIdentity | null;
  readonly registrations: SubjectRegistration[];
}

/** Builds the directory; a step is a few milliseconds. Throws what the store throws. */
export function* buildDirectory(
  { exchanges, registers }: DirectoryOptions,
  store: Pick<RegisterStore, 'catalogue' | 'shard'>,
): Generator<void, Directory> {
  const subjects: Draft[] = [];
  const names: IndexedName[] = [];
  const leis = new Map<string, number>();
  const domains = new Map<string, number>();
  /** Legal names, with and without the company's form, by jurisdiction where one is known. */
  const legal = new Map<string, number>();
  const legalKeys = (name: string): string[] => [foldName(name), foldWithoutForm(name)];
  const first = <Key>(map: Map<Key, number>, key: Key, value: number): void => {
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
  /** Domains and names of exchanges alone join a firm to an exchange: those of firms are often shared (banks, hosting). */
  const exchangeDomains = new Map(domains);
  const exchangeLegal = new Map(legal);

  const checked: CheckedRegister[] = [];
  for (const row of store.catalogue().registers) {
    const order = fileOrder(row.files);
    const newest = row.files.at(-1);
    if (newest === undefined) continue;
    const facts = registers.find((register) => register.id === row.register);
    let anywhere = facts?.jurisdiction ?? null;
    for (const name of row.shards) {
      for (const firm of store.shard(name)) {
        anywhere ??= firm.details.jurisdiction;
        const spans = spansOf(firm, order);
        const subject = subjectOf(firm, spans);
        subjects[subject]?.registrations.push({
          from: 'file',
          register: row.register,
          source: row.source,
          asOf: newest.asOf,
          details: firm.details,
          spans,
        });
      }
      yield;
    }
    checked.push({
      id: row.register,
      jurisdiction: anywhere ?? '',
      asOf: newest.asOf,
      records: newest.records,
    });
  }

  /** The exchange that a firm belongs to, the firm of that LEI or name seen before, or a new subject. */
  function subjectOf({ details }: Firm, spans: readonly StatusSpan[]): number {
    const { legalName, lei, tradeNames } = details;
    const isWarning = spans.at(-1)?.status === 'WARNING';
    const byLei = lei === null ? undefined : leis.get(lei);
    // A warning is about a site; a clone bears the name of the exchange that it imitates, and must not be taken for it.
    const byName = isWarning
      ? undefined
      : legalKeys(legalName)
          .map((key) => exchangeLegal.get(key))
          .find((found) => found !== undefined);
    const byDomain = details.domains
      .map((host) => exchangeDomains.get(host))
      .find((found) => found !== undefined);
    const own = `${details.jurisdiction}|${foldName(legalName)}`;
    const known = byLei ?? byName ?? byDomain ?? (lei === null ? legal.get(own) : undefined);
    const subject =
      known ?? subjects.push({ name: tradeNames[0] ?? legalName, identity: null, registrations: [] }) - 1;
    if (known === undefined) first(legal, own, subject);
    if (lei !== null) first(leis, lei, subject);
    names.push({ text: legalName, kind: 'LEGAL_NAME', subject });
    if (subject >= identities || !isWarning) {
      for (const text of tradeNames) names.push({ text, kind: 'ALIAS', subject });
    }
    for (const host of details.domains) first(domains, host, subject);
    return subject;
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

/** A shipped fact gives way to what the register's own file says of the same firm. */
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
