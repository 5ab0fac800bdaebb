/** One entity for its many names: data/entity-aliases.json, and stable ids for all other entities. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { shippedData } from '../base/paths.ts';
import type { Entity } from './label.ts';

export interface EntityAliases {
  /** Returns the known entity for a publisher's id or a printed name; null if the entity is not known. */
  byName(text: string): Entity | null;
  /** Returns the known entity with this id. */
  byId(id: string): Entity | null;
  /** Returns every name and alias, with the id of its entity. */
  names(): readonly { readonly entity: string; readonly name: string }[];
}

interface AliasRow extends Entity {
  readonly aliases: readonly string[];
}

interface AliasFile {
  readonly suffixes: readonly string[];
  readonly entities: readonly AliasRow[];
}

/** The form in which names are compared: only letters and digits. */
const comparable = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');

/** Reads data/entity-aliases.json. */
export function loadEntityAliases(path: string = shippedData('entity-aliases.json')): EntityAliases {
  const file = JSON.parse(readFileSync(path, 'utf8')) as AliasFile;
  const names = new Map<string, Entity>();
  const ids = new Map<string, Entity>();
  for (const row of file.entities) {
    const { id, name, category, jurisdiction, url } = row;
    const entity: Entity = { id, name, category, jurisdiction, url };
    for (const text of [id, name, ...row.aliases]) names.set(comparable(text), entity);
    ids.set(id, entity);
  }
  return {
    byName(text) {
      const found = names.get(comparable(text));
      if (found) return found;
      const suffix = file.suffixes.find((end) => text.toLowerCase().endsWith(end));
      return suffix === undefined ? null : (names.get(comparable(text.slice(0, -suffix.length))) ?? null);
    },
    byId: (id) => ids.get(id) ?? null,
    names: () =>
      file.entities.flatMap(({ id, name, aliases }) =>
        [name, ...aliases].map((text) => ({ entity: id, name: text })),
      ),
  };
}

/** Maximum length of a slug; in a longer one a hash replaces the end, so that ids stay distinct. */
const SLUG_CHARS_MAX = 64;

/** Returns a stable id for a name: lower case, letters and digits of any script, `-` between. It is never empty. */
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
