import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  freshnessOf,
  type ListChecks,
  oldPublicationAdvice,
  oldPublications,
  openFreshness,
  readListChecks,
  writeListChecks,
} from '../../src/labels/freshness.ts';

const NOW = Date.UTC(2026, 10, 21);
const check = (checkedAt: string, publishedAt = '2026-11-01') => ({ checkedAt, publishedAt, records: 10 });
const fresh = check('2026-11-20T10:00:00.000Z');
const ALL: ListChecks = { OFAC_SDN: fresh, OFAC_CONS: fresh, EU: fresh, UN: fresh, UK: fresh, CH: fresh };

describe('freshness of the lists', () => {
  it('is complete only when all five groups are loaded and were checked within the maximum age', () => {
    expect(freshnessOf(ALL, NOW, 7)).toMatchObject({ complete: true, stale: [] });
    expect(freshnessOf({}, NOW, 7)).toMatchObject({
      complete: false,
      stale: ['US', 'EU', 'UN', 'UK', 'CH'],
      asOf: null,
    });
    expect(freshnessOf({ ...ALL, UN: check('2026-11-13T00:00:00.000Z') }, NOW, 7).stale).toEqual(['UN']);
    expect(freshnessOf({ ...ALL, UN: check('2026-11-14T00:00:00.000Z') }, NOW, 7).stale).toEqual([]);
  });

  it('counts the age from the check, not from the publication', () => {
    expect(
      freshnessOf({ ...ALL, CH: check('2026-11-20T00:00:00.000Z', '2024-01-01') }, NOW, 7).complete,
    ).toBe(true);
  });

  it('names lists whose publication is unusually old for their publisher, whenever they were checked', () => {
    expect(oldPublications(ALL, NOW)).toEqual([]);
    const mirrored = { ...ALL, EU: check('2026-11-20T00:00:00.000Z', '2018-10-04') };
    expect(freshnessOf(mirrored, NOW, 7).complete).toBe(true);
    const old = oldPublications(mirrored, NOW);
    expect(old).toEqual([{ list: 'EU', publishedAt: '2018-10-04', publishedAgainDays: 90 }]);
    expect(oldPublicationAdvice(old)).toEqual([
      expect.stringMatching(/^The EU sanctions list that is loaded was published on 2018-10-04; .* mirror/),
    ]);
    // OFAC publishes its consolidated list rarely.
    const yearAgo = check('2026-11-20T00:00:00.000Z', '2025-11-21');
    const both = { ...ALL, OFAC_SDN: yearAgo, OFAC_CONS: yearAgo };
    expect(oldPublications(both, NOW).map(({ list }) => list)).toEqual(['OFAC_SDN']);
    const onThe = (day: string) => oldPublications({ ...ALL, UK: check('2026-11-20', day) }, NOW).length;
    expect([onThe('2026-08-23'), onThe('2026-08-22')]).toEqual([0, 1]);
  });

  it('does not accept a check in the future, because the clock moved backwards and the age is unknown', () => {
    const hour = 3_600_000;
    const ahead = (ms: number) =>
      freshnessOf({ ...ALL, EU: check(new Date(NOW + ms).toISOString()) }, NOW, 7);
    // A publisher dates its file by the day of its own time zone.
    expect(ahead(23 * hour).stale).toEqual([]);
    expect(ahead(25 * hour).stale).toEqual(['EU']);
    expect(ahead(25 * hour).staleLists).toMatchObject([{ list: 'EU' }]);
  });

  it('requires both lists of the US, and dates the group by the older one', () => {
    const { OFAC_CONS: _, ...one } = ALL;
    expect(freshnessOf(one, NOW, 7).groups.US).toMatchObject({
      loaded: false,
      fresh: false,
      publishedAt: null,
    });
    const lagging = freshnessOf(
      { ...ALL, OFAC_CONS: check('2026-11-10T00:00:00.000Z', '2026-10-01') },
      NOW,
      7,
    );
    expect(lagging.groups.US).toMatchObject({
      loaded: true,
      fresh: false,
      publishedAt: '2026-10-01',
      checkedAt: '2026-11-10T00:00:00.000Z',
      records: 20,
    });
    expect(lagging.asOf).toBe('2026-11-10T00:00:00.000Z');
  });
});

describe('the freshness reader', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-freshness-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('says how to go on without a damaged file, which every import of a list reads', () => {
    const path = join(folder, 'freshness.json');
    writeListChecks(folder, { UN: fresh });
    writeFileSync(path, readFileSync(path, 'utf8').replace('2026', '2027'));
    expect(() => writeListChecks(folder, { EU: fresh })).toThrow(
      /freshness\.json is damaged\. Restore it from a backup, or remove it: its lists then count as never loaded/,
    );
    rmSync(path);
    writeListChecks(folder, { EU: fresh });
    expect(freshnessOf(readListChecks(folder), NOW, 7).stale).toEqual(['US', 'UN', 'UK', 'CH']);
  });

  it('sees a write of another process within a second', () => {
    const reader = openFreshness({ labelsFolder: folder });
    expect(reader.listFreshness(NOW, 7).complete).toBe(false);
    writeListChecks(folder, ALL);
    expect(reader.listFreshness(NOW + 500, 7).complete).toBe(false);
    expect(reader.listFreshness(NOW + 1_500, 7).complete).toBe(true);
    writeListChecks(folder, { EU: check('2026-01-01T00:00:00.000Z') });
    expect(reader.listFreshness(NOW + 3_000, 7).stale).toEqual(['EU']);
  });

  it('sees a write after the clock was set back', () => {
    const reader = openFreshness({ labelsFolder: folder });
    expect(reader.listFreshness(NOW, 7).complete).toBe(false);
    writeListChecks(folder, ALL);
    expect(reader.listFreshness(NOW - 3_600_000, 7).complete).toBe(true);
  });
});
