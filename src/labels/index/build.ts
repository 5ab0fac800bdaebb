/**
 * Builds a snapshot from segments: count, scatter into buckets, sort and merge inside each bucket, filter, write, publish. Memory use is
 * about 100 bytes per label and 1.2 KB per template. Readers keep the old snapshot until the last step; after a crash it stays published.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { PRIVATE_FOLDER } from '../../state/data-folder.ts';
import type { Label } from '../label.ts';
import { LABEL_LIMITS } from '../limits.ts';
import { CATEGORIES } from '../taxonomy.ts';
import type { BuildDeps, BuildOptions, BuildPhase } from './build-types.ts';
import { buildFilter, OPEN_FILTER, slotPlace } from './filter.ts';
import { beginBuild } from './folder.ts';
import {
  DAYS,
  FLAGS,
  FORMAT_VERSION,
  FRAGMENT,
  LABEL_FIELDS,
  MAP_BYTES,
  MULTIPLE,
  PARTITIONED_FORMAT,
  RECORD_WORDS,
  SANCTIONED,
  SANCTIONED_SOMEWHERE,
  type SnapshotLayout,
  type StoredMeta,
  SYNTHETIC,
  snapshotChecksum,
  TEMPLATE,
  TEMPLATE_WORDS,
} from './format.ts';
import type { LabelCounts, SnapshotMeta } from './reader.ts';
import {
  readSegment,
  SEGMENT_RECORD_WORDS,
  type Segment,
  type SegmentPart,
  splitSegment,
} from './segment.ts';
import { SLOT_WORDS } from './slot.ts';
import { openTexts } from './snapshot.ts';
import { type BuiltTemplates, beginTemplates } from './template-build.ts';
import { TemplateDecoder } from './template-decoder.ts';
import { categoryOf, type EncodedTemplates } from './template-table.ts';
import { SCOPES } from './template-text.ts';
import {
  type PartitionValues,
  writeEnvironment,
  writePartition,
  writeSharedMeta,
  writeSharedTexts,
} from './write-environment.ts';

/** Average addresses per bucket: one more cache line for the directory costs less than comparing a second record. */
const BUCKET_LOAD = 1.5;
/** Labels between two yields to the event loop and checks of the signal: about 20 ms of work. */
const PAUSE_EVERY = 1 << 18;

type Pause = (phase: BuildPhase, done: number) => Promise<void>;

/**
 * Builds and publishes the snapshot of all labels of the segments. If it throws, the previous snapshot stays published. An aborted signal
 * throws its reason.
 *
 * @throws STORE_BUSY if another build runs in the folder.
 * @throws INVALID_REQUEST if there are no labels or too many.
 * @throws STORE_CORRUPT or STORE_VERSION for an unreadable segment.
 */
export async function buildSnapshot(options: BuildOptions, deps: BuildDeps): Promise<SnapshotMeta> {
  const building = beginBuild(options.folder, deps);
  try {
    const meta = await buildInto(building.folder, options, deps);
    options.onProgress?.({ phase: 'publish', done: 1, total: 1 });
    building.publish(meta.dataVersion);
    return meta;
  } finally {
    building.end();
  }
}

async function buildInto(folder: string, options: BuildOptions, deps: BuildDeps): Promise<StoredMeta> {
  const segments = options.segments.map((ref) => readSegment(ref.path));
  const total = segments.reduce((sum, segment) => sum + segment.stats.labels, 0);
  if (total === 0) throw new AssayError('INVALID_REQUEST', 'There are no labels to build an index from.');
  if (total > LABEL_LIMITS.indexLabelsMax) {
    throw new AssayError(
      'INVALID_REQUEST',
      `An index can have at most ${LABEL_LIMITS.indexLabelsMax} labels (got ${total}).`,
    );
  }
  const pause: Pause = async (phase, done) => {
    options.onProgress?.({ phase, done, total });
    options.signal?.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  };

  const designations = options.designations ?? new Map();
  const templateBuild = beginTemplates(
    {
      segments: options.segments.map(({ path, source }) => ({
        path,
        date: source.publishedAt?.slice(0, 10) ?? null,
      })),
      designations,
    },
    total,
  );
  const build = { options, deps, segments, total, pause, folder, templateBuild };
  const partitions = partitionsFor(total, options.partitionLabels ?? LABEL_LIMITS.partitionLabelsMax);
  return partitions === 1 ? buildWhole(build) : buildPartitioned(build, partitions);
}

