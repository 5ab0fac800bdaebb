/** Helpers that the tests of the index share: a temporary folder, labels, and a build of them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { buildSnapshot } from '../../../src/labels/index/build.ts';
import { dayFromIso } from '../../../src/labels/index/days.ts';
import type { SnapshotMeta } from '../../../src/labels/index/reader.ts';
import { createSegmentWriter } from '../../../src/labels/index/segment.ts';
import type { Label, LabelTemplate, SanctionsEntry } from '../../../src/labels/label.ts';

export const deps = { clock: systemClock, log: silentLogger };

export function temporaryFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'assay-test-index-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export const sanction: SanctionsEntry = {
  list: 'OFAC_SDN',
  authority: 'OFAC',
  program: 'CYBER2',
  entityName: 'Somebody',
  entityId: '1',
  listedAt: '2022-08-08',
  listedAtBasis: 'PARTY',
  delistedAt: null,
  sourceUrl: 'https://sanctionssearch.ofac.treas.gov/',
  matchType: 'DIRECT',
};

export function template(name: string, changes: Partial<LabelTemplate> = {}): LabelTemplate {
  return {
    entity: { id: name.toLowerCase(), name, category: 'EXCHANGE', jurisdiction: 'MT', url: null },
    scope: 'EVM',
    category: 'EXCHANGE',
    threatLevel: 'LOW',
    source: 'own',
    sourceUrl: null,
    tags: ['hot wallet'],
    confidence: 0.9,
    sanctions: [],
    verified: true,
    synthetic: false,
    ...changes,
  };
}

/** A key of the given chain and kind byte with a payload made of one number. */
export function key(number: number, payloadBytes = 20, chainByte = 1): Uint8Array {
  const bytes = new Uint8Array(2 + payloadBytes);
  bytes[0] = chainByte;
  bytes[1] = 1;
  for (let at = 2; at < bytes.length; at++) bytes[at] = Math.imul(number + at, 2_654_435_761) >>> 24;
  new DataView(bytes.buffer).setUint32(2, number);
  return bytes;
}

export interface Row {
  readonly key: Uint8Array;
  readonly template: LabelTemplate;
  readonly firstSeen?: string;
  readonly lastSeen?: string;
}

export async function writeSegment(path: string, rows: readonly Row[]): Promise<void> {
  const writer = createSegmentWriter(path);
  for (const row of rows) {
    const id = writer.template(row.template);
    writer.add(
      row.key,
      0,
      row.key.length,
      id,
      dayFromIso(row.firstSeen ?? null),
      dayFromIso(row.lastSeen ?? null),
    );
  }
  await writer.close();
}

export const byConfidence = (a: Label, b: Label): number => b.confidence - a.confidence;

export const source = (dataset: string) => ({
  id: 'own',
  dataset,
  publishedAt: null,
  importedAt: '2026-01-01T00:00:00.000Z',
  url: null,
  lists: [],
});

export function build(folder: string, segments: readonly string[]): Promise<SnapshotMeta> {
  return buildSnapshot(
    {
      segments: segments.map((path) => ({ path, source: source(path) })),
      folder,
      compareLabels: byConfidence,
    },
    deps,
  );
}
