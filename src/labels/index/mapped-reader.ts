/** Look-ups in one partition of a snapshot, over views of the memory map. Every result is a copy; no view leaves the readers. */
import { AssayError } from '../../base/errors.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import { type ChainId, chainOf, isEvm } from '../../chains/registry.ts';
import type { Label, LabelTemplate } from '../label.ts';
import { labelToJson } from '../label-json.ts';
import { NO_DAY, writeIsoDay } from './days.ts';
import { fingerprint, firstPosition } from './filter.ts';
import { findInParts, type SearchedPart } from './find-many.ts';
import {
  DAYS,
  FLAGS,
  FRAGMENT,
  LABEL_FIELDS,
  MULTIPLE,
  RECORD_WORDS,
  SANCTIONED,
  SANCTIONED_SOMEWHERE,
  SCOPE_EVM,
  TEMPLATE,
  TEMPLATE_WORDS,
} from './format.ts';
import { type ReadPart, readJsonAhead, readLabelsAhead } from './read-ahead.ts';
import { type LabelHandle, type LabelReader, NO_LABELS, NOT_LABELLED, type SnapshotMeta } from './reader.ts';
import { filterHash, placeHash, SLOT_BYTES, SLOT_WORDS, wordAt, writeSlot } from './slot.ts';
import { type SnapshotViews, wordsOf } from './snapshot-views.ts';
import type { TemplateDecoder } from './template-decoder.ts';
import { BETWEEN_DAYS } from './template-table.ts';
import { isUnified, withReceiver, withReceivers } from './unified.ts';

const BETWEEN = Buffer.from(BETWEEN_DAYS);
const NULL = Buffer.from('null');
/** `"YYYY-MM-DD"` twice, and the text between them. */
const DAYS_BYTES_MAX = 12 + BETWEEN.length + 12;

/** The payload of an EVM key in its slot, behind chain and kind. */
const EVM_PAYLOAD_AT = 2;
const EVM_PAYLOAD_BYTES = 20;

const COMMA = 44;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const QUOTE = 34;

export class MappedReader implements LabelReader, SearchedPart, ReadPart {
  readonly meta: SnapshotMeta;
  readonly records: Int32Array;
  readonly directory: Int32Array;
  readonly filter: Uint8Array;
  readonly overflow: Int32Array;
  readonly textWords: Int32Array;
  private readonly texts: Uint8Array;
  private readonly textView: DataView;
  readonly table: Int32Array;
  private readonly decoder: TemplateDecoder;
  private readonly scopeNumbers: ReadonlyMap<string, number>;
  readonly bucketShift: number;
  readonly segmentBits: number;
  readonly filterSpan: number;
  readonly hasFilter: boolean;
  /** This partition alone. */
  private readonly parts: readonly MappedReader[] = [this];
  /** Whether the fragments contain all fields of a label in a response. */
  private readonly isRendered: boolean;
  /** The chain of the last call, which is usually also the next one. */
  private chain: ChainId | null = null;
  private chainScope = -1;
  private chainIsEvm = false;
  private readonly slot = new Int32Array(SLOT_WORDS);
  private out: Uint8Array = new Uint8Array(0);
  private outView: DataView = new DataView(new ArrayBuffer(0));

  constructor(views: SnapshotViews, decoder: TemplateDecoder) {
    const { layout } = views.meta;
    const directoryWords = (1 << layout.bucketBits) + 1;
    this.meta = views.meta;
    this.records = wordsOf(views.records, 0, layout.addresses * RECORD_WORDS);
    this.directory = wordsOf(views.lookup, 0, directoryWords);
    this.overflow = wordsOf(views.lookup, directoryWords * 4, layout.overflowWords);
    this.filter = views.lookup.subarray((directoryWords + layout.overflowWords) * 4);
    this.texts = views.texts;
    this.textView = new DataView(views.texts.buffer, views.texts.byteOffset, views.texts.length);
    this.textWords = wordsOf(views.texts, 0, views.texts.length >>> 2);
    this.table = wordsOf(views.texts, 0, layout.templates * TEMPLATE_WORDS);
    this.decoder = decoder;
    this.scopeNumbers = new Map(layout.scopes.map((scope, number) => [scope, number]));
    this.bucketShift = 32 - layout.bucketBits;
    this.segmentBits = layout.filter.segmentBits;
    this.filterSpan = layout.filter.span;
    this.hasFilter = layout.filter.bytes > 0;
    this.isRendered = layout.labelFields === LABEL_FIELDS;
  }