/** Returns the number of partitions of an index: a power of two. */
const partitionsFor = (labels: number, partitionLabels: number): number =>
  2 ** Math.max(0, Math.ceil(Math.log2(labels / partitionLabels)));

/** What both kinds of builds need. */
interface Build {
  readonly options: BuildOptions;
  readonly deps: BuildDeps;
  readonly segments: readonly Segment[];
  readonly total: number;
  readonly pause: Pause;
  readonly folder: string;
  readonly templateBuild: ReturnType<typeof beginTemplates>;
}

/** The values of one partition, or of the whole snapshot, with their layout and counts. */
interface BuiltRecords {
  readonly values: PartitionValues;
  readonly merged: Merged;
  readonly layout: Pick<SnapshotLayout, 'addresses' | 'bucketBits' | 'overflowWords' | 'filter'>;
  readonly sha256: { readonly records: string; readonly lookup: string };
}

/** Merges, filters and hashes records that are scattered into their buckets. */
async function finishRecords(
  records: Int32Array,
  starts: Uint32Array,
  bucketBits: number,
  templates: BuiltTemplates,
  { options, pause }: Pick<Build, 'options' | 'pause'>,
): Promise<BuiltRecords> {
  const merged = await mergeBuckets(records, starts, templates, options.compareLabels, pause);
  await pause('filter', 0);
  const filter = buildFilter(records, RECORD_WORDS, merged.addresses);
  await pause('filter', merged.addresses);
  // Duplicate labels made the first estimate too large; the result must not depend on it.
  const finalBits = bucketBitsFor(merged.addresses);
  const directory = finalBits === bucketBits ? starts : directoryOf(records, merged.addresses, finalBits);
  const values = {
    records: bytesOf(records.subarray(0, merged.addresses * RECORD_WORDS)),
    lookup: Buffer.concat([bytesOf(directory), bytesOf(merged.overflow), filter.bytes]),
  };
  return {
    values,
    merged,
    layout: {
      addresses: merged.addresses,
      bucketBits: finalBits,
      overflowWords: merged.overflow.length,
      filter: filter.shape,
    },
    sha256: { records: sha256Of(values.records), lookup: sha256Of(values.lookup) },
  };
}

const layoutOf = (
  built: Pick<BuiltRecords, 'layout'>,
  { encoded, count }: BuiltTemplates,
  sha256: SnapshotLayout['sha256'],
): SnapshotLayout => ({
  addresses: built.layout.addresses,
  labelFields: LABEL_FIELDS,
  bucketBits: built.layout.bucketBits,
  overflowWords: built.layout.overflowWords,
  filter: built.layout.filter,
  templates: count,
  sharedAt: encoded.sharedAt,
  shared: encoded.shared,
  scopes: SCOPES,
  categories: CATEGORIES,
  sourceIds: encoded.sourceIds,
  sha256,
});

function requireFit(bytes: number): void {
  if (bytes > MAP_BYTES - (1 << 20))
    throw new AssayError('INVALID_REQUEST', `The snapshot would be larger than ${MAP_BYTES} bytes.`);
}

function metaOf(
  { options, deps, segments }: Build,
  formatVersion: number,
  layout: SnapshotLayout,
  counts: Counts,
): StoredMeta {
  const designated = [...(options.designations ?? new Map()).values()].flat();
  const checksum = snapshotChecksum(layout.sha256, designated);
  return {
    formatVersion,
    dataVersion: checksum.slice(0, 16),
    builtAt: isoTime(deps.clock.now()),
    ...counts,
    sources: options.segments.map((ref, index) => ({
      ...ref.source,
      labels: (segments[index] as Segment).stats.labels,
    })),
    checksum,
    ...(designated.length === 0 ? {} : { designations: designated }),
    layout,
  };
}

