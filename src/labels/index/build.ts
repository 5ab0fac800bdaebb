/**
 * Builds a snapshot from segments: count, distribute to regions, sort each region, filter, merge, write, publish. Memory use is
 * about 90 bytes per label and 1.2 KB per template. Readers keep the old snapshot until the last step; after a crash it stays published.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { freeMemory } from '../../base/free-memory.ts';
import { collectObjectsNow } from '../../base/old-objects.ts';
import { PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { LABEL_LIMITS } from '../limits.ts';
import { CATEGORIES } from '../taxonomy.ts';
import { type BuildThread, type Hashed, startBuildThread } from './build-thread.ts';
import type { BuildDeps, BuildOptions } from './build-types.ts';
import { buildFilter, OPEN_FILTER, slotPlace } from './filter.ts';
import { beginBuild } from './folder.ts';
import {
  FORMAT_VERSION,
  LABEL_FIELDS,
  MAP_BYTES,
  PARTITIONED_FORMAT,
  RECORD_WORDS,
  type SnapshotLayout,
  type StoredMeta,
  SYNTHETIC,
  snapshotChecksum,
  TEMPLATE_WORDS,
  valueChecksum,
} from './format.ts';
import { type BuiltLookup, buildLookup } from './lookup.ts';
import { type Merged, mergeLabels } from './merge-labels.ts';
import type { LabelCounts, SnapshotMeta } from './reader.ts';
import { readSegment, type Segment, type SegmentPart, splitSegment } from './segment.ts';
import { openTexts } from './snapshot-views.ts';
import {
  countRegions,
  distribute,
  noteTemplates,
  PAUSE_EVERY,
  type Pause,
  sortRegions,
} from './sort-records.ts';
import type { BuiltTemplates } from './template-build.ts';
import { categoryOf } from './template-table.ts';
import { SCOPES } from './template-text.ts';
import { writeEnvironment, writePartition, writeSharedMeta, writeSharedTexts } from './write-environment.ts';

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

  // An import in this thread leaves the texts of its rows, which nothing refers to any more.
  collectFor(total);
  const designations = options.designations ?? new Map();
  const thread = startBuildThread(
    {
      segments: options.segments.map(({ path, source }) => ({
        path,
        date: source.publishedAt?.slice(0, 10) ?? null,
      })),
      designations,
    },
    total,
  );
  const build = { options, deps, segments, total, pause, folder, thread };
  const partitions = partitionsFor(total, options.partitionLabels ?? LABEL_LIMITS.partitionLabelsMax);
  try {
    return await (partitions === 1 ? buildWhole(build) : buildPartitioned(build, partitions));
  } finally {
    await thread.close();
  }
}

/** Collects objects that nothing refers to any more, if the build has so many labels that it needs their memory. */
function collectFor(labels: number): void {
  if (labels >= LABEL_LIMITS.buildThreadFromLabels) collectObjectsNow();
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
  readonly thread: BuildThread;
}

/** The values of one partition, or of the whole snapshot, with their layout and counts. */
interface BuiltRecords {
  /** The checksum of the records is computed while the other values are written. */
  readonly records: Promise<Hashed>;
  readonly lookup: Uint8Array;
  /** SHA-256 of the look-up, hex. */
  readonly lookupSha256: string;
  /** Bytes of both. */
  readonly bytes: number;
  readonly merged: Merged;
  readonly layout: Pick<SnapshotLayout, 'addresses' | 'bucketBits' | 'overflowWords' | 'filter'>;
}

/** Merges the sorted records of so many labels. */
async function finishRecords(
  records: Int32Array<ArrayBuffer>,
  labels: number,
  { addresses, bucketBits, directory, filter: firstFilter }: BuiltLookup,
  templates: BuiltTemplates,
  { options, pause, thread }: Pick<Build, 'options' | 'pause' | 'thread'>,
): Promise<BuiltRecords> {
  const merged = await mergeLabels(records, labels, templates, options.compareLabels, pause);
  const filter = (await firstFilter) ?? buildFilter(records, RECORD_WORDS, addresses);
  const lookup = Buffer.concat([bytesOf(directory), bytesOf(merged.overflow), filter.bytes]);
  freeMemory([directory, filter.bytes]);
  const kept = bytesOf(records.subarray(0, addresses * RECORD_WORDS));
  const bytes = kept.length + lookup.length;
  return {
    bytes,
    records: thread.hashed(kept),
    lookup,
    lookupSha256: valueChecksum(lookup),
    merged,
    layout: { addresses, bucketBits, overflowWords: merged.overflow.length, filter: filter.shape },
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
  const { segments, total, pause, folder, thread } = build;
  const parts = segments.map((segment) => partOf(segment));
  const { starts, used } = await countRegions(parts, total, pause);
  const building = thread.templates(used);
  const sorted = await distribute(parts, starts, total, pause);
  await sortRegions(sorted, starts, pause);
  const lookup = await buildLookup(sorted, total, building, thread, pause);
  const templates = await building;
  const built = await finishRecords(sorted, total, lookup, templates, build);
  const texts = templates.encoded.bytes;
  requireFit(built.bytes + texts.length);
  const counts = countLabels(templates, built.merged);
  await pause('write', 0);
  // The merge leaves the labels that it compared.
  collectFor(total);
  // It has its last call, and ends while the values are written.
  void thread.close();
  const sha256 = { lookup: built.lookupSha256, texts: templates.sha256 };
  const meta = built.records.then(({ sha256: records }) =>
    metaOf(build, FORMAT_VERSION, layoutOf(built, templates, { ...sha256, records }), counts),
  );
  // If another value cannot be written, that is the error of the build.
  meta.catch(() => undefined);
  await writeEnvironment(folder, { texts, lookup: built.lookup, records: built.records, meta });
  await pause('write', total);
  return meta;
}

/**
 * Builds an index of several partitions, one after the other, so that memory does not grow with the number of labels. First, the records
 * of all segments are split into files by partition.
 */
async function buildPartitioned(build: Build, partitions: number): Promise<StoredMeta> {
  const { segments, pause, folder, thread } = build;
  const parts = join(folder, 'parts');
  mkdirSync(parts, PRIVATE_FOLDER);
  const split: (readonly SegmentPart[])[] = [];
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
  let templates = await thread.templates(used);
  requireFit(templates.encoded.bytes.length);
  await writeSharedTexts(folder, templates.encoded.bytes);
  const shared = openTexts(folder);
  let meta: StoredMeta;
  try {
    templates = withTexts(templates, shared.texts);
    meta = await buildPartitions(build, split, templates);
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
): Promise<StoredMeta> {
  const { total, pause, folder, thread } = build;
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
    const { starts } = await countRegions(here, labels, pause);
    const records = await distribute(here, starts, labels, pause);
    await sortRegions(records, starts, pause);
    const lookup = await buildLookup(records, labels, Promise.resolve(), thread, pause);
    const built = await finishRecords(records, labels, lookup, templates, build);
    requireFit(built.bytes);
    const { bytes, sha256 } = await built.records;
    await writePartition(folder, partition, { lookup: built.lookup, records: bytes });
    layouts.push(
      layoutOf(built, templates, { records: sha256, lookup: built.lookupSha256, texts: templates.sha256 }),
    );
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
    { records: joined('records'), lookup: joined('lookup'), texts: templates.sha256 },
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

const bytesOf = <Memory extends ArrayBufferLike>(
  words: Int32Array<Memory> | Uint32Array<Memory>,
): Uint8Array<Memory> => new Uint8Array(words.buffer, words.byteOffset, words.byteLength);

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