  find(keys: Uint8Array, offset: number, length: number): LabelHandle {
    if (length === 22) {
      // The words of the common key (EVM, hash160) stay in registers.
      return this.findSlot(
        wordAt(keys, offset),
        wordAt(keys, offset + 4),
        wordAt(keys, offset + 8),
        wordAt(keys, offset + 12),
        wordAt(keys, offset + 16),
        (keys[offset + 20] as number) | ((keys[offset + 21] as number) << 8),
      );
    }
    if (length < 2) return NOT_LABELLED;
    const { slot } = this;
    writeSlot(keys, offset, length, slot, 0);
    const found = this.findSlot(
      slot[0] as number,
      slot[1] as number,
      slot[2] as number,
      slot[3] as number,
      slot[4] as number,
      slot[5] as number,
    );
    return isUnified(keys, offset, length) ? withReceiver(this, found, keys, offset) : found;
  }

  findMany(
    keys: Uint8Array,
    offsets: Int32Array,
    lengths: Int32Array,
    count: number,
    handles: Float64Array,
  ): void {
    findInParts(this.parts, keys, offsets, lengths, count, handles);
    withReceivers(this, keys, offsets, lengths, count, handles);
  }

  readLabelsAhead(handles: Float64Array, count: number): void {
    readLabelsAhead(this.parts, this.decoder, handles, count);
  }

  readJsonAhead(handles: Float64Array, count: number): void {
    readJsonAhead(this.parts, handles, count);
  }

  private findSlot(a: number, b: number, c: number, d: number, e: number, f: number): LabelHandle {
    return this.findPlaced(placeHash(a, b, c, d, e, f), a, b, c, d, e, f);
  }

  /** Looks up a slot of which the place hash is known. */
  findPlaced(place: number, a: number, b: number, c: number, d: number, e: number, f: number): LabelHandle {
    if (this.hasFilter) {
      const { filter, segmentBits } = this;
      const second = filterHash(a, b, c, d, e, f);
      const segment = 1 << segmentBits;
      const first = firstPosition(place, this.filterSpan);
      const middle = (first + segment) ^ (second & (segment - 1));
      const last = (first + 2 * segment) ^ ((second >>> segmentBits) & (segment - 1));
      const found = (filter[first] as number) ^ (filter[middle] as number) ^ (filter[last] as number);
      if (found !== (fingerprint(place, second) & 0xff)) return NOT_LABELLED;
    }
    const { records, directory } = this;
    const bucket = place >>> this.bucketShift;
    const end = directory[bucket + 1] as number;
    for (let record = directory[bucket] as number; record < end; record++) {
      const at = record * RECORD_WORDS;
      if (
        records[at + 1] === b &&
        records[at + 2] === c &&
        records[at + 3] === d &&
        records[at + 4] === e &&
        records[at + 5] === f &&
        records[at] === a
      ) {
        return record;
      }
    }
    return NOT_LABELLED;
  }

  labels(handle: LabelHandle, chain: ChainId): readonly Label[] {
    if (handle < 0) return NO_LABELS;
    const { records } = this;
    const at = handle * RECORD_WORDS;
    const flags = records[at + FLAGS] as number;
    this.turnTo(chain);
    if ((flags & MULTIPLE) === 0) {
      if (!this.holds(flags)) return NO_LABELS;
      return [this.decoder.label(records[at + TEMPLATE] as number, records[at + DAYS] as number)];
    }
    const found: Label[] = [];
    let position = records[at + TEMPLATE] as number;
    for (let left = this.overflow[position++] as number; left > 0; left--, position += 2) {
      const template = this.overflow[position] as number;
      if (!this.holds(this.table[template * TEMPLATE_WORDS + 3] as number)) continue;
      found.push(this.decoder.label(template, this.overflow[position + 1] as number));
    }
    return found;
  }

  loneTemplate(handle: LabelHandle, chain: ChainId): number {
    if (handle < 0) return -1;
    const at = handle * RECORD_WORDS;
    const flags = this.records[at + FLAGS] as number;
    if ((flags & MULTIPLE) !== 0) return -1;
    this.turnTo(chain);
    return this.holds(flags) ? (this.records[at + TEMPLATE] as number) : -1;
  }

  lookup(key: AddressKey, chain: ChainId): readonly Label[] {
    return this.labels(this.find(key, 0, key.length), chain);
  }

