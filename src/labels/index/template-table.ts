/** The templates inside a snapshot: for each a pre-rendered JSON fragment, and a packed body that is decoded on demand. */
import { AssayError } from '../../base/errors.ts';
import { collectObjectsNow } from '../../base/old-objects.ts';
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

/** Bytes that are read from memory at once. */
const LINE_BYTES = 64;
/** LMDB stores a large value so many bytes behind the start of a page. Elsewhere, bodies would be read as well, but in more lines. */
const VALUE_AT = 24;

/** Returns the first offset from this one on that is the start of a line in memory. */
const alignLine = (offset: number): number => ((offset + VALUE_AT + LINE_BYTES - 1) & -LINE_BYTES) - VALUE_AT;

/**
 * Bytes that are set aside for the fragment and for the body of each template, more than a usual one needs: pages that are never written
 * take no memory, and a larger buffer would have to be copied while both exist.
 */
const FRAGMENT_RESERVED_BYTES = 832;
const BODY_RESERVED_BYTES = 192;

/**
 * Templates after which the texts of those that are packed are collected, some 40 MB: V8 would keep the texts of all until the end. A collection takes
 * some ten milliseconds.
 */
const COLLECTED_EVERY = 1 << 16;

/** Bytes that are appended. */
class GrowingBytes {
  bytes: Buffer;
  end = 0;

  constructor(reserved: number) {
    this.bytes = Buffer.alloc(Math.min(reserved, MAP_BYTES));
  }

  /** Makes room for so many bytes behind the end. */
  reserve(more: number): void {
    if (this.end + more <= this.bytes.length) return;
    const larger = Buffer.alloc(Math.ceil((this.end + more) * 1.25));
    this.bytes.copy(larger, 0, 0, this.end);
    this.bytes = larger;
  }
}

/** Numbers of different values, in the order in which they are first asked for. */
class Numbers {
  readonly #numbers = new Map<string, number>();

  of(text: string): number {
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.#numbers.set(text, this.#numbers.size);
    return this.#numbers.size - 1;
  }

  get texts(): readonly string[] {
    return [...this.#numbers.keys()];
  }
}

/** Numbers of values that templates share, by their JSON. */
class SharedValues {
  readonly #numbers = new Numbers();
  readonly #ofTexts = new Map<string | null, number>();

  of(value: unknown): number {
    return this.#numbers.of(JSON.stringify(value));
  }

  /** Most values are a text or null, and the same as before: their JSON is made once. */
  ofText(value: string | null): number {
    const known = this.#ofTexts.get(value);
    if (known !== undefined) return known;
    const number = this.of(value);
    this.#ofTexts.set(value, number);
    return number;
  }

