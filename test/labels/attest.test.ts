import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Attestation, attestLists, parseCheckDate, parseList } from '../../src/labels/attest.ts';
import { freshnessOf, readListChecks, writeListChecks } from '../../src/labels/freshness.ts';
import { makeWorld, NOW, type World } from './world.ts';

let world: World;
let audited: Attestation[];
let named: string[];
beforeEach(() => {
  world = makeWorld();
  audited = [];
  named = [];
});
afterEach(() => world.end());

const loaded = (checkedAt: string, publishedAt = '2026-10-01') => ({
  publishedAt,
  checkedAt,
  checkedBy: 'IMPORT' as const,
  records: 5,
});

const attest = (lists: Parameters<typeof attestLists>[0], checked: string) =>
  attestLists(lists, checked, {
    store: world.deps.store,
    clock: world.deps.clock,
    audit: async (attestation) => {
      audited.push(attestation);
    },
    confirmNames: (list, checkedAt) => named.push(`${list} ${checkedAt}`),
  });

describe('an attested check', () => {
  it('makes an old list fresh: its age counts from the check', async () => {
    writeListChecks(world.deps.store.folder, { OFAC_CONS: loaded('2026-10-01'), EU: loaded('2026-10-01') });
    expect(freshnessOf(readListChecks(world.deps.store.folder), NOW, 7).staleLists).toContainEqual({
      list: 'EU',
      group: 'EU',
      checkedAt: '2026-10-01',
    });
    await attest(['EU', 'OFAC_CONS'], '2026-11-20');
    const checks = readListChecks(world.deps.store.folder);
    expect(checks.EU).toEqual({
      publishedAt: '2026-10-01',
      checkedAt: '2026-11-20',
      checkedBy: 'ATTESTATION',
      records: 5,
    });
    expect(freshnessOf(checks, NOW, 7).stale).not.toContain('EU');
    expect(freshnessOf(checks, Date.parse('2026-11-28'), 7).stale).toContain('EU');
    expect(audited).toEqual([
      { list: 'EU', checkedAt: '2026-11-20' },
      { list: 'OFAC_CONS', checkedAt: '2026-11-20' },
    ]);
    expect(named).toEqual(['EU 2026-11-20', 'OFAC_CONS 2026-11-20']);
  });

  it('keeps a check that is already known and later', async () => {
    const download = { ...loaded('2026-11-21T06:00:00.000Z'), checkedBy: 'DOWNLOAD' as const };
    writeListChecks(world.deps.store.folder, { UN: download });
    await attest(['UN'], '2026-11-20');
    expect(readListChecks(world.deps.store.folder).UN).toEqual(download);
  });

  it.each([
    ['a list that was never loaded', ['CH', 'EU'] as const, '2026-11-20', /CH was never loaded/],
    ['a date in the future', ['EU'] as const, '2026-11-22', /is in the future/],
    ['a date before the publication that is loaded', ['EU'] as const, '2026-09-30', /before the publication/],
    ['no date', ['EU'] as const, 'yesterday', /not a date/],
    ['a day that does not exist', ['EU'] as const, '2026-02-30', /not a date/],
  ])('rejects %s and changes nothing', async (_, lists, checked, message) => {
    writeListChecks(world.deps.store.folder, { EU: loaded('2026-10-01') });
    await expect(attest(lists, checked)).rejects.toThrow(message);
    expect(readListChecks(world.deps.store.folder)).toEqual({ EU: loaded('2026-10-01') });
    expect(audited).toEqual([]);
  });

  it('is discarded if it cannot be logged', async () => {
    writeListChecks(world.deps.store.folder, { EU: loaded('2026-10-01') });
    const refused = attestLists(['EU'], '2026-11-20', {
      store: world.deps.store,
      clock: world.deps.clock,
      audit: () => Promise.reject(new Error('the disk is full')),
      confirmNames: () => {},
    });
    await expect(refused).rejects.toThrow('the disk is full');
    expect(readListChecks(world.deps.store.folder).EU?.checkedAt).toBe('2026-10-01');
  });

  it('names the existing lists if the list is unknown', () => {
    expect(parseList('ofac_cons')).toBe('OFAC_CONS');
    expect(() => parseList('US')).toThrow(/must be one of OFAC_SDN, OFAC_CONS, EU, UN, UK, CH/);
  });

  it('accepts a time with its zone', () => {
    expect(parseCheckDate('2026-11-20T23:30:00+01:00', NOW)).toBe('2026-11-20T22:30:00.000Z');
  });
});
