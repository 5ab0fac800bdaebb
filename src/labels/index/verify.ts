/** Verifies a whole snapshot: the checksums, that every record can be found, and that every reference is valid. */
import { createHash } from 'node:crypto';
import { AssayError, messageOf } from '../../base/errors.ts';
import { passesFilter, slotPlace, slotSecond } from './filter.ts';
import {
  FLAGS,
  FRAGMENT,
  MULTIPLE,
  RECORD_WORDS,
  type StoredMeta,
  snapshotChecksum,
  TEMPLATE,
  TEMPLATE_WORDS,
} from './format.ts';
import { openPartitions, readSnapshotMeta, type SnapshotViews, wordsOf } from './snapshot-views.ts';
import { TemplateDecoder } from './template-decoder.ts';

export interface VerifyReport {
  readonly path: string;
  readonly dataVersion: string;
  readonly addresses: number;
  readonly templates: number;
  /** The faults found, at most 20 sentences; empty for a sound snapshot. */
  readonly faults: readonly string[];
}

const FAULTS_MAX = 20;

/**
 * Verifies the snapshot in a folder. Faults are reported, not thrown.
 *
 * @throws the errors of `openSnapshot` if it cannot be opened.
 */
export async function verifySnapshot(path: string): Promise<VerifyReport> {
  const { views: partitions, close } = openPartitions(path);
  const stored = await readSnapshotMeta(path);
  const faults: string[] = [];
  const fault = (sentence: string): void => {
    if (faults.length < FAULTS_MAX) faults.push(sentence);
  };
  try {
    for (const [number, views] of partitions.entries()) {
      checkSums(views, fault);
      checkRecords(views, fault);
      if (partitions.length > 1) checkPartition(views, number, partitions.length, fault);
      if (number === 0) checkTemplates(views, fault);
    }
    checkWhole(stored, fault);
    return {
      path,
      dataVersion: stored.dataVersion,
      addresses: stored.layout.addresses,
      templates: stored.layout.templates,
      faults,
    };
  } finally {
    await close();
  }
}

type Fault = (sentence: string) => void;

function checkSums(views: SnapshotViews, fault: Fault): void {
  const { sha256 } = views.meta.layout;
  for (const name of ['records', 'lookup', 'texts'] as const) {
    const digest = createHash('sha256').update(views[name]).digest('hex');
    if (digest !== sha256[name]) fault(`The checksum of '${name}' is ${digest}, not ${sha256[name]}.`);
  }
}

/** Checks the checksum of the whole snapshot, and that of the partitions in it. */
function checkWhole(meta: StoredMeta, fault: Fault): void {
  const { sha256, partitions, addresses } = meta.layout;
  if (partitions !== undefined) {
    for (const name of ['records', 'lookup'] as const) {
      const texts = partitions.map((layout) => layout.sha256[name]).join(' ');
      const digest = createHash('sha256').update(texts).digest('hex');
      if (digest !== sha256[name])
        fault(`The checksum of '${name}' of all partitions is ${digest}, not ${sha256[name]}.`);
    }
    const sum = partitions.reduce((total, layout) => total + layout.addresses, 0);
    if (sum !== addresses) fault(`The partitions have ${sum} addresses, not ${addresses}.`);
  }
  const checksum = snapshotChecksum(sha256, meta.designations ?? []);
  if (checksum !== meta.checksum) fault(`The checksum of the snapshot is ${checksum}, not ${meta.checksum}.`);
  if (!checksum.startsWith(meta.dataVersion)) {
    fault(`The data version ${meta.dataVersion} is not that of the content.`);
  }
}

/** Checks that every record of a partition belongs there: look-ups would not find it otherwise. */
function checkPartition(views: SnapshotViews, number: number, partitions: number, fault: Fault): void {
  const records = wordsOf(views.records, 0, views.meta.layout.addresses * RECORD_WORDS);
  for (let at = 0; at < records.length; at += RECORD_WORDS)
    if ((slotPlace(records, at) & (partitions - 1)) !== number)
      fault(`Record ${at / RECORD_WORDS} of partition ${number} belongs to another one.`);
}

