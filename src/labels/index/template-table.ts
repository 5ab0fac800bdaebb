/** The templates inside a snapshot: for each a pre-rendered JSON fragment, and a packed body that is decoded on demand. */
import { AssayError } from '../../base/errors.ts';
import { CHAINS } from '../../chains/registry.ts';
import { EVIDENCE_CLASSES, type EvidenceClass } from '../evidence-class.ts';
import type { Label, LabelScope, LabelTemplate, SanctionsEntry } from '../label.ts';
import { classOfLabel } from '../label-class.ts';
import { labelToJson } from '../label-json.ts';
import { CATEGORIES, type Category, THREAT_LEVELS, type ThreatLevel } from '../taxonomy.ts';
import { isoFromDay } from './days.ts';
import {
  MAP_BYTES,
  SANCTIONED,
  SANCTIONED_SOMEWHERE,
  type SnapshotLayout,
  SYNTHETIC,
  TEMPLATE_WORDS,
} from './format.ts';
import { isInForce, SCOPES, templateFromText } from './template-text.ts';

/** The bytes between the two days of a label; the days are inserted before and after them. */
export const BETWEEN_DAYS = ',"lastSeen":';

/**
 * Body of a template, in words: values from small sets as numbers, values that many templates share (source URL, tags, sanctions,
 * jurisdiction) as the number of a shared value, and the confidence as eight bytes. Id, name and URL of the entity follow in UTF-8.
 */
const ENTITY_CATEGORY = 0;
const CATEGORY = 1;
const THREAT_LEVEL = 2;
const SOURCE = 3;
const BITS = 4;
const JURISDICTION = 5;
const SOURCE_URL = 6;
const TAGS = 7;
const SANCTIONS = 8;
const ID_BYTES = 9;
const NAME_BYTES = 10;
const URL_BYTES = 11;
const CONFIDENCE = 12;
const BODY_WORDS = 14;

const VERIFIED = 1;
/** All strings of the entity are ASCII: one byte per character, which decodes faster. */
const ASCII = 2;
/**
 * First bit of the number of the evidence class plus one. Snapshots of releases before 2026-11-22 have 0 here: the class is then
 * that of the source.
 */
