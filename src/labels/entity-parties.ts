/**
 * Links between entities of labels and parties of sanctions lists: data/entity-parties.json, and the operator's own file merged
 * over it. A link identifies the party; only the list decides whether the party is designated today.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { AssayError, messageOf } from '../base/errors.ts';
import { shippedData } from '../base/paths.ts';
import type { ListId, SanctionsList } from '../sources/index.ts';
import { LISTS } from '../sources/lists.ts';
import { LABEL_LIMITS } from './limits.ts';

/** One entity of labels that is one party of a list. */
export interface EntityPartyLink {
  /** Id of the entity (`htx`). */
  readonly entity: string;
  readonly list: SanctionsList;
  /** Id of the party in the list; for the EU its reference number (`EU.12747.39`), which all layouts print. */
  readonly entry: string;
  /** Name of the party, as the list prints it. */
  readonly name: string;
  readonly program: string | null;
  /** ISO dates. They count only until the list itself has been imported. */
  readonly listedAt: string | null;
  readonly delistedAt: string | null;
  /** Whether the designation freezes assets; null if the link does not say. */
  readonly assetFreeze: boolean | null;
  readonly measures: readonly string[];
  /** The publication that designates the party. */
  readonly sourceUrl: string;
  /** The person who compared entity and party, the file that was used, and the ISO date. */
  readonly checkedBy: string;
  readonly checkedAgainst: string | null;
  readonly checkedAt: string;
  /** False for a shipped fact that was not checked against a publisher's file. */
  readonly verified: boolean;
  readonly note: string | null;
  /** False in an own file removes the link of the same entity, list and entry. */
  readonly linked: boolean;
  readonly from: 'shipped' | 'own';
}

export interface EntityParties {
  /** Links that count, ordered by entity, list and entry. */
  readonly links: readonly EntityPartyLink[];
  /** Hash of the content: equal links have an equal fingerprint. */
  readonly fingerprint: string;
  /** Returns the link of a party, by either of its ids; null if the party has no link. */
  ofParty(list: SanctionsList, entry: string, reference?: string | null): EntityPartyLink | null;
}

const ENTITY_ID = /^[a-z0-9][a-z0-9:._-]{0,63}$/;
const ISO_DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const FIELDS = new Set([
  'entity',
  'list',
  'entry',
  'name',
  'program',
  'listedAt',
  'delistedAt',
  'assetFreeze',
  'measures',
  'sourceUrl',
  'checkedBy',
  'checkedAgainst',
  'checkedAt',
  'verified',
  'note',
  'linked',
]);
/** Maximum length of a text in a link: the longest name on a list in use has 336 characters. */
const TEXT_MAX = 500;
const MEASURES_MAX = 20;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Reads the shipped links and merges the operator's own over them.
 *
 * @param options.own Path of the operator's file; a row replaces the shipped row of the same entity, list and entry.
 * @param options.shipped Path of the shipped file.
 * @param options.lists Ids of the lists with parties that can be linked.
 * @returns The links that count.
 * @throws INVALID_FILE naming the file, the row and the field.
 */
export function loadEntityParties(
  options: {
    readonly own?: string | null;
    readonly shipped?: string;
    readonly lists?: readonly ListId[];
  } = {},
): EntityParties {
  const { lists = LISTS.ids } = options;
  const rows = readLinks(options.shipped ?? shippedData('entity-parties.json'), 'shipped', lists);
  if (options.own) rows.push(...readLinks(options.own, 'own', lists));
  const merged = new Map<string, EntityPartyLink>();
  for (const link of rows) merged.set(`${link.entity}\n${link.list}\n${link.entry}`, link);
  return entityParties([...merged.values()].filter(({ linked }) => linked));
}

/**
 * Indexes links.
 *
 * @throws INVALID_FILE if two entities claim one party.
 */
export function entityParties(rows: readonly EntityPartyLink[]): EntityParties {
  const links = [...rows].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
  const byParty = new Map<string, EntityPartyLink>();
  for (const link of links) {
    const party = `${link.list}\n${link.entry}`;
    const other = byParty.get(party);
    if (other !== undefined) {
      throw new AssayError(
        'INVALID_FILE',
        `entity-parties: ${link.list} ${link.entry} is linked to '${other.entity}' and to '${link.entity}'; a party can be one entity only.`,
        { field: 'entry' },
      );
    }
    byParty.set(party, link);
  }
  return {
    links,
    fingerprint: createHash('sha256').update(JSON.stringify(links)).digest('hex'),
    ofParty: (list, entry, reference) =>
      byParty.get(`${list}\n${entry}`) ?? (reference ? (byParty.get(`${list}\n${reference}`) ?? null) : null),
  };
}