async function buildWhole(build: Build): Promise<StoredMeta> {
  const { segments, total, pause, folder, templateBuild } = build;
  const bucketBits = bucketBitsFor(total);
  let counted: Counted;
  let records: Int32Array;
  let templates: BuiltTemplates;
  try {
    const parts = segments.map((segment) => partOf(segment));
    counted = await countBuckets(parts, bucketBits, pause);
    const building = templateBuild.finish(counted.used);
    // Awaited below, after the work that runs in parallel; an error of that work is thrown first.
    building.catch(() => undefined);
    records = await scatter(parts, counted.starts, total, bucketBits, pause);
    templates = await building;
  } finally {
    await templateBuild.close();
  }
  const built = await finishRecords(records, counted.starts, bucketBits, templates, build);
  const texts = templates.encoded.bytes;
  requireFit(built.values.records.length + built.values.lookup.length + texts.length);
  const layout = layoutOf(built, templates, { ...built.sha256, texts: sha256Of(texts) });
  const meta = metaOf(build, FORMAT_VERSION, layout, countLabels(templates, built.merged));
  await pause('write', 0);
  await writeEnvironment(folder, meta, { ...built.values, texts });
  await pause('write', total);
  return meta;
}

/**
 * Builds an index of several partitions, one after the other, so that memory does not grow with the number of labels. First, the records
 * of all segments are split into files by partition.
 */
async function buildPartitioned(build: Build, partitions: number): Promise<StoredMeta> {
  const { segments, pause, folder, templateBuild } = build;
  const parts = join(folder, 'parts');
  mkdirSync(parts, PRIVATE_FOLDER);
  let templates: BuiltTemplates;
  const split: (readonly SegmentPart[])[] = [];
  try {
    const used: Uint8Array<ArrayBuffer>[] = [];
    let done = 0;
    for (const [number, segment] of segments.entries()) {
      const usedHere = new Uint8Array(segment.stats.templates);
      const { parts: made, steps } = splitSegment(
        segment,
        partitions,
        join(parts, String(number)),
        (words, at) => slotPlace(words, at) & (partitions - 1),
      );
      for (const [words, count] of steps) {
        noteTemplates(words, count, usedHere, segment.path);
        done += count;
        if (done % PAUSE_EVERY === 0) await pause('read', done);
      }
      split.push(made);
      used.push(usedHere);
    }
    templates = await templateBuild.finish(used);
  } finally {
    await templateBuild.close();
  }
  const textsSha256 = sha256Of(templates.encoded.bytes);
  requireFit(templates.encoded.bytes.length);
  await writeSharedTexts(folder, templates.encoded.bytes);
  const shared = openTexts(folder);
  let meta: StoredMeta;
  try {
    templates = withTexts(templates, shared.texts);
    meta = await buildPartitions(build, split, templates, textsSha256);
  } finally {
    await shared.close();
  }
  rmSync(parts, { recursive: true, force: true });
  await writeSharedMeta(folder, meta);
  return meta;
}

/** Returns the templates with the same texts in other memory. */
const withTexts = (templates: BuiltTemplates, bytes: Uint8Array): BuiltTemplates => ({
  ...templates,
  encoded: {
    ...templates.encoded,
    bytes,
    table: new Int32Array(bytes.buffer, bytes.byteOffset, templates.count * TEMPLATE_WORDS),
  },
});