  writeLabelsJson(handle: LabelHandle, chain: ChainId, out: Uint8Array, offset: number): number {
    if (offset + 2 > out.length) return -1;
    if (handle < 0) {
      out[offset] = OPEN_BRACKET;
      out[offset + 1] = CLOSE_BRACKET;
      return offset + 2;
    }
    if (!this.isRendered) return this.writeObjects(handle, chain, out, offset);
    if (out !== this.out) {
      this.out = out;
      this.outView = new DataView(out.buffer, out.byteOffset, out.length);
    }
    const { records } = this;
    const at = handle * RECORD_WORDS;
    const flags = records[at + FLAGS] as number;
    this.turnTo(chain);
    let end = offset;
    out[end++] = OPEN_BRACKET;
    if ((flags & MULTIPLE) === 0) {
      if (this.holds(flags)) {
        end = this.writeLabel(records[at + FRAGMENT] as number, records[at + DAYS] as number, out, end);
      }
    } else {
      let position = records[at + TEMPLATE] as number;
      for (let left = this.overflow[position++] as number; left > 0; left--, position += 2) {
        const entry = (this.overflow[position] as number) * TEMPLATE_WORDS;
        if (!this.holds(this.table[entry + 3] as number)) continue;
        if (end > offset + 1) {
          if (end >= out.length) return -1;
          out[end++] = COMMA;
        }
        end = this.writeLabel(this.table[entry] as number, this.overflow[position + 1] as number, out, end);
        if (end < 0) return -1;
      }
    }
    if (end < 0 || end >= out.length) return -1;
    out[end++] = CLOSE_BRACKET;
    return end;
  }

  /** Does the work of `writeLabelsJson` if the fragments of the snapshot lack a field of present labels. */
  private writeObjects(handle: LabelHandle, chain: ChainId, out: Uint8Array, offset: number): number {
    const bytes = Buffer.from(JSON.stringify(this.labels(handle, chain).map(labelToJson)));
    if (offset + bytes.length > out.length) return -1;
    out.set(bytes, offset);
    return offset + bytes.length;
  }

  isSanctioned(handle: LabelHandle, chain: ChainId): boolean {
    if (handle < 0) return false;
    const flags = this.records[handle * RECORD_WORDS + FLAGS] as number;
    if ((flags & (SANCTIONED | SANCTIONED_SOMEWHERE)) === 0) return false;
    if ((flags & SANCTIONED) !== 0) return true;
    this.turnTo(chain);
    if ((flags & MULTIPLE) === 0) return this.holds(flags);
    let position = this.records[handle * RECORD_WORDS + TEMPLATE] as number;
    for (let left = this.overflow[position++] as number; left > 0; left--, position += 2) {
      const entry = this.table[(this.overflow[position] as number) * TEMPLATE_WORDS + 3] as number;
      if ((entry & SANCTIONED_SOMEWHERE) !== 0 && this.holds(entry)) return true;
    }
    return false;
  }

  eachSanctioned(chain: ChainId, visit: (address: Uint8Array) => void): void {
    if (!isEvm(chain)) throw new AssayError('INTERNAL', `${chain} is not an EVM chain.`);
    const { records } = this;
    const { keyByte } = chainOf(chain);
    const slot = Buffer.alloc(SLOT_BYTES);
    const address = slot.subarray(EVM_PAYLOAD_AT, EVM_PAYLOAD_AT + EVM_PAYLOAD_BYTES);
    for (let handle = 0, at = 0; at < records.length; handle++, at += RECORD_WORDS) {
      if (((records[at + FLAGS] as number) & (SANCTIONED | SANCTIONED_SOMEWHERE)) === 0) continue;
      if (((records[at] as number) & 0xff) !== keyByte || !this.isSanctioned(handle, chain)) continue;
      for (let word = 0; word < SLOT_WORDS; word++) slot.writeInt32LE(records[at + word] as number, word * 4);
      visit(address);
    }
  }

