import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProfiler, summarise } from '../../../src/labels/index/label-profile.ts';
import { readSegment } from '../../../src/labels/index/segment.ts';
import {
  loadSynthProfile,
  SYNTH_CSV_HEADER,
  synthCsv,
  synthesise,
  synthSegment,
} from '../../../src/labels/index/synth.ts';
import { expectWithinAFifth } from './near-profile.ts';
import { temporaryFolder } from './world.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

describe('synthetic labels', () => {
  it('match the measured profile within a fifth', async () => {
    const profile = loadSynthProfile();
    const profiler = createProfiler();
    let synthetic = true;
    await synthesise({ count: 300_000, seed: 3 }, profile, (key, length, chain, template, first, last) => {
      synthetic &&= template.synthetic;
      profiler.add(key.slice(0, length), chain, template, first > 0, last > 0);
    });
    expect(synthetic).toBe(true);
    expectWithinAFifth(summarise(profiler.profile()), summarise(profile));
  });

  it('have more than 200,000 entities if there are 1,300,000 labels or more', async () => {
    const entities = new Set<string>();
    await synthesise({ count: 1_300_000, seed: 1 }, loadSynthProfile(), (_key, _length, _chain, template) => {
      entities.add(template.entity.id);
    });
    expect(entities.size).toBeGreaterThanOrEqual(200_000);
  });

  it('are the same for the same seed, and differ for another', async () => {
    const of = async (name: string, seed: number): Promise<string> => {
      const path = join(folder.path, name);
      await synthSegment(path, { count: 5000, seed });
      const { stats, templateTexts } = readSegment(path);
      return `${stats.recordsSha256} ${templateTexts.join('')}`;
    };
    expect(await of('a', 1)).toBe(await of('b', 1));
    expect(await of('c', 2)).not.toBe(await of('d', 1));
  });

  it('are written as CSV with one row per label', async () => {
    const path = join(folder.path, 'labels.csv');
    await synthCsv(path, { count: 2000, seed: 1 });
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    expect(lines[0]).toBe(SYNTH_CSV_HEADER);
    expect(lines).toHaveLength(2001);
    const columns = SYNTH_CSV_HEADER.split(',').length;
    expect(lines.every((line) => line.split(',').length === columns)).toBe(true);
  });
});