/** Builds and writes one partition after the other. Returns the meta of the whole. */
async function buildPartitions(
  build: Build,
  split: readonly (readonly SegmentPart[])[],
  templates: BuiltTemplates,
  textsSha256: string,
): Promise<StoredMeta> {
  const { total, pause, folder } = build;
  const partitions = split[0]?.length ?? 0;
  const layouts: SnapshotLayout[] = [];
  const sums: Merged = {
    addresses: 0,
    overflow: new Int32Array(0),
    labelsOfTemplate: new Uint32Array(templates.count),
    realAddresses: 0,
  };
  for (let partition = 0; partition < partitions; partition++) {
    const here = split.map((made) => made[partition] as SegmentPart);
    const labels = here.reduce((sum, part) => sum + part.labels, 0);
    const bucketBits = bucketBitsFor(Math.max(labels, 2));
    const { starts } = await countBuckets(here, bucketBits, pause);
    const records = await scatter(here, starts, labels, bucketBits, pause);
    const built = await finishRecords(records, starts, bucketBits, templates, build);
    requireFit(built.values.records.length + built.values.lookup.length);
    await writePartition(folder, partition, built.values);
    layouts.push(layoutOf(built, templates, { ...built.sha256, texts: textsSha256 }));
    addTo(sums, built.merged);
    await pause('write', Math.round((total * (partition + 1)) / partitions));
  }
  const joined = (name: 'records' | 'lookup'): string =>
    createHash('sha256')
      .update(layouts.map(({ sha256 }) => sha256[name]).join(' '))
      .digest('hex');
  const whole = layoutOf(
    { layout: { addresses: sums.addresses, bucketBits: 0, overflowWords: 0, filter: OPEN_FILTER } },
    templates,
    { records: joined('records'), lookup: joined('lookup'), texts: textsSha256 },
  );
  const layout = { ...whole, partitions: layouts };
  return metaOf(build, PARTITIONED_FORMAT, layout, countLabels(templates, sums));
}

/** Adds the counts of a partition. */
function addTo(sums: Merged, merged: Merged): void {
  sums.addresses += merged.addresses;
  sums.realAddresses += merged.realAddresses;
  for (const [template, labels] of merged.labelsOfTemplate.entries())
    sums.labelsOfTemplate[template] = (sums.labelsOfTemplate[template] as number) + labels;
}

/** A whole segment as a part: its checksum is verified by the first pass. */
function partOf(segment: Segment): SegmentPart {
  let isChecked = false;
  return {
    labels: segment.stats.labels,
    templates: segment.stats.templates,
    chunks() {
      const check = !isChecked;
      isChecked = true;
      return segment.chunks(check);
    },
  };
}

/** Marks the templates that records refer to. Throws STORE_CORRUPT if one does not exist. */
function noteTemplates(words: Int32Array, count: number, used: Uint8Array, path: string): void {
  for (let at = SLOT_WORDS, end = count * SEGMENT_RECORD_WORDS; at < end; at += SEGMENT_RECORD_WORDS) {
    const template = words[at] as number;
    if (template >>> 0 >= used.length)
      throw new AssayError('STORE_CORRUPT', `${path} refers to a template that it does not have.`);
    used[template] = 1;
  }
}

const bucketBitsFor = (addresses: number): number =>
  Math.min(Math.max(Math.ceil(Math.log2(addresses / BUCKET_LOAD)), 4), 26);

/** Builds the directory of records that are sorted by place hash. */
function directoryOf(records: Int32Array, addresses: number, bucketBits: number): Uint32Array {
  const directory = new Uint32Array((1 << bucketBits) + 1);
  for (let record = 0; record < addresses; record++) {
    const bucket = slotPlace(records, record * RECORD_WORDS) >>> (32 - bucketBits);
    directory[bucket + 1] = (directory[bucket + 1] as number) + 1;
  }
  for (let bucket = 1; bucket < directory.length; bucket++) {
    directory[bucket] = (directory[bucket] as number) + (directory[bucket - 1] as number);
  }
  return directory;
}

const bytesOf = (words: Int32Array | Uint32Array): Uint8Array =>
  new Uint8Array(words.buffer, words.byteOffset, words.byteLength);

const sha256Of = (bytes: Uint8Array): string => {
  const digest = createHash('sha256');
  // One update takes at most 2 GiB.
  for (let from = 0; from < bytes.length; from += 1 << 28)
    digest.update(bytes.subarray(from, from + (1 << 28)));
  return digest.digest('hex');
};

interface Counted {
  readonly starts: Uint32Array;
  /** For each segment one byte per template: whether it has labels. */
  readonly used: readonly Uint8Array<ArrayBuffer>[];
}

