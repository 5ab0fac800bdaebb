/** The canonical text of a label template: equal templates have equal texts, in segments and in snapshots. */
import { AssayError } from '../../base/errors.ts';
import { CHAINS } from '../../chains/registry.ts';
import type { LabelScope, LabelTemplate, SanctionsEntry } from '../label.ts';
import { countsAsSanction } from '../sanction-hit.ts';
import { CATEGORIES, THREAT_LEVELS } from '../taxonomy.ts';

/** Every possible scope of a label; a snapshot keeps its own copy, so that a new chain does not shift old ids. */
export const SCOPES: readonly LabelScope[] = ['EVM', ...CHAINS.map((chain) => chain.id)];

type SanctionRow = readonly [
  list: string,
  authority: string,
  program: string | null,
  entityName: string,
  entityId: string,
  listedAt: string | null,
  delistedAt: string | null,
  sourceUrl: string,
  matchType: string,
  /**
   * Absent: `listedAt` is the party's date. `WALLET`: it is the wallet's date, which an entry with an attribution never has.
   */
  extra?: 'WALLET' | readonly [source: string, confidence: number, date: string | null],
];

/** A template as a row. Names are written in full, so that the text means the same in every version of the taxonomy. */
type TemplateRow = readonly [
  entityId: string,
  entityName: string,
  entityCategory: string,
  jurisdiction: string | null,
  entityUrl: string | null,
  scope: string,
  category: string,
  threatLevel: string,
  source: string,
  sourceUrl: string | null,
  tags: readonly string[],
  confidence: number,
  sanctions: readonly SanctionRow[],
  verified: 0 | 1,
  synthetic: 0 | 1,
];

/** Returns the canonical text of a template: one line of JSON. */
export function templateToText(template: LabelTemplate): string {
  const { entity } = template;
  const row: TemplateRow = [
    entity.id,
    entity.name,
    entity.category,
    entity.jurisdiction,
    entity.url,
    template.scope,
    template.category,
    template.threatLevel,
    template.source,
    template.sourceUrl,
    template.tags,
    template.confidence,
    template.sanctions.map(sanctionToRow),
    template.verified ? 1 : 0,
    template.synthetic ? 1 : 0,
  ];
  return JSON.stringify(row);
}

function sanctionToRow(entry: SanctionsEntry): SanctionRow {
  const { attribution } = entry;
  const row = [
    entry.list,
    entry.authority,
    entry.program,
    entry.entityName,
    entry.entityId,
    entry.listedAt,
    entry.delistedAt,
    entry.sourceUrl,
    entry.matchType,
  ] as const;
  if (attribution !== undefined)
    return [...row, [attribution.source, attribution.confidence, attribution.date]];
  return entry.listedAtBasis === 'WALLET' ? [...row, 'WALLET'] : row;
}

const categories = new Set<string>(CATEGORIES);
const threatLevels = new Set<string>(THREAT_LEVELS);
const scopes = new Set<string>(SCOPES);

/**
 * Parses a canonical text.
 *
 * @throws STORE_CORRUPT if it is not a template or has a category, threat level or chain that this version does not know.
 */
export function templateFromText(text: string): LabelTemplate {
  let row: TemplateRow;
  try {
    row = JSON.parse(text) as TemplateRow;
  } catch (cause) {
    throw new AssayError('STORE_CORRUPT', 'A label template is not JSON.', { cause });
  }
  if (!Array.isArray(row) || row.length !== 15) {
    throw new AssayError('STORE_CORRUPT', 'A label template does not have 15 fields.');
  }
  if (
    !categories.has(row[2]) ||
    !categories.has(row[6]) ||
    !threatLevels.has(row[7]) ||
    !scopes.has(row[5])
  ) {
    throw new AssayError(
      'STORE_CORRUPT',
      `A label template has a category, threat level or chain that this version does not support: ${text.slice(0, 200)}`,
    );
  }
  return templateFromRow(row);
}

function templateFromRow(row: TemplateRow): LabelTemplate {
  return {
    entity: {
      id: row[0],
      name: row[1],
      category: row[2] as LabelTemplate['category'],
      jurisdiction: row[3],
      url: row[4],
    },
    scope: row[5] as LabelScope,
    category: row[6] as LabelTemplate['category'],
    threatLevel: row[7] as LabelTemplate['threatLevel'],
    source: row[8],
    sourceUrl: row[9],
    tags: row[10],
    confidence: row[11],
    sanctions: row[12].map(sanctionFromRow),
    verified: row[13] === 1,
    synthetic: row[14] === 1,
  };
}

function sanctionFromRow(row: SanctionRow): SanctionsEntry {
  const extra = row[9];
  const attribution = typeof extra === 'string' ? undefined : extra;
  return {
    list: row[0] as SanctionsEntry['list'],
    authority: row[1],
    program: row[2],
    entityName: row[3],
    entityId: row[4],
    listedAt: row[5],
    listedAtBasis: extra === 'WALLET' ? 'WALLET' : 'PARTY',
    delistedAt: row[6],
    sourceUrl: row[7],
    matchType: row[8] as SanctionsEntry['matchType'],
    ...(attribution
      ? { attribution: { source: attribution[0], confidence: attribution[1], date: attribution[2] } }
      : {}),
  };
}

/** Returns whether the template has an entry in force that makes the address sanctioned. */
export const isInForce = (template: LabelTemplate): boolean =>
  template.sanctions.some((entry) => entry.delistedAt === null && countsAsSanction(entry));
