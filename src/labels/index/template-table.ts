/** The templates inside a snapshot: for each a pre-rendered JSON fragment, and a packed body that is decoded on demand. */
import { AssayError } from '../../base/errors.ts';
import { CHAINS } from '../../chains/registry.ts';
import { EVIDENCE_CLASSES, type EvidenceClass } from '../evidence-class.ts';
import type { Label, LabelScope, LabelTemplate } from '../label.ts';
import { classOfLabel } from '../label-class.ts';
import { labelToJson } from '../label-json.ts';
import { CATEGORIES, type Category, THREAT_LEVELS } from '../taxonomy.ts';
import {
  MAP_BYTES,
  SANCTIONED,
  SANCTIONED_SOMEWHERE,
  type SnapshotLayout,
  SYNTHETIC,
  TEMPLATE_WORDS,
} from './format.ts';
import {
  ASCII,
  BITS,
  BODY_WORDS,
  CATEGORY,
  CLASS_SHIFT,
  CONFIDENCE,
  ENTITY_CATEGORY,
  ID_BYTES,
  JURISDICTION,
  NAME_BYTES,
  NULL_TEXT,
  SANCTIONS,
  SOURCE,
  SOURCE_URL,
  TAGS,
  THREAT_LEVEL,
  URL_BYTES,
  VERIFIED,
} from './template-body.ts';
import { isInForce, SCOPES, templateFromText } from './template-text.ts';

/** The bytes between the two days of a label; the days are inserted before and after them. */
export const BETWEEN_DAYS = ',"lastSeen":';

export interface EncodedTemplates {
  /** The value `texts`. */
  readonly bytes: Uint8Array;
  /** Only the template table, as words (a view of `bytes`). */
  readonly table: Int32Array;
  readonly sourceIds: readonly string[];
  /** Start of the table of shared values in `bytes` (position and length of each, two words), and their number. */
  readonly sharedAt: number;
  readonly shared: number;
  /** Distinct entities of real and of synthetic templates. */
  readonly realEntities: number;
  readonly syntheticEntities: number;
}

/** The part of a snapshot's layout that describes its templates. */
export type TemplateLayout = Pick<SnapshotLayout, 'sharedAt' | 'scopes' | 'categories' | 'sourceIds'>;

const EVM_SCOPES: ReadonlySet<LabelScope> = new Set(
  CHAINS.filter((chain) => chain.family === 'evm').map((chain) => chain.id),
);

const align = (offset: number): number => (offset + 7) & ~7;

/**
 * Bytes that are set aside for each template, three quarters more than a usual one needs: pages that are never written take no memory, and a
 * larger buffer would have to be copied while both exist.
 */
const RESERVED_BYTES = 1_024;

/**
 * Renders and packs the templates of canonical texts, in id order.
 *
 * @param texts sorted; each is taken out of the array when it is packed, so that the memory of the texts becomes that of the result
 */
