/** One entity under its many names: data/entity-aliases.json, and the stable ids of everybody else. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { shippedData } from '../base/paths.ts';
import type { SanctionsList } from '../sources/records.ts';
import type { Entity } from './label.ts';

export interface EntityAliases {
  /** The known entity behind a publisher's id or printed name; null where there is none. */
  byName(text: string): Entity | null;
  /** The known entity that a sanctions list lists under this id. */
  byParty(list: SanctionsList, entityId: string): Entity | null;
}

interface AliasRow extends Entity {
  readonly aliases: readonly string[];
  readonly parties?: Readonly<Partial<Record<SanctionsList, readonly string[]>>>;
}

interface AliasFile {
  readonly suffixes: readonly string[];
  readonly entities: readonly AliasRow[];
}

/** The form in which names are compared: letters and digits only. */
const comparable = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');

/** Reads data/entity-aliases.json. */
export function loadEntityAliases(path: string = shippedData('entity-aliases.json')): EntityAliases {
  const file = JSON.parse(readFileSync(path, 'utf8')) as AliasFile;
  const names = new Map<string, Entity>();
  const parties = new Map<string, Entity>();
  for (const row of file.entities) {
    const { id, name, category, jurisdiction, url } = row;
    const entity: Entity = { id, name, category, jurisdiction, url };
    for (const text of [id, name, ...row.aliases]) names.set(comparable(text), entity);
    for (const [list, ids] of Object.entries(row.parties ?? {}))
      for (const party of ids) parties.set(`${list}:${party}`, entity);
  }
  return {
    byName(text) {
      const found = names.get(comparable(text));
      if (found) return found;
      const suffix = file.suffixes.find((end) => text.toLowerCase().endsWith(end));
      return suffix === undefined ? null : (names.get(comparable(text.slice(0, -suffix.length))) ?? null);
    },
    byParty: (list, entityId) => parties.get(`${list}:${entityId}`) ?? null,
  };
}

/** Longest slug kept whole; beyond, a hash stands for the rest so that ids stay distinct. */
const SLUG_CHARS_MAX = 64;

/** A stable id made from a name: lower case, letters and digits of any script, `-` between. Never empty. */
export function slugOf(name: string): string {
  const slug = name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-+|-+$/g, '');
  if (slug !== '' && slug.length <= SLUG_CHARS_MAX) return slug;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 10);
  return slug === '' ? `x-${hash}` : `${slug.slice(0, SLUG_CHARS_MAX - 11)}-${hash}`;
}