const idOf = ({ entity, list, entry }: EntityPartyLink): string => `${entity} ${list} ${entry}`;

function readLinks(path: string, from: EntityPartyLink['from'], lists: readonly ListId[]): EntityPartyLink[] {
  const file = basename(path);
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new AssayError('INVALID_FILE', `${file}: cannot be read as JSON: ${messageOf(cause)}.`, {
      field: 'file',
      cause,
    });
  }
  const rows = isFields(content) ? content.links : undefined;
  if (!Array.isArray(rows)) {
    throw new AssayError('INVALID_FILE', `${file}: links must be an array of links.`, { field: 'links' });
  }
  if (rows.length > LABEL_LIMITS.entityPartiesMax) {
    throw new AssayError(
      'INVALID_FILE',
      `${file}: links must have at most ${LABEL_LIMITS.entityPartiesMax} rows (got ${rows.length}).`,
      { field: 'links' },
    );
  }
  return rows.map((row, at) => readLink(row, `${file}: links[${at}]`, from, lists));
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function readLink(
  row: unknown,
  place: string,
  from: EntityPartyLink['from'],
  lists: readonly ListId[],
): EntityPartyLink {
  const refuse = (field: string, rule: string): never => {
    throw new AssayError('INVALID_FILE', `${place}.${field}: ${rule}`, { field });
  };
  if (!isFields(row))
    throw new AssayError('INVALID_FILE', `${place}: must be an object.`, { field: 'links' });
  for (const name of Object.keys(row))
    if (!FIELDS.has(name)) refuse(name, 'is not a field of a link; remove it.');

  const text = (field: string): string => {
    const value = row[field];
    if (typeof value !== 'string' || value.trim() === '' || value.length > TEXT_MAX)
      return refuse(field, `must be a text of 1 to ${TEXT_MAX} characters.`);
    return value.trim();
  };
  const optionalText = (field: string): string | null =>
    row[field] === undefined || row[field] === null ? null : text(field);
  const date = (field: string): string => {
    const value = text(field);
    const isDate = ISO_DATE.test(value) && new Date(value).toISOString().slice(0, 10) === value;
    return isDate ? value : refuse(field, `must be a date such as 2026-05-26 (got '${value.slice(0, 40)}').`);
  };
  const optionalDate = (field: string): string | null =>
    row[field] === undefined || row[field] === null ? null : date(field);
  const flag = (field: string): boolean | null => {
    const value = row[field];
    if (value === undefined || value === null) return null;
    return typeof value === 'boolean' ? value : refuse(field, 'must be true or false.');
  };

  const entity = text('entity');
  if (!ENTITY_ID.test(entity)) refuse('entity', "must be the id of an entity, such as 'htx'.");
  const list = lists.find((one) => one === row.list);
  if (list === undefined) return refuse('list', `must be one of ${lists.join(', ')}.`);
  const sourceUrl = text('sourceUrl');
  if (!/^https?:\/\/\S+$/.test(sourceUrl)) refuse('sourceUrl', 'must be a URL that begins with http.');
  const measures = row.measures ?? [];
  const isTexts =
    Array.isArray(measures) &&
    measures.length <= MEASURES_MAX &&
    measures.every((one) => typeof one === 'string' && one !== '' && one.length <= TEXT_MAX);
  if (!isTexts) refuse('measures', `must be at most ${MEASURES_MAX} texts.`);
  return {
    entity,
    list,
    entry: text('entry'),
    name: text('name'),
    program: optionalText('program'),
    listedAt: optionalDate('listedAt'),
    delistedAt: optionalDate('delistedAt'),
    assetFreeze: flag('assetFreeze'),
    measures: measures as readonly string[],
    sourceUrl,
    checkedBy: text('checkedBy'),
    checkedAgainst: optionalText('checkedAgainst'),
    checkedAt: date('checkedAt'),
    verified: flag('verified') ?? from === 'own',
    note: optionalText('note'),
    linked: flag('linked') ?? true,
    from,
  };
}
