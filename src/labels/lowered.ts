/**
 * Restores base58 addresses with capitals that a publisher lost. A lower-cased text is not an address, and nothing matches it with an
 * address without regard to case, except this join: an address seen on chain, with a valid checksum, has exactly one lower-cased text.
 * If its text is among those kept apart, the label holds for the address. If two addresses have the same text, neither gets it.
 */
import { createHash } from 'node:crypto';
import type { AddressKey } from '../chains/address/address.ts';
import { formatAddressKey } from '../chains/address/parse.ts';
import { type ChainId, chainOf } from '../chains/registry.ts';
import type { DatasetReport, ImportDeps } from './import-report.ts';
import { importSegment } from './import-segment.ts';
import { createSegmentWriter, readSegment, SEGMENT_RECORD_WORDS } from './index/segment.ts';
import { SLOT_WORDS, writeSlot } from './index/slot.ts';
import { templateFromText } from './index/template-text.ts';
import type { LabelTemplate } from './label.ts';
import type { DatasetRow } from './store.ts';

/** Name of the segment with the lower-cased addresses inside the folder of their dataset. */
export const LOWERED_SEGMENT = 'lowered';

/** Dataset of the restored addresses. */
export const RESTORED_DATASET = 'restored';

/** Kind byte of the keys of lower-cased texts: no address has it. */
const LOWERED_KIND = 0xff;

/** Returns the key under which a lower-cased text is kept; the slot of a key of this length is a hash of the text. */
export function loweredKey(chain: ChainId, text: string): Uint8Array {
  const key = Buffer.alloc(text.length + 2);
  key[0] = chainOf(chain).keyByte;
  key[1] = LOWERED_KIND;
  key.write(text, 2, 'latin1');
  return key;
}

export interface RestoreRequest {
  readonly chain: ChainId;
  /** Keys of addresses seen on chain. */
  readonly seen: Iterable<Uint8Array>;
  readonly onProgress?: (addresses: number) => void;
  readonly signal?: AbortSignal;
}

export interface RestoreReport {
  /** Lower-cased texts that are kept apart. */
  readonly kept: number;
  /** Addresses seen on chain that were compared. */
  readonly seen: number;
  /** Texts with exactly one original among the addresses. */
  readonly restored: number;
  /** Texts with several possible originals, which stay apart. */
  readonly ambiguous: number;
  readonly dataset: DatasetReport | null;
}

/** Addresses between two checks of the signal: some milliseconds of work. */
const CHECK_EVERY = 1 << 14;

/** The lower-cased texts of one dataset, by their slots, with the one key found for each. */
class LoweredTable {
  readonly kept: number;
  readonly templates: readonly string[];
  readonly #records: Int32Array;
  /** Number of a record plus one; zero if the place is free. */
  readonly #places: Int32Array;
  readonly #mask: number;
  readonly #found = new Map<number, Uint8Array | null>();
  readonly #slot = new Int32Array(SLOT_WORDS);

  constructor(path: string) {
    const segment = readSegment(path);
    this.kept = segment.stats.labels;
    this.templates = segment.templateTexts;
    this.#records = new Int32Array(this.kept * SEGMENT_RECORD_WORDS);
    let filled = 0;
    for (const [words, count] of segment.chunks(true)) {
      this.#records.set(words.subarray(0, count * SEGMENT_RECORD_WORDS), filled);
      filled += count * SEGMENT_RECORD_WORDS;
    }
    const size = 1 << Math.max(4, Math.ceil(Math.log2(this.kept * 2 + 2)));
    this.#mask = size - 1;
    this.#places = new Int32Array(size);
    for (let record = 0; record < this.kept; record++) {
      // The slot is a hash already: its second word is uniform.
      let place = (this.#records[record * SEGMENT_RECORD_WORDS + 1] as number) & this.#mask;
      while (this.#places[place] !== 0) place = (place + 1) & this.#mask;
      this.#places[place] = record + 1;
    }
  }

  /** Compares the address of a key with all texts. */
  take(key: Uint8Array, chain: ChainId): void {
    const text = formatAddressKey(key as AddressKey, chain);
    const lowered = text.toLowerCase();
    // A text without capitals is an address in its own right, which the import has taken as it is.
    if (lowered === text) return;
    const wanted = loweredKey(chain, lowered);
    writeSlot(wanted, 0, wanted.length, this.#slot, 0);
    let place = (this.#slot[1] as number) & this.#mask;
    for (; ; place = (place + 1) & this.#mask) {
      const record = (this.#places[place] as number) - 1;
      if (record < 0) return;
      if (!this.#isSame(record)) continue;
      const before = this.#found.get(record);
      if (before === undefined) this.#found.set(record, Uint8Array.from(key));
      else if (before !== null && Buffer.compare(before, key) !== 0) this.#found.set(record, null);
    }
  }

  #isSame(record: number): boolean {
    const at = record * SEGMENT_RECORD_WORDS;
    for (let word = 0; word < SLOT_WORDS; word++)
      if (this.#records[at + word] !== this.#slot[word]) return false;
    return true;
  }

  /** Returns the restored keys with the numbers of their templates, in the order of the records. */
  *restored(): Generator<{ readonly key: Uint8Array; readonly template: number }> {
    for (const record of [...this.#found.keys()].sort((a, b) => a - b)) {
      const key = this.#found.get(record) ?? null;
      if (key === null) continue;
      yield { key, template: this.#records[record * SEGMENT_RECORD_WORDS + SLOT_WORDS] as number };
    }
  }

  get ambiguous(): number {
    let count = 0;
    for (const key of this.#found.values()) if (key === null) count++;
    return count;
  }
}

/**
 * Joins the lower-cased addresses of MBAL with addresses seen on chain, and imports the restored labels as the dataset `restored`.
 * Running it again with more addresses replaces that dataset.
 *
 * @throws NOT_FOUND if no dataset has lower-cased addresses
 * @throws STORE_BUSY while another import runs
 */
export async function restoreLowered(
  row: DatasetRow,
  request: RestoreRequest,
  deps: ImportDeps,
): Promise<RestoreReport> {
  const { chain, seen, signal, onProgress } = request;
  const path = deps.store.segmentPath(row, { name: LOWERED_SEGMENT, when: 'always', labels: 0 });
  const table = new LoweredTable(path);
  let compared = 0;
  for (const key of seen) {
    table.take(key, chain);
    if (++compared % CHECK_EVERY !== 0) continue;
    onProgress?.(compared);
    signal?.throwIfAborted();
  }
  const restored = [...table.restored()];
  const { ambiguous, kept } = table;
  if (restored.length === 0) return { kept, seen: compared, restored: 0, ambiguous, dataset: null };
  const hash = createHash('sha256').update(row.contentHash);
  for (const { key } of restored) hash.update(key);
  const dataset = await importSegment(
    {
      source: row.source,
      dataset: RESTORED_DATASET,
      layout: `${row.layout}_RESTORED`,
      contentHash: hash.digest('hex'),
      files: row.files,
      publishedAt: row.publishedAt,
      async write(segmentPath) {
        const writer = createSegmentWriter(segmentPath);
        const templates = table.templates.map((text): LabelTemplate => {
          const template = templateFromText(text);
          return { ...template, tags: [...new Set([...template.tags, 'restored-capitals'])] };
        });
        for (const { key, template } of restored) {
          const id = writer.template(templates[template] as LabelTemplate);
          writer.add(key, 0, key.length, id, 0, 0);
        }
        const { labels } = await writer.close();
        return { labels, records: labels };
      },
    },
    deps,
  );
  return { kept, seen: compared, restored: restored.length, ambiguous, dataset };
}