const CLASS_SHIFT = 2;
const CLASS_MASK = 7;
const NULL_TEXT = -1;

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
    word(JURISDICTION, share(entity.jurisdiction));
    word(SOURCE_URL, share(template.sourceUrl));
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
const labelOf = (
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

/** Returns a label with other dates. */
const datedLabel = (label: Label, days: number): Label =>
  labelOf(label, label.class, isoFromDay(days & 0xffff), isoFromDay(days >>> 16));

/** Entries in snapshots of earlier releases have no basis: their date is the party's. */
const withBasis = (entries: readonly SanctionsEntry[]): readonly SanctionsEntry[] =>
  entries.length === 0
    ? entries
    : entries.map((entry) => ({ ...entry, listedAtBasis: entry.listedAtBasis ?? 'PARTY' }));

/**
 * Decoded templates in the cache of a thread: about 0.35 KB each, so 23 MB at most. Popular templates (an exchange's million wallets
 * share one) are always in it.
 */
const CACHED_TEMPLATES = 1 << 16;
/** Shared values in the cache: real publishers have thousands of tags and source URLs, 0.2 KB each. */
const CACHED_SHARED = 1 << 13;
const NOTHING = -1;
/** Both days are unknown. */
const NO_DAYS = 0;

/**
 * Decodes labels of one snapshot. The cache of labels without days, one for a template, is direct-mapped. A template enters it only if it is
 * requested twice before another template that maps to the same place: the labels of a template that is requested once are decoded as they
 * are returned, and remain young garbage, which costs the collector nothing.
 */
export class TemplateDecoder {
  private readonly texts: Buffer;
  private readonly words: Int32Array;
  private readonly numbers: DataView;
  private readonly layout: TemplateLayout;
  private readonly cachedIds: Int32Array;
  private readonly askedIds: Int32Array;
  private readonly cached: Label[] = [];
  private readonly used: Uint8Array;
  private readonly cacheMask: number;
  private readonly sharedIds = new Int32Array(CACHED_SHARED).fill(NOTHING);
  private readonly shared: unknown[] = [];

  constructor(texts: Uint8Array, layout: TemplateLayout, cacheSize: number = CACHED_TEMPLATES) {
    this.texts = Buffer.from(texts.buffer, texts.byteOffset, texts.length);
    this.words = new Int32Array(texts.buffer, texts.byteOffset, texts.length >>> 2);
    this.numbers = new DataView(texts.buffer, texts.byteOffset, texts.length);
    this.layout = layout;
    this.cachedIds = new Int32Array(cacheSize).fill(NOTHING);
    this.used = new Uint8Array(cacheSize);
    this.askedIds = new Int32Array(cacheSize).fill(NOTHING);
    this.cacheMask = cacheSize - 1;
  }

  /** Returns the template of an id below `layout.templates`, as a label without days. */
  template(id: number): Label {
    return this.label(id, NO_DAYS);
  }

  /** Returns a label of the template with its packed days. Labels without days are the same object while the template is cached. */
  label(id: number, days: number): Label {
    const place = id & this.cacheMask;
    if (this.cachedIds[place] === id) {
      this.used[place] = 1;
      const known = this.cached[place] as Label;
      return days === NO_DAYS ? known : datedLabel(known, days);
    }
    const label = this.decode(id, days);
    if (this.askedIds[place] !== id) this.askedIds[place] = id;
    else if (this.used[place] === 1) {
      // The cached template was requested since the last competitor for its place, so it stays this time.
      this.used[place] = 0;
    } else {
      this.cached[place] = days === NO_DAYS ? label : datedLabel(label, NO_DAYS);
      this.cachedIds[place] = id;
    }
    return label;
  }

  /** Returns the JSON fragment of a template as a whole label, without dates. */
  fragmentText(id: number): string {
    const start = (this.words[id * TEMPLATE_WORDS] as number) * 8;
    const lengths = new DataView(this.texts.buffer, this.texts.byteOffset + start, 8);
    const prefix = lengths.getUint32(0, true);
    const suffix = lengths.getUint32(4, true);
    const suffixAt = (start + 8 + prefix + 3) & ~3;
    const text = (from: number, length: number): string =>
      Buffer.from(this.texts.subarray(from, from + length)).toString('utf8');
    return `${text(start + 8, prefix)}null${BETWEEN_DAYS}null${text(suffixAt, suffix)}`;
  }

  private decode(id: number, days: number): Label {
    const { words } = this;
    const at = id * TEMPLATE_WORDS;
    const start = (words[at + 1] as number) * 8;
    const flags = words[at + 3] as number;
    const body = start >>> 2;
    const bits = words[body + BITS] as number;
    const ascii = (bits & ASCII) !== 0;
    const idStart = start + BODY_WORDS * 4;
    const nameStart = idStart + (words[body + ID_BYTES] as number);
    const urlStart = nameStart + (words[body + NAME_BYTES] as number);
    const urlBytes = words[body + URL_BYTES] as number;
    const end = urlBytes === NULL_TEXT ? urlStart : urlStart + urlBytes;
    const { categories, scopes, sourceIds } = this.layout;
    // If all bytes are ASCII, all three texts are cut from one string: crossing into native code costs more than the text. They are
    // copied out of the map: decoded values never refer to memory that may be unmapped with its snapshot.
    const all = ascii ? this.texts.toString('latin1', idStart, end) : null;
    const text = (from: number, to: number): string =>
      all === null ? this.texts.toString('utf8', from, to) : all.slice(from - idStart, to - idStart);
    const source = sourceIds[words[body + SOURCE] as number] as string;
    const sanctions = this.sharedValue(words[body + SANCTIONS] as number) as readonly SanctionsEntry[];
    const stored = EVIDENCE_CLASSES[((bits >>> CLASS_SHIFT) & CLASS_MASK) - 1] as EvidenceClass | undefined;
    // The fields in the order of `labelOf`: all labels then have one hidden class.
    return {
      entity: {
        id: text(idStart, nameStart),
        name: text(nameStart, urlStart),
        category: categories[words[body + ENTITY_CATEGORY] as number] as Category,
        jurisdiction: this.sharedValue(words[body + JURISDICTION] as number) as string | null,
        url: urlBytes === NULL_TEXT ? null : text(urlStart, end),
      },
      scope: scopes[(flags >>> 8) & 0xff] as LabelScope,
      category: categories[words[body + CATEGORY] as number] as Category,
      threatLevel: THREAT_LEVELS[words[body + THREAT_LEVEL] as number] as ThreatLevel,
      source,
      sourceUrl: this.sharedValue(words[body + SOURCE_URL] as number) as string | null,
      tags: this.sharedValue(words[body + TAGS] as number) as readonly string[],
      confidence: this.numbers.getFloat64(start + CONFIDENCE * 4, true),
      sanctions: stored === undefined ? withBasis(sanctions) : sanctions,
      verified: (bits & VERIFIED) !== 0,
      synthetic: (flags & SYNTHETIC) !== 0,
      class: stored ?? classOfLabel({ source, sanctions }),
      firstSeen: isoFromDay(days & 0xffff),
      lastSeen: isoFromDay(days >>> 16),
    };
  }

  private sharedValue(number: number): unknown {
    const place = number & (CACHED_SHARED - 1);
    if (this.sharedIds[place] === number) return this.shared[place];
    const at = (this.layout.sharedAt >>> 2) + 2 * number;
    const start = (this.words[at] as number) * 8;
    const value: unknown = JSON.parse(
      this.texts.toString('utf8', start, start + (this.words[at + 1] as number)),
    );
    this.shared[place] = value;
    this.sharedIds[place] = number;
    return value;
  }
}