export function encodeTemplates(texts: (string | null)[]): EncodedTemplates {
  const sourceIds: string[] = [];
  const sourceNumbers = new Map<string, number>();
  const sharedNumbers = new Map<string, number>();
  const realEntities = new DistinctRuns();
  const syntheticEntities = new DistinctRuns();
  const tableBytes = texts.length * TEMPLATE_WORDS * 4;
  let bytes = Buffer.alloc(Math.min(align(tableBytes) + 1024 + texts.length * RESERVED_BYTES, MAP_BYTES));
  let table = new Int32Array(bytes.buffer, bytes.byteOffset, texts.length * TEMPLATE_WORDS);
  let end = align(tableBytes);

  const reserve = (more: number): void => {
    if (end + more <= bytes.length) return;
    const larger = Buffer.alloc(Math.ceil((end + more) * 1.25));
    bytes.copy(larger, 0, 0, end);
    bytes = larger;
    table = new Int32Array(bytes.buffer, bytes.byteOffset, texts.length * TEMPLATE_WORDS);
  };
  const textNumbers = new Map<string | null, number>();
  /** Most values are a text or null, and the same as before: their JSON is made once. */
  const shareText = (value: string | null): number => {
    let number = textNumbers.get(value);
    if (number === undefined) {
      number = share(value);
      textNumbers.set(value, number);
    }
    return number;
  };
  const share = (value: unknown): number => {
    const text = JSON.stringify(value);
    let number = sharedNumbers.get(text);
    if (number === undefined) {
      number = sharedNumbers.size;
      sharedNumbers.set(text, number);
    }
    return number;
  };

  for (let id = 0; id < texts.length; id++) {
    const template = templateFromText(texts[id] as string);
    texts[id] = null;
    const { entity } = template;
    (template.synthetic ? syntheticEntities : realEntities).add(entity.id);
    let source = sourceNumbers.get(template.source);
    if (source === undefined) {
      source = sourceIds.push(template.source) - 1;
      sourceNumbers.set(template.source, source);
    }
    const [prefix, suffix] = renderFragment(template);
    const prefixBytes = Buffer.byteLength(prefix);
    const suffixBytes = Buffer.byteLength(suffix);
    const strings = `${entity.id}${entity.name}${entity.url ?? ''}`;
    const stringBytes = Buffer.byteLength(strings);
    reserve(prefixBytes + suffixBytes + stringBytes + BODY_WORDS * 4 + 64);

    const at = id * TEMPLATE_WORDS;
    table[at] = end / 8;
    bytes.writeUInt32LE(prefixBytes, end);
    bytes.writeUInt32LE(suffixBytes, end + 4);
    bytes.write(prefix, end + 8);
    // Both parts start at a word boundary, so that they can be copied word by word.
    const suffixAt = (end + 8 + prefixBytes + 3) & ~3;
    bytes.write(suffix, suffixAt);
    end = align(suffixAt + suffixBytes);

    table[at + 1] = end / 8;
    const word = (index: number, value: number): void => void bytes.writeInt32LE(value, end + index * 4);
    word(ENTITY_CATEGORY, CATEGORIES.indexOf(entity.category));
    word(CATEGORY, CATEGORIES.indexOf(template.category));
    word(THREAT_LEVEL, THREAT_LEVELS.indexOf(template.threatLevel));
    word(SOURCE, source);
    const classNumber = EVIDENCE_CLASSES.indexOf(classOfLabel(template)) + 1;
    word(
      BITS,
      (template.verified ? VERIFIED : 0) |
        (stringBytes === strings.length ? ASCII : 0) |
        (classNumber << CLASS_SHIFT),
    );
    word(JURISDICTION, shareText(entity.jurisdiction));
    word(SOURCE_URL, shareText(template.sourceUrl));
    word(TAGS, share(template.tags));
    word(SANCTIONS, share(template.sanctions));
    word(ID_BYTES, Buffer.byteLength(entity.id));
    word(NAME_BYTES, Buffer.byteLength(entity.name));
    word(URL_BYTES, entity.url === null ? NULL_TEXT : Buffer.byteLength(entity.url));
    bytes.writeDoubleLE(template.confidence, end + CONFIDENCE * 4);
    bytes.write(strings, end + BODY_WORDS * 4);
    table[at + 2] = BODY_WORDS * 4 + stringBytes;
    end = align(end + BODY_WORDS * 4 + stringBytes);
    table[at + 3] = flagsOf(template) | (SCOPES.indexOf(template.scope) << 8);
  }

  const places: number[] = [];
  for (const text of sharedNumbers.keys()) {
    const length = Buffer.byteLength(text);
    reserve(length + 8);
    places.push(end / 8, length);
    bytes.write(text, end);
    end = align(end + length);
  }
  const sharedAt = end;
  reserve(places.length * 4 + 8);
  for (const place of places) end = bytes.writeUInt32LE(place, end);
  return {
    bytes: bytes.subarray(0, align(end)),
    table,
    sourceIds,
    sharedAt,
    shared: sharedNumbers.size,
    realEntities: realEntities.count,
    syntheticEntities: syntheticEntities.count,
  };
}

/** Counts different values that come in runs, as the ids of entities do: they are the first field of the sorted texts. */
class DistinctRuns {
  count = 0;
  #last: string | null = null;

  add(value: string): void {
    if (value !== this.#last) this.count++;
    this.#last = value;
  }
}

/** Returns the category of a packed template. */
export function categoryOf({ bytes, table }: EncodedTemplates, id: number): Category {
  const body = (table[id * TEMPLATE_WORDS + 1] as number) * 8;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + body, BODY_WORDS);
  return CATEGORIES[words[CATEGORY] as number] as Category;
}

/**
 * Returns the flags of a template. Its sanction counts for every chain
 * of the key if the scope is the whole family or the key's only chain.
 */
function flagsOf(template: LabelTemplate): number {
  const everywhere = template.scope === 'EVM' || !EVM_SCOPES.has(template.scope);
  const sanction = isInForce(template) ? (everywhere ? SANCTIONED : SANCTIONED_SOMEWHERE) : 0;
  return sanction | (template.synthetic ? SYNTHETIC : 0);
}

/** Renders the label's JSON in two parts: before the value of `firstSeen`, and after the value of `lastSeen`. */
function renderFragment(template: LabelTemplate): [prefix: string, suffix: string] {
  const marked = labelOf(template, classOfLabel(template), '\u0001', '\u0002');
  const text = JSON.stringify(labelToJson(marked));
  const between = `"\\u0001"${BETWEEN_DAYS}"\\u0002"`;
  const cut = text.lastIndexOf(between);
  if (cut < 0) throw new AssayError('INTERNAL', 'A label is not rendered in the order of its fragments.');
  return [text.slice(0, cut), text.slice(cut + between.length)];
}

/** Each field by name: V8 copies an object of this size with `...` in 4 µs, as a hash table that survives many collections. */
export const labelOf = (
  template: LabelTemplate,
  evidenceClass: EvidenceClass,
  firstSeen: string | null,
  lastSeen: string | null,
): Label => ({
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
  class: evidenceClass,
  firstSeen,
  lastSeen,
});