/** Checks that every record is in the bucket of its hash, passes the filter, and refers to existing entries. */
function checkRecords(views: SnapshotViews, fault: Fault): void {
  const { layout } = views.meta;
  const directoryWords = (1 << layout.bucketBits) + 1;
  const records = wordsOf(views.records, 0, layout.addresses * RECORD_WORDS);
  const directory = wordsOf(views.lookup, 0, directoryWords);
  const overflow = wordsOf(views.lookup, directoryWords * 4, layout.overflowWords);
  const filter = views.lookup.subarray((directoryWords + layout.overflowWords) * 4);
  const table = wordsOf(views.texts, 0, layout.templates * TEMPLATE_WORDS);
  if (directory[0] !== 0 || directory[directoryWords - 1] !== layout.addresses) {
    fault('The directory does not cover all records.');
  }
  for (let bucket = 0; bucket < directoryWords - 1; bucket++) {
    const start = directory[bucket] as number;
    const end = directory[bucket + 1] as number;
    if (start > end || start < 0 || end > layout.addresses) {
      fault(`Bucket ${bucket} runs from ${start} to ${end}.`);
      continue;
    }
    for (let record = start; record < end; record++) {
      const at = record * RECORD_WORDS;
      const place = slotPlace(records, at);
      if (place >>> (32 - layout.bucketBits) !== bucket) fault(`Record ${record} is in the wrong bucket.`);
      if (!passesFilter(filter, layout.filter, place, slotSecond(records, at))) {
        fault(`The filter denies record ${record}.`);
      }
      checkReferences(records, at, overflow, table, layout.templates, (what) =>
        fault(`Record ${record} ${what}.`),
      );
    }
  }
}

function checkReferences(
  records: Int32Array,
  at: number,
  overflow: Int32Array,
  table: Int32Array,
  templates: number,
  fault: Fault,
): void {
  const reference = records[at + TEMPLATE] as number;
  const flags = records[at + FLAGS] as number;
  if ((flags & MULTIPLE) === 0) {
    if (reference < 0 || reference >= templates) fault('names a template that is not there');
    else if (
      table[reference * TEMPLATE_WORDS] !== records[at + FRAGMENT] ||
      table[reference * TEMPLATE_WORDS + 3] !== flags
    ) {
      fault('does not agree with its template');
    }
    return;
  }
  const count = overflow[reference] ?? 0;
  if (reference < 0 || count < 2 || reference + 1 + 2 * count > overflow.length) {
    fault('has its labels outside the overflow area');
    return;
  }
  for (let label = 0; label < count; label++) {
    const template = overflow[reference + 1 + 2 * label] as number;
    if (template < 0 || template >= templates) fault('names a template that is not there');
  }
}

/** Checks that every template decodes and that its fragment is the JSON of the decoded template. */
function checkTemplates(views: SnapshotViews, fault: Fault): void {
  const { layout } = views.meta;
  const decoder = new TemplateDecoder(views.texts, layout, 1);
  for (let id = 0; id < layout.templates; id++) {
    try {
      const rendered = JSON.parse(decoder.fragmentText(id)) as { name: string; entityId: string };
      const { entity } = decoder.template(id);
      if (rendered.name !== entity.name || rendered.entityId !== entity.id) {
        fault(`The two forms of template ${id} do not agree.`);
      }
    } catch (error) {
      fault(`Template ${id} cannot be decoded: ${messageOf(error)}`);
    }
  }
}

/**
 * Verifies a snapshot.
 *
 * @throws STORE_CORRUPT with the first fault.
 */
export async function assertSound(path: string): Promise<VerifyReport> {
  const report = await verifySnapshot(path);
  if (report.faults[0] !== undefined) {
    throw new AssayError(
      'STORE_CORRUPT',
      `The label snapshot ${path} is damaged: ${report.faults[0]} Run 'assay index build --force' to rebuild it.`,
    );
  }
  return report;
}