/** First pass: counts where each bucket starts and which templates have labels. Verifies the checksums of the segments at the same time. */
async function countBuckets(
  segments: readonly SegmentPart[],
  bucketBits: number,
  pause: Pause,
): Promise<Counted> {
  const starts = new Uint32Array((1 << bucketBits) + 1);
  const shift = 32 - bucketBits;
  const used: Uint8Array<ArrayBuffer>[] = [];
  let done = 0;
  for (const segment of segments) {
    const usedHere = new Uint8Array(segment.templates);
    for (const [words, count] of segment.chunks()) {
      for (let at = 0, end = count * SEGMENT_RECORD_WORDS; at < end; at += SEGMENT_RECORD_WORDS) {
        const bucket = slotPlace(words, at) >>> shift;
        starts[bucket + 1] = (starts[bucket + 1] as number) + 1;
        const template = words[at + SLOT_WORDS] as number;
        if (template >>> 0 >= usedHere.length) {
          throw new AssayError(
            'STORE_CORRUPT',
            'A label segment refers to a template that it does not have.',
          );
        }
        usedHere[template] = 1;
      }
      done += count;
      if (done % PAUSE_EVERY === 0) await pause('read', done);
    }
    used.push(usedHere);
  }
  for (let bucket = 1; bucket < starts.length; bucket++) {
    starts[bucket] = (starts[bucket] as number) + (starts[bucket - 1] as number);
  }
  return { starts, used };
}

/** Second pass: writes every label into its bucket, with the number of its template among the templates of all segments. */
async function scatter(
  segments: readonly SegmentPart[],
  starts: Uint32Array,
  total: number,
  bucketBits: number,
  pause: Pause,
): Promise<Int32Array> {
  const records = new Int32Array(total * RECORD_WORDS);
  const next = starts.slice();
  const shift = 32 - bucketBits;
  let done = 0;
  let firstTemplate = 0;
  for (const segment of segments) {
    for (const [words, count] of segment.chunks()) {
      for (let at = 0, end = count * SEGMENT_RECORD_WORDS; at < end; at += SEGMENT_RECORD_WORDS) {
        const bucket = slotPlace(words, at) >>> shift;
        const place = next[bucket] as number;
        next[bucket] = place + 1;
        const to = place * RECORD_WORDS;
        records[to] = words[at] as number;
        records[to + 1] = words[at + 1] as number;
        records[to + 2] = words[at + 2] as number;
        records[to + 3] = words[at + 3] as number;
        records[to + 4] = words[at + 4] as number;
        records[to + 5] = words[at + 5] as number;
        records[to + TEMPLATE] = firstTemplate + (words[at + SLOT_WORDS] as number);
        records[to + DAYS] = words[at + SLOT_WORDS + 1] as number;
      }
      done += count;
      if (done % PAUSE_EVERY === 0) await pause('sort', done);
    }
    firstTemplate += segment.templates;
  }
  return records;
}

interface Merged {
  addresses: number;
  readonly overflow: Int32Array;
  /** Labels of each template; the same label of an address counts once. */
  readonly labelsOfTemplate: Uint32Array;
  realAddresses: number;
}

/**
 * Gives the templates their numbers in the snapshot, sorts each bucket by place hash, slot and template, and merges equal labels. It moves
 * the labels of addresses with several labels to the overflow area in the order of `compareLabels`, and closes the gaps. `records` and
 * `starts` become those of the snapshot.
 */