  get texts(): readonly string[] {
    return this.#numbers.texts;
  }
}

/**
 * Renders and packs the templates of canonical texts, in id order: the table, all fragments, all bodies, and the shared values. Labels are
 * decoded from bodies alone, which lie close together, each at the start of a line: fewer pages and lines are read than if each lay behind
 * its fragment.
 *
 * @param texts sorted; each is taken out of the array when it is packed, so that the memory of the texts becomes that of the result
 */
export function encodeTemplates(texts: (string | null)[]): EncodedTemplates {
  const sources = new Numbers();
  const shared = new SharedValues();
  const realEntities = new DistinctRuns();
  const syntheticEntities = new DistinctRuns();
  const tableWords = texts.length * TEMPLATE_WORDS;
  const words = new Int32Array(tableWords);
  const out = new GrowingBytes(
    align(tableWords * 4) + 1024 + texts.length * (FRAGMENT_RESERVED_BYTES + BODY_RESERVED_BYTES),
  );
  const bodies = new GrowingBytes(1024 + texts.length * BODY_RESERVED_BYTES);
  out.end = align(tableWords * 4);
  for (let id = 0; id < texts.length; id++) {
    const template = templateFromText(texts[id] as string);
    texts[id] = null;
    if (id % COLLECTED_EVERY === COLLECTED_EVERY - 1) collectObjectsNow();
    (template.synthetic ? syntheticEntities : realEntities).add(template.entity.id);
    const at = id * TEMPLATE_WORDS;
    words[at] = out.end / 8;
    writeFragment(out, template);
    words[at + 1] = bodies.end / 8;
    words[at + 2] = writeBody(bodies, template, sources, shared);
    words[at + 3] = flagsOf(template) | (SCOPES.indexOf(template.scope) << 8);
  }
  const bodiesAt = alignLine(out.end);
  out.end = bodiesAt;
  out.reserve(bodies.end);
  bodies.bytes.copy(out.bytes, bodiesAt, 0, bodies.end);
  out.end += bodies.end;
  for (let at = 1; at < words.length; at += TEMPLATE_WORDS) words[at] = (words[at] as number) + bodiesAt / 8;
  const sharedTexts = shared.texts;
  const sharedAt = writeShared(out, sharedTexts);
  const table = new Int32Array(out.bytes.buffer, out.bytes.byteOffset, tableWords);
  table.set(words);
  return {
    bytes: out.bytes.subarray(0, align(out.end)),
    table,
    sourceIds: sources.texts,
    sharedAt,
    shared: sharedTexts.length,
    realEntities: realEntities.count,
    syntheticEntities: syntheticEntities.count,
  };
}

function writeFragment(out: GrowingBytes, template: LabelTemplate): void {
  const [prefix, suffix] = renderFragment(template);
  const prefixBytes = Buffer.byteLength(prefix);
  const suffixBytes = Buffer.byteLength(suffix);
  out.reserve(prefixBytes + suffixBytes + 32);
  const { bytes, end } = out;
  bytes.writeUInt32LE(prefixBytes, end);
  bytes.writeUInt32LE(suffixBytes, end + 4);
  bytes.write(prefix, end + 8);
  // Both parts start at a word boundary, so that they can be copied word by word.
  const suffixAt = (end + 8 + prefixBytes + 3) & ~3;
  bytes.write(suffix, suffixAt);
  out.end = align(suffixAt + suffixBytes);
}

/** Returns the length of the body. */
function writeBody(
  out: GrowingBytes,
  template: LabelTemplate,
  sources: Numbers,
  shared: SharedValues,
): number {
  const { entity } = template;
  const strings = `${entity.id}${entity.name}${entity.url ?? ''}`;
  const stringBytes = Buffer.byteLength(strings);
  const length = BODY_WORDS * 4 + stringBytes;
  out.reserve(length + LINE_BYTES);
  const { bytes, end } = out;
  const word = (index: number, value: number): void => void bytes.writeInt32LE(value, end + index * 4);
  word(ENTITY_CATEGORY, CATEGORIES.indexOf(entity.category));
  word(CATEGORY, CATEGORIES.indexOf(template.category));
  word(THREAT_LEVEL, THREAT_LEVELS.indexOf(template.threatLevel));
  word(SOURCE, sources.of(template.source));
  const classNumber = EVIDENCE_CLASSES.indexOf(classOfLabel(template)) + 1;
  word(
    BITS,
    (template.verified ? VERIFIED : 0) |
      (stringBytes === strings.length ? ASCII : 0) |
      (classNumber << CLASS_SHIFT),
  );
  word(JURISDICTION, shared.ofText(entity.jurisdiction));
  word(SOURCE_URL, shared.ofText(template.sourceUrl));
  word(TAGS, shared.of(template.tags));
  word(SANCTIONS, shared.of(template.sanctions));
  word(ID_BYTES, Buffer.byteLength(entity.id));
  word(NAME_BYTES, Buffer.byteLength(entity.name));
  word(URL_BYTES, entity.url === null ? NULL_TEXT : Buffer.byteLength(entity.url));
  bytes.writeDoubleLE(template.confidence, end + CONFIDENCE * 4);
  bytes.write(strings, end + BODY_WORDS * 4);
  // The first body is at the start of a line, so each of them is.
  out.end = (end + length + LINE_BYTES - 1) & -LINE_BYTES;
  return length;
}

/** Writes the shared values and their table. Returns the start of the table. */
function writeShared(out: GrowingBytes, texts: readonly string[]): number {
  const places: number[] = [];
  for (const text of texts) {
    const length = Buffer.byteLength(text);
    out.reserve(length + 8);
    places.push(out.end / 8, length);
    out.bytes.write(text, out.end);
    out.end = align(out.end + length);
  }
  const sharedAt = out.end;
  out.reserve(places.length * 4 + 8);
  for (const place of places) out.end = out.bytes.writeUInt32LE(place, out.end);
  return sharedAt;
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
