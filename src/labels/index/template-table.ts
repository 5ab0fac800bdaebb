/** The templates inside a snapshot: a JSON fragment each, rendered ahead, and a packed body that is decoded when asked for. */
import { Packr, Unpackr } from 'msgpackr';
import { AssayError } from '../../base/errors.ts';
import { CHAINS } from '../../chains/registry.ts';
import type { Label, LabelScope, LabelTemplate, SanctionsEntry } from '../label.ts';
import { labelToJson } from '../label-json.ts';
import { CATEGORIES, type Category, THREAT_LEVELS, type ThreatLevel } from '../taxonomy.ts';
import { isoFromDay } from './days.ts';
import {
  SANCTIONED,
  SANCTIONED_SOMEWHERE,
  type SnapshotLayout,
  SYNTHETIC,
  TEMPLATE_WORDS,
} from './format.ts';
import { isInForce, SCOPES, templateFromText } from './template-text.ts';

/** Bytes that stand between the two parts of a fragment in every label; the days are spliced in around it. */
export const BETWEEN_DAYS = ',"lastSeen":';

/**
 * A template as a packed row: numbers for what has few values. The strings of an address's own entity stay in full; they are
 * most of what differs between templates.
 */
type Body = [
  entityId: string,
  entityName: string,
  entityCategory: number,
  jurisdiction: string | null,
  entityUrl: string | null,
  category: number,
  threatLevel: number,
  source: number,
  sourceUrl: string | null,
  tags: string[],
  confidence: number,
  verified: boolean,
  sanctions: SanctionsEntry[],
];

export interface EncodedTemplates {
  /** The value `texts`. */
  readonly bytes: Uint8Array;
  /** The template table alone, as words (a view of `bytes`). */
  readonly table: Int32Array;
  readonly sourceIds: readonly string[];
}

const EVM_SCOPES: ReadonlySet<LabelScope> = new Set(
  CHAINS.filter((chain) => chain.family === 'evm').map((chain) => chain.id),
);

const align = (offset: number): number => (offset + 7) & ~7;

/** Renders and packs the templates of `texts` (canonical texts, in the order of their ids). */
export function encodeTemplates(texts: readonly string[]): EncodedTemplates {
  const packr = new Packr({ useRecords: false });
  const sourceIds: string[] = [];
  const sourceNumbers = new Map<string, number>();
  const tableBytes = texts.length * TEMPLATE_WORDS * 4;
  let bytes = Buffer.alloc(align(tableBytes) + 1024 + texts.length * 512);
  let table = new Int32Array(bytes.buffer, bytes.byteOffset, texts.length * TEMPLATE_WORDS);
  let end = align(tableBytes);

  const reserve = (more: number): void => {
    if (end + more <= bytes.length) return;
    const larger = Buffer.alloc(Math.ceil((end + more) * 1.25));
    bytes.copy(larger, 0, 0, end);
    bytes = larger;
    table = new Int32Array(bytes.buffer, bytes.byteOffset, texts.length * TEMPLATE_WORDS);
  };

  for (const [id, text] of texts.entries()) {
    const template = templateFromText(text);
    let source = sourceNumbers.get(template.source);
    if (source === undefined) {
      source = sourceIds.push(template.source) - 1;
      sourceNumbers.set(template.source, source);
    }
    const [prefix, suffix] = renderFragment(template);
    const prefixBytes = Buffer.byteLength(prefix);
    const suffixBytes = Buffer.byteLength(suffix);
    const body = packr.pack(templateToBody(template, source));
    reserve(prefixBytes + suffixBytes + body.length + 64);

    const at = id * TEMPLATE_WORDS;
    table[at] = end / 8;
    bytes.writeUInt32LE(prefixBytes, end);
    bytes.writeUInt32LE(suffixBytes, end + 4);
    bytes.write(prefix, end + 8);
    // Both parts start at a word, so that they can be copied word by word.
    const suffixAt = (end + 8 + prefixBytes + 3) & ~3;
    bytes.write(suffix, suffixAt);
    end = align(suffixAt + suffixBytes);
    table[at + 1] = end / 8;
    table[at + 2] = body.length;
    body.copy(bytes, end);
    end = align(end + body.length);
    table[at + 3] = flagsOf(template) | (SCOPES.indexOf(template.scope) << 8);
  }
  return { bytes: bytes.subarray(0, end), table, sourceIds };
}

/** A template's sanction counts for every chain of its key where its scope is the whole family or the key's only chain. */
function flagsOf(template: LabelTemplate): number {
  const everywhere = template.scope === 'EVM' || !EVM_SCOPES.has(template.scope);
  const sanction = isInForce(template) ? (everywhere ? SANCTIONED : SANCTIONED_SOMEWHERE) : 0;
  return sanction | (template.synthetic ? SYNTHETIC : 0);
}

