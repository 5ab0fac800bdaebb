/** Writes the mapped part of an index: the address table and the entries. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import type { TransferGraph } from '../graph/graph.ts';
import { ByteWriter } from '../graph/store/bytes.ts';
import { placeHash, SLOT_WORDS, writeSlot } from '../labels/index/slot.ts';
import type { EarlierParty } from '../screening/before-designation.ts';
import { syncFolder } from '../state/atomic-file.ts';
import { noteFinishedSize } from '../state/finished-size.ts';
import { openEnvironment } from '../state/lmdb.ts';
import {
  checksumOf,
  ENTRY_WORD,
  INDEX_FILE,
  type IndexMeta,
  NODE_WORD,
  PLACE_WORDS,
  SIZE_FILE,
  TABLE_LOAD,
  VALUE_KEYS,
} from './format.ts';
import { type ExposureRecord, writeRecord } from './record.ts';

/** Space for LMDB's own pages in addition to the values. */
const SLACK_BYTES = 16 * 1024 * 1024;
const PAGE_BYTES = 4_096;
/**
 * Maximum number of designated parties in the meta, some 200 bytes each: lists link a few hundred entities, and labels may name each in
 * several ways.
 */
const PARTIES_MAX = 10_000;

/** Returns the first place of a lookup: the upper part of a 64-bit product, computed without 64-bit numbers. */
export const firstPlace = (hash: number, places: number): number =>
  Math.floor(((hash >>> 0) / 2 ** 32) * places);

/** Collects entries, in any order of addresses. */
export class EntryWriter {
  readonly #out = new ByteWriter(2 ** 20);
  readonly #places: Uint32Array;
  /** Designated parties that entries reference, and their indices by their JSON text. */
  readonly parties: EarlierParty[] = [];
  readonly #numbers = new Map<string, number>();
  count = 0;

  constructor(nodeCount: number) {
    this.#places = new Uint32Array(nodeCount + 1);
    for (let byte = 0; byte < 4; byte++) this.#out.byte(0);
  }

  add(node: number, record: ExposureRecord): void {
    this.#places[node] = this.#out.length / 4;
    writeRecord(this.#out, record, (party) => this.#numberOf(party));
    while (this.#out.length % 4 !== 0) this.#out.byte(0);
    this.count++;
  }

  /** Returns null if the list is full: entries then contain the texts themselves. */
  #numberOf(party: EarlierParty): number | null {
    const name = JSON.stringify(party);
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    if (this.parties.length === PARTIES_MAX) return null;
    const number = this.parties.push(party) - 1;
    this.#numbers.set(name, number);
    return number;
  }

  placeOf(node: number): number {
    return this.#places[node] as number;
  }

  get bytes(): Uint8Array {
    return this.#out.bytes.subarray(0, this.#out.length);
  }
}

/** Builds the table over all addresses of the graph. */
function tableOf(graph: TransferGraph, entries: EntryWriter, places: number): Int32Array {
  const table = new Int32Array(places * PLACE_WORDS);
  const slot = new Int32Array(SLOT_WORDS);
  for (let node = 1; node <= graph.nodeCount; node++) {
    const key = graph.keyOf(node);
    writeSlot(key, 0, key.length, slot, 0);
    const [a, b, c, d, e, f] = slot as unknown as [number, number, number, number, number, number];
    let place = firstPlace(placeHash(a, b, c, d, e, f), places);
    while (table[place * PLACE_WORDS + NODE_WORD] !== 0) place = place + 1 === places ? 0 : place + 1;
    const at = place * PLACE_WORDS;
    table.set(slot, at);
    table[at + NODE_WORD] = node;
    table[at + ENTRY_WORD] = entries.placeOf(node);
  }
  return table;
}

export type MetaWithoutSizes = Omit<
  IndexMeta,
  | 'parties'
  | 'addresses'
  | 'entries'
  | 'tablePlaces'
  | 'tableBytes'
  | 'entryBytes'
  | 'tableChecksum'
  | 'entryChecksum'
>;

/** Writes `folder`/index.mdb; it is durable when the promise resolves. */
export async function writeIndex(
  folder: string,
  { graph, entries }: { readonly graph: TransferGraph; readonly entries: EntryWriter },
  given: MetaWithoutSizes,
): Promise<IndexMeta> {
  const places = Math.max(8, Math.ceil(graph.nodeCount / TABLE_LOAD));
  const table = tableOf(graph, entries, places);
  const tableBytes = Buffer.from(table.buffer, table.byteOffset, table.byteLength);
  const entryBytes = Buffer.from(entries.bytes.buffer, entries.bytes.byteOffset, entries.bytes.length);
  const meta: IndexMeta = {
    ...given,
    parties: entries.parties,
    addresses: graph.nodeCount,
    entries: entries.count,
    tablePlaces: places,
    tableBytes: tableBytes.length,
    entryBytes: entryBytes.length,
    tableChecksum: checksumOf(tableBytes),
    entryChecksum: checksumOf(entryBytes),
  };
  const path = join(folder, INDEX_FILE);
  const environment = openEnvironment(path, {
    encoding: 'binary',
    keyEncoding: 'binary',
    noSync: true,
    noMemInit: true,
    mapSize: Math.ceil((tableBytes.length + entryBytes.length + SLACK_BYTES) / PAGE_BYTES) * PAGE_BYTES,
  });
  try {
    environment.putSync(VALUE_KEYS.table, tableBytes);
    environment.putSync(VALUE_KEYS.entries, entryBytes);
    environment.putSync(VALUE_KEYS.meta, Buffer.from(JSON.stringify(meta)));
  } finally {
    await environment.close();
  }
  const file = openSync(path, 'r+');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  noteFinishedSize(path, join(folder, SIZE_FILE));
  syncFolder(folder);
  return meta;
}
