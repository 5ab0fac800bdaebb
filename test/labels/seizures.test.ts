/** Addresses on ransomware lists that the criminal does not hold: the publisher's own rows beside the shipped labels. */
import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureShipped } from '../../src/labels/build-index.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import type { SnapshotSet } from '../../src/labels/index/reader.ts';
import type { Label } from '../../src/labels/label.ts';
import { loadPolicy, riskLevelOf } from '../../src/risk/policy.ts';
import { attribute } from '../../src/screening/attribution.ts';
import { labelEvidence } from '../../src/screening/judge.ts';
import { labelConflicts } from '../../src/screening/label-conflicts.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { makeWorld, type World } from './world.ts';

const FBI = '1F1tAaz5x1HUXrCNLbtMDqcw6o5GNn4xqX';
const EXAMPLE = '1BoatSLRHtKNngkdXEeobR76b53LETtpyT';
/** In both packs under one name, and in no other list. */
const BOTH_PACKS = '1HpVz6uSgVjQxzJCeGgwYTbNAaD9tByR4u';
const PACKS = ['ransomware.yaml', 'ransomwhere.yaml'];

const policy = loadPolicy(loadTaxonomy().rows);

/** Reads the packs of the archive, by name. */
async function readPacks(): Promise<Map<string, string>> {
  const packs = new Map<string, string>();
  const archive = createReadStream(sharedData('graphsense', 'graphsense-tagpacks.tar.gz'));
  const entries = archive.pipe(createGunzip()).pipe(extract());
  for await (const entry of entries) {
    const name = PACKS.find((pack) => entry.header.name.endsWith(`/${pack}`));
    const parts: Buffer[] = [];
    for await (const part of entry) if (name !== undefined) parts.push(part as Buffer);
    if (name !== undefined) packs.set(name, Buffer.concat(parts).toString('utf8'));
  }
  return packs;
}

describeWithSharedData('ransomware of the TagPacks beside what ships', () => {
  let world: World;
  let before: SnapshotSet;
  let after: SnapshotSet;

  beforeAll(async () => {
    world = makeWorld();
    const packs = await readPacks();
    expect([...packs.keys()].sort()).toEqual(PACKS);
    for (const [name, text] of packs)
      await world.import({ source: 'graphsense', files: [world.file(name, text)], dataset: name });
    before = await world.build();
    await ensureShipped(world.deps);
    after = await world.build();
  }, 120_000);
  afterAll(() => world.end());

  const labelsOf = (snapshots: SnapshotSet, address: string): readonly Label[] =>
    world.lookup(snapshots, 'BTC', address);
  const pointsOf = (labels: readonly Label[]): number => attribute(labels, policy, null).points;

  it('labels the wallet of the FBI as seized funds, not as the ransomware that paid into it', () => {
    expect(labelsOf(before, FBI).every(({ category }) => category === 'RANSOMWARE')).toBe(true);
    expect(riskLevelOf(pointsOf(labelsOf(before, FBI)), policy)).toBe('HIGH');
    const labels = labelsOf(after, FBI);
    expect(labels[0]).toMatchObject({ category: 'SEIZED_FUNDS', source: 'seed', class: 'published' });
    expect(attribute(labels, policy, null)).toMatchObject({
      category: 'SEIZED_FUNDS',
      points: 9,
      riskLevel: 'LOW',
      isRisky: false,
    });
    const conflicts = labelConflicts(labels);
    expect(conflicts).toMatchObject([
      {
        decided: { entityId: 'fbi-seizures' },
        labels: [{ category: 'SEIZED_FUNDS' }, { category: 'RANSOMWARE', name: 'Razy' }],
        decidedBy: 'CONFIDENCE',
        isSettled: true,
      },
    ]);
  });

  it('does not label the example address of documentation as ransomware', () => {
    expect(riskLevelOf(pointsOf(labelsOf(before, EXAMPLE)), policy)).toBe('HIGH');
    expect(attribute(labelsOf(after, EXAMPLE), policy, null)).toMatchObject({ points: 0, isRisky: false });
    expect(labelConflicts(labelsOf(after, EXAMPLE))).toMatchObject([{ isSettled: true }]);
  });

  it('leaves real ransomware unchanged', () => {
    for (const snapshots of [before, after]) {
      expect(labelsOf(snapshots, BOTH_PACKS)[0]).toMatchObject({ category: 'RANSOMWARE' });
      expect(riskLevelOf(pointsOf(labelsOf(snapshots, BOTH_PACKS)), policy)).toBe('HIGH');
    }
  });

  it('counts a TagPack and its copy as one publisher', () => {
    const labels = labelsOf(after, BOTH_PACKS);
    expect(new Set(labels.map(({ sourceUrl }) => sourceUrl)).size).toBe(2);
    const evidence = labelEvidence(labels, policy);
    expect(new Set(evidence.labels.map((one) => one.independenceGroup))).toEqual(new Set(['crowd']));
    expect(pointsOf(labels)).toBe(Math.round(policy.weights.RANSOMWARE * 0.7));
  });
});