async function mergeBuckets(
  records: Int32Array,
  starts: Uint32Array,
  { encoded, count, numbers }: BuiltTemplates,
  compareLabels: (a: Label, b: Label) => number,
  pause: Pause,
): Promise<Merged> {
  const { table } = encoded;
  const labelsOfTemplate = new Uint32Array(count);
  const held = new Int32Array(RECORD_WORDS);
  const ranked = rankBy(compareLabels, encoded);
  let overflow = new Int32Array(1024);
  let overflowEnd = 0;
  let out = 0;
  let realAddresses = 0;
  const buckets = starts.length - 1;
  let start = 0;
  for (let bucket = 0; bucket < buckets; bucket++) {
    const end = starts[bucket + 1] as number;
    starts[bucket] = out;
    for (let at = start * RECORD_WORDS + TEMPLATE; at < end * RECORD_WORDS; at += RECORD_WORDS)
      records[at] = numbers[records[at] as number] as number;
    if (end - start > 1) sortBucket(records, start, end, held);
    for (let from = start; from < end; ) {
      let same = from + 1;
      while (same < end && sameSlot(records, from, same)) same++;
      const at = from * RECORD_WORDS;
      const to = out * RECORD_WORDS;
      const kept = same - from === 1 ? 1 : mergeEqualLabels(records, from, same);
      if (kept === 1) {
        const template = records[at + TEMPLATE] as number;
        const flags = table[template * TEMPLATE_WORDS + 3] as number;
        labelsOfTemplate[template] = (labelsOfTemplate[template] as number) + 1;
        if ((flags & SYNTHETIC) === 0) realAddresses++;
        if (to !== at) records.copyWithin(to, at, at + FLAGS);
        records[to + FLAGS] = flags;
        records[to + FRAGMENT] = table[template * TEMPLATE_WORDS] as number;
      } else {
        if (overflowEnd + 1 + 2 * kept > overflow.length) {
          const larger = new Int32Array((overflow.length + kept) * 2);
          larger.set(overflow);
          overflow = larger;
        }
        const order = ranked(records, from, kept);
        const position = overflowEnd;
        overflow[overflowEnd++] = kept;
        let flags = MULTIPLE | SYNTHETIC;
        for (const index of order) {
          const label = index * RECORD_WORDS;
          const template = records[label + TEMPLATE] as number;
          const templateFlags = table[template * TEMPLATE_WORDS + 3] as number;
          labelsOfTemplate[template] = (labelsOfTemplate[template] as number) + 1;
          flags |= templateFlags & (SANCTIONED | SANCTIONED_SOMEWHERE);
          if ((templateFlags & SYNTHETIC) === 0) flags &= ~SYNTHETIC;
          overflow[overflowEnd++] = template;
          overflow[overflowEnd++] = records[label + DAYS] as number;
        }
        if ((flags & SYNTHETIC) === 0) realAddresses++;
        if (to !== at) records.copyWithin(to, at, at + SLOT_WORDS);
        records[to + TEMPLATE] = position;
        records[to + DAYS] = 0;
        records[to + FLAGS] = flags;
        records[to + FRAGMENT] = 0;
      }
      out++;
      from = same;
    }
    start = end;
    if (bucket % PAUSE_EVERY === 0) await pause('sort', start);
  }
  starts[buckets] = out;
  return { addresses: out, overflow: overflow.slice(0, overflowEnd), labelsOfTemplate, realAddresses };
}

/**
 * Sorts records [start, end) by place hash, slot, template and days. Insertion sort, because a bucket holds one or two records. The hash
 * comes first, so that the order of all records is the same for any number of buckets.
 */
function sortBucket(records: Int32Array, start: number, end: number, held: Int32Array): void {
  if (end - start > 64) {
    sortLargeBucket(records, start, end);
    return;
  }
  for (let index = start + 1; index < end; index++) {
    let place = index;
    while (place > start && compareRecords(records, place - 1, records, index) > 0) place--;
    if (place === index) continue;
    const at = index * RECORD_WORDS;
    for (let word = 0; word < RECORD_WORDS; word++) held[word] = records[at + word] as number;
    records.copyWithin((place + 1) * RECORD_WORDS, place * RECORD_WORDS, at);
    records.set(held, place * RECORD_WORDS);
  }
}

/** For one address with thousands of labels, or an input made to collide: insertion sort would take quadratic time. */
function sortLargeBucket(records: Int32Array, start: number, end: number): void {
  const copy = records.slice(start * RECORD_WORDS, end * RECORD_WORDS);
  const order = Array.from({ length: end - start }, (_, index) => index);
  order.sort((a, b) => compareRecords(copy, a, copy, b));
  for (const [place, index] of order.entries()) {
    records.set(
      copy.subarray(index * RECORD_WORDS, (index + 1) * RECORD_WORDS),
      (start + place) * RECORD_WORDS,
    );
  }
}