/** The label's JSON in two parts: before the value of `firstSeen`, and behind the value of `lastSeen`. */
function renderFragment(template: LabelTemplate): [prefix: string, suffix: string] {
  const marked = { ...template, firstSeen: '\u0001', lastSeen: '\u0002' };
  const text = JSON.stringify(labelToJson(marked));
  const between = `"\\u0001"${BETWEEN_DAYS}"\\u0002"`;
  const cut = text.lastIndexOf(between);
  if (cut < 0)
    throw new AssayError('INTERNAL', 'A label is not rendered in the order its fragments are cut by.');
  return [text.slice(0, cut), text.slice(cut + between.length)];
}

function templateToBody(template: LabelTemplate, source: number): Body {
  const { entity } = template;
  return [
    entity.id,
    entity.name,
    CATEGORIES.indexOf(entity.category),
    entity.jurisdiction,
    entity.url,
    CATEGORIES.indexOf(template.category),
    THREAT_LEVELS.indexOf(template.threatLevel),
    source,
    template.sourceUrl,
    [...template.tags],
    template.confidence,
    template.verified,
    [...template.sanctions],
  ];
}

/**
 * Decoded templates kept a thread: a decoded one takes about 0.6 KB, so 20 MB at most; the popular ones (an exchange's
 * million wallets share a template) are always there.
 */
const CACHED_TEMPLATES = 1 << 15;

/** Decodes templates of one snapshot; the cache is direct-mapped: one place a template, the newest stays. */
export class TemplateDecoder {
  private readonly texts: Uint8Array;
  private readonly table: Int32Array;
  private readonly layout: SnapshotLayout;
  private readonly unpackr = new Unpackr({ useRecords: false });
  private readonly cachedIds: Int32Array;
  private readonly cached: LabelTemplate[] = [];
  private readonly cacheMask: number;

  constructor(texts: Uint8Array, layout: SnapshotLayout, cacheSize: number = CACHED_TEMPLATES) {
    this.texts = texts;
    this.table = new Int32Array(texts.buffer, texts.byteOffset, layout.templates * TEMPLATE_WORDS);
    this.layout = layout;
    this.cachedIds = new Int32Array(cacheSize).fill(-1);
    this.cacheMask = cacheSize - 1;
  }

  /** The template of an id below `layout.templates`. */
  template(id: number): LabelTemplate {
    const place = id & this.cacheMask;
    if (this.cachedIds[place] === id) return this.cached[place] as LabelTemplate;
    const template = this.decode(id);
    this.cached[place] = template;
    this.cachedIds[place] = id;
    return template;
  }

  /** A label of the template with its packed days. */
  label(id: number, days: number): Label {
    const template = this.template(id);
    return {
      entity: template.entity,
      scope: template.scope,
      category: template.category,
      threatLevel: template.threatLevel,
      source: template.source,
      sourceUrl: template.sourceUrl,
      tags: template.tags,
      confidence: template.confidence,
      sanctions: template.sanctions,
      verified: template.verified,
      synthetic: template.synthetic,
      firstSeen: isoFromDay(days & 0xffff),
      lastSeen: isoFromDay(days >>> 16),
    };
  }

  /** The JSON fragment of a template as a whole label, without dates. */
  fragmentText(id: number): string {
    const start = (this.table[id * TEMPLATE_WORDS] as number) * 8;
    const lengths = new DataView(this.texts.buffer, this.texts.byteOffset + start, 8);
    const prefix = lengths.getUint32(0, true);
    const suffix = lengths.getUint32(4, true);
    const suffixAt = (start + 8 + prefix + 3) & ~3;
    const text = (from: number, length: number): string =>
      Buffer.from(this.texts.subarray(from, from + length)).toString('utf8');
    return `${text(start + 8, prefix)}null${BETWEEN_DAYS}null${text(suffixAt, suffix)}`;
  }

  private decode(id: number): LabelTemplate {
    const at = id * TEMPLATE_WORDS;
    const start = (this.table[at + 1] as number) * 8;
    const length = this.table[at + 2] as number;
    const flags = this.table[at + 3] as number;
    // The body is copied out of the map: what is decoded must never refer to memory that may go with its snapshot.
    const body = this.unpackr.unpack(Buffer.from(this.texts.subarray(start, start + length))) as Body;
    const { categories, scopes, sourceIds } = this.layout;
    return {
      entity: {
        id: body[0],
        name: body[1],
        category: categories[body[2]] as Category,
        jurisdiction: body[3],
        url: body[4],
      },
      scope: scopes[(flags >>> 8) & 0xff] as LabelScope,
      category: categories[body[5]] as Category,
      threatLevel: THREAT_LEVELS[body[6]] as ThreatLevel,
      source: sourceIds[body[7]] as string,
      sourceUrl: body[8],
      tags: body[9],
      confidence: body[10],
      sanctions: body[12],
      verified: body[11],
      synthetic: (flags & SYNTHETIC) !== 0,
    };
  }
}