  eachLabelled(
    chain: ChainId,
    isWanted: (label: LabelTemplate) => boolean,
    visit: (key: Uint8Array) => void,
  ): void {
    const { records, overflow, table } = this;
    const { keyByte } = chainOf(chain);
    /** By template: 0 not asked yet, 1 not wanted, 2 wanted. */
    const wanted = new Uint8Array(table.length / TEMPLATE_WORDS);
    this.turnTo(chain);
    const accepts = (template: number): boolean => {
      if (!this.holds(table[template * TEMPLATE_WORDS + 3] as number)) return false;
      if (wanted[template] === 0) wanted[template] = isWanted(this.decoder.template(template)) ? 2 : 1;
      return wanted[template] === 2;
    };
    const slot = Buffer.alloc(SLOT_BYTES);
    const key = slot.subarray(0, EVM_PAYLOAD_AT + EVM_PAYLOAD_BYTES);
    for (let at = 0; at < records.length; at += RECORD_WORDS) {
      if (((records[at] as number) & 0xff) !== keyByte) continue;
      let position = records[at + TEMPLATE] as number;
      let isFound = false;
      if (((records[at + FLAGS] as number) & MULTIPLE) === 0) isFound = accepts(position);
      else
        for (let left = overflow[position++] as number; left > 0 && !isFound; left--, position += 2)
          isFound = accepts(overflow[position] as number);
      if (!isFound) continue;
      for (let word = 0; word < SLOT_WORDS; word++) slot.writeInt32LE(records[at + word] as number, word * 4);
      visit(key);
    }
  }

  /** Sets the chain that `holds` checks. */
  private turnTo(chain: ChainId): void {
    if (chain === this.chain) return;
    this.chain = chain;
    this.chainScope = this.scopeNumbers.get(chain) ?? -1;
    this.chainIsEvm = isEvm(chain);
  }

  /** Returns whether a label or record with these flags applies on the current chain. */
  private holds(flags: number): boolean {
    const own = (flags >>> 8) & 0xff;
    return own === this.chainScope || (own === SCOPE_EVM && this.chainIsEvm);
  }

  /**
   * Writes one label; returns -1 if `out` is too small. Fragments are copied eight bytes at a time, which costs less than a call of `set`.
   * They are copied as doubles, because integers of that size are objects. Only the bits of a NaN could change, and no eight bytes of UTF-8
   * are one.
   */
  private writeLabel(fragment: number, days: number, out: Uint8Array, offset: number): number {
    const { textView, outView } = this;
    const prefix = this.textWords[fragment * 2] as number;
    const suffix = this.textWords[fragment * 2 + 1] as number;
    // Whole numbers of eight bytes are written, up to seven bytes more than a part has; the next part overwrites them.
    if (offset + prefix + suffix + DAYS_BYTES_MAX + 8 > out.length)
      return this.writeTight(fragment, days, out, offset);
    let from = fragment * 8 + 8;
    let end = offset + prefix;
    for (let at = offset; at < end; at += 8, from += 8)
      outView.setFloat64(at, textView.getFloat64(from, true), true);
    from = (fragment * 8 + 8 + prefix + 3) & ~3;
    end = writeDays(days, out, end);
    const stop = end + suffix;
    for (let at = end; at < stop; at += 8, from += 8)
      outView.setFloat64(at, textView.getFloat64(from, true), true);
    return stop;
  }

  /** Writes one label near the end of `out`, where no extra bytes may be written. */
  private writeTight(fragment: number, days: number, out: Uint8Array, offset: number): number {
    const prefix = this.textWords[fragment * 2] as number;
    const suffix = this.textWords[fragment * 2 + 1] as number;
    const middle = new Uint8Array(DAYS_BYTES_MAX);
    const middleLength = writeDays(days, middle, 0);
    const stop = offset + prefix + middleLength + suffix;
    if (stop > out.length) return -1;
    const start = fragment * 8 + 8;
    const suffixStart = (start + prefix + 3) & ~3;
    out.set(this.texts.subarray(start, start + prefix), offset);
    out.set(middle.subarray(0, middleLength), offset + prefix);
    out.set(this.texts.subarray(suffixStart, suffixStart + suffix), stop - suffix);
    return stop;
  }
}

function writeDays(days: number, out: Uint8Array, offset: number): number {
  let end = writeDay(days & 0xffff, out, offset);
  for (let index = 0; index < BETWEEN.length; index++) out[end + index] = BETWEEN[index] as number;
  end += BETWEEN.length;
  return writeDay(days >>> 16, out, end);
}

function writeDay(day: number, out: Uint8Array, offset: number): number {
  if (day === NO_DAY) {
    for (let index = 0; index < 4; index++) out[offset + index] = NULL[index] as number;
    return offset + 4;
  }
  out[offset] = QUOTE;
  writeIsoDay(day, out, offset + 1);
  out[offset + 11] = QUOTE;
  return offset + 12;
}