function compareRecords(a: Int32Array, first: number, b: Int32Array, second: number): number {
  const left = first * RECORD_WORDS;
  const right = second * RECORD_WORDS;
  const order = (slotPlace(a, left) >>> 0) - (slotPlace(b, right) >>> 0);
  if (order !== 0) return order;
  for (let word = 0; word < FLAGS; word++) {
    const difference = (a[left + word] as number) - (b[right + word] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}

function sameSlot(records: Int32Array, first: number, second: number): boolean {
  const left = first * RECORD_WORDS;
  const right = second * RECORD_WORDS;
  for (let word = 0; word < SLOT_WORDS; word++)
    if (records[left + word] !== records[right + word]) return false;
  return true;
}

/**
 * Merges each run of equal templates in [from, to) into one label: earliest first day, latest last day. Returns the number of labels left.
 */
function mergeEqualLabels(records: Int32Array, from: number, to: number): number {
  let kept = 1;
  for (let index = from + 1; index < to; index++) {
    const at = index * RECORD_WORDS;
    const last = (from + kept - 1) * RECORD_WORDS;
    if (records[at + TEMPLATE] === records[last + TEMPLATE]) {
      records[last + DAYS] = mergeDays(records[last + DAYS] as number, records[at + DAYS] as number);
      continue;
    }
    const place = (from + kept) * RECORD_WORDS;
    records[place + TEMPLATE] = records[at + TEMPLATE] as number;
    records[place + DAYS] = records[at + DAYS] as number;
    kept++;
  }
  return kept;
}

function mergeDays(a: number, b: number): number {
  const firstA = a & 0xffff;
  const firstB = b & 0xffff;
  const first = firstA === 0 ? firstB : firstB === 0 ? firstA : Math.min(firstA, firstB);
  return first | (Math.max(a >>> 16, b >>> 16) << 16);
}

/** Returns a function that orders the records [from, from + count) of one address, best label first. */
function rankBy(
  compareLabels: (a: Label, b: Label) => number,
  { bytes, sharedAt, sourceIds }: EncodedTemplates,
): (records: Int32Array, from: number, count: number) => number[] {
  const layout = { sharedAt, sourceIds, scopes: SCOPES, categories: CATEGORIES };
  const decoder = new TemplateDecoder(bytes, layout);
  return (records, from, count) => {
    const labels = Array.from({ length: count }, (_, index) => {
      const at = (from + index) * RECORD_WORDS;
      const id = records[at + TEMPLATE] as number;
      return { index: from + index, id, label: decoder.label(id, records[at + DAYS] as number) };
    });
    // Template ids are in the order of their texts, so content breaks a tie.
    labels.sort((a, b) => compareLabels(a.label, b.label) || a.id - b.id);
    return labels.map((entry) => entry.index);
  };
}

type Counts = Pick<
  StoredMeta,
  'real' | 'synthetic' | 'byChain' | 'byCategory' | 'syntheticByChain' | 'syntheticByCategory'
>;

function countLabels({ encoded, count }: BuiltTemplates, merged: Merged): Counts {
  const tally = () => ({
    labels: 0,
    byChain: {} as Record<string, number>,
    byCategory: {} as Record<string, number>,
  });
  const real = tally();
  const synthetic = tally();
  for (let id = 0; id < count; id++) {
    const flags = encoded.table[id * TEMPLATE_WORDS + 3] as number;
    const scope = SCOPES[(flags >>> 8) & 0xff] as string;
    const category = categoryOf(encoded, id);
    const counts = (flags & SYNTHETIC) === 0 ? real : synthetic;
    const labels = merged.labelsOfTemplate[id] as number;
    counts.labels += labels;
    counts.byChain[scope] = (counts.byChain[scope] ?? 0) + labels;
    counts.byCategory[category] = (counts.byCategory[category] ?? 0) + labels;
  }
  const counts = (labels: number, entities: number, addresses: number): LabelCounts => ({
    addresses,
    labels,
    entities,
  });
  return {
    real: counts(real.labels, encoded.realEntities, merged.realAddresses),
    synthetic: counts(synthetic.labels, encoded.syntheticEntities, merged.addresses - merged.realAddresses),
    byChain: real.byChain,
    byCategory: real.byCategory,
    ...(synthetic.labels === 0
      ? {}
      : { syntheticByChain: synthetic.byChain, syntheticByCategory: synthetic.byCategory }),
  };
}
