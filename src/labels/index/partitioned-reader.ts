/** Look-ups in a snapshot of several partitions. */
import type { AddressKey } from '../../chains/address/address.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { Label, LabelTemplate } from '../label.ts';
import { findInParts } from './find-many.ts';
import type { MappedReader } from './mapped-reader.ts';
import { readJsonAhead, readLabelsAhead } from './read-ahead.ts';
import { type LabelHandle, type LabelReader, NO_LABELS, NOT_LABELLED, type SnapshotMeta } from './reader.ts';
import { placeHash, SLOT_WORDS, writeSlot } from './slot.ts';
import type { TemplateDecoder } from './template-decoder.ts';
import { isUnified, withReceiver, withReceivers } from './unified.ts';

/** The partitions of a snapshot as one: the lowest bits of the place hash, and of a handle, are the number of the partition. */
export class PartitionedReader implements LabelReader {
  readonly meta: SnapshotMeta;
  private readonly readers: readonly MappedReader[];
  private readonly mask: number;
  private readonly decoder: TemplateDecoder;
  private readonly slot = new Int32Array(SLOT_WORDS);

  constructor(meta: SnapshotMeta, readers: readonly MappedReader[], decoder: TemplateDecoder) {
    this.meta = meta;
    this.readers = readers;
    this.decoder = decoder;
    this.mask = readers.length - 1;
  }

  find(keys: Uint8Array, offset: number, length: number): LabelHandle {
    if (length < 2) return NOT_LABELLED;
    const { slot } = this;
    writeSlot(keys, offset, length, slot, 0);
    const a = slot[0] as number;
    const b = slot[1] as number;
    const c = slot[2] as number;
    const d = slot[3] as number;
    const e = slot[4] as number;
    const f = slot[5] as number;
    const place = placeHash(a, b, c, d, e, f);
    const partition = place & this.mask;
    const inside = (this.readers[partition] as MappedReader).findPlaced(place, a, b, c, d, e, f);
    const found = inside < 0 ? NOT_LABELLED : inside * (this.mask + 1) + partition;
    return isUnified(keys, offset, length) ? withReceiver(this, found, keys, offset) : found;
  }

  findMany(
    keys: Uint8Array,
    offsets: Int32Array,
    lengths: Int32Array,
    count: number,
    handles: Float64Array,
  ): void {
    findInParts(this.readers, keys, offsets, lengths, count, handles);
    withReceivers(this, keys, offsets, lengths, count, handles);
  }

  readLabelsAhead(handles: Float64Array, count: number): void {
    readLabelsAhead(this.readers, this.decoder, handles, count);
  }

  readJsonAhead(handles: Float64Array, count: number): void {
    readJsonAhead(this.readers, handles, count);
  }

  labels(handle: LabelHandle, chain: ChainId): readonly Label[] {
    return handle < 0 ? NO_LABELS : this.readerOf(handle).labels(this.inner(handle), chain);
  }

  loneTemplate(handle: LabelHandle, chain: ChainId): number {
    return handle < 0 ? -1 : this.readerOf(handle).loneTemplate(this.inner(handle), chain);
  }

  lookup(key: AddressKey, chain: ChainId): readonly Label[] {
    return this.labels(this.find(key, 0, key.length), chain);
  }

  writeLabelsJson(handle: LabelHandle, chain: ChainId, out: Uint8Array, offset: number): number {
    const reader = handle < 0 ? (this.readers[0] as MappedReader) : this.readerOf(handle);
    return reader.writeLabelsJson(handle < 0 ? handle : this.inner(handle), chain, out, offset);
  }

  isSanctioned(handle: LabelHandle, chain: ChainId): boolean {
    return handle >= 0 && this.readerOf(handle).isSanctioned(this.inner(handle), chain);
  }

  eachSanctioned(chain: ChainId, visit: (address: Uint8Array) => void): void {
    for (const reader of this.readers) reader.eachSanctioned(chain, visit);
  }

  eachLabelled(
    chain: ChainId,
    isWanted: (label: LabelTemplate) => boolean,
    visit: (key: Uint8Array) => void,
  ): void {
    for (const reader of this.readers) reader.eachLabelled(chain, isWanted, visit);
  }

  private readerOf(handle: LabelHandle): MappedReader {
    return this.readers[handle & this.mask] as MappedReader;
  }

  private inner(handle: LabelHandle): LabelHandle {
    return Math.floor(handle / (this.mask + 1));
  }
}
