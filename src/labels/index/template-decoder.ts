/** Decodes the packed templates of a snapshot into labels. */
import { EVIDENCE_CLASSES, type EvidenceClass } from '../evidence-class.ts';
import type { Label, LabelScope, SanctionsEntry } from '../label.ts';
import { classOfLabel } from '../label-class.ts';
import { type Category, THREAT_LEVELS, type ThreatLevel } from '../taxonomy.ts';
import { isoFromDay } from './days.ts';
import { SYNTHETIC, TEMPLATE_WORDS } from './format.ts';
import {
  ASCII,
  BITS,
  BODY_WORDS,
  CATEGORY,
  CLASS_MASK,
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
import { BETWEEN_DAYS, labelOf, type TemplateLayout } from './template-table.ts';

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
/** Words of a cache line. */
const LINE_WORDS = 16;
/** Words of a body and its texts that are read ahead: most have no more, and begin at the start of a line. */
const BODY_AHEAD_WORDS = 32;
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
  /** Receives a value that depends on every read ahead, so that the compiler keeps the reads. */
  private readonly readSink = new Int32Array(1);

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

  /**
   * Reads the memory that `label` will read of these templates: the cached labels, or the bodies, all at once.
   *
   * @param ids - ids of `count` templates
   */
  readAhead(ids: Int32Array, count: number): void {
    const { words, cachedIds, cacheMask } = this;
    let read = 0;
    for (let index = 0; index < count; index++) {
      const id = ids[index] as number;
      read ^= (words[id * TEMPLATE_WORDS + 1] as number) ^ (cachedIds[id & cacheMask] as number);
    }
    for (let index = 0; index < count; index++) {
      const id = ids[index] as number;
      const place = id & cacheMask;
      if (cachedIds[place] === id) {
        // Three fields that are in different cache lines.
        const { scope, verified, lastSeen } = this.cached[place] as Label;
        if (verified || scope === null || lastSeen === null) read++;
        continue;
      }
      const body = (words[id * TEMPLATE_WORDS + 1] as number) * 2;
      for (let ahead = 0; ahead < BODY_AHEAD_WORDS; ahead += LINE_WORDS)
        read ^= words[body + ahead] as number;
    }
    this.readSink[0] = read;
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
