/** Entries of an exposure index: made from evidence, and joined of two directions. */
import { describe, expect, it } from 'vitest';
import { createWalk, type EntryEvidence, joinDirections, recordOf } from '../../src/exposure/evaluate.ts';
import type { ExposureRecord } from '../../src/exposure/record.ts';
import type { Direction } from '../../src/graph/flow.ts';
import type { ExposureEvidence } from '../../src/risk/evidence.ts';
import type { ScoreFactor } from '../../src/risk/score.ts';
import type { Assessor } from '../../src/screening/assess.ts';
import type { SpoofingDeps } from '../../src/screening/spoofable.ts';
import { memoryGraph } from '../graph/memory-graph.ts';
import { policy } from './world.ts';

const exposure = (change: Partial<ExposureEvidence> = {}): ExposureEvidence => ({
  ...{ category: 'MIXER', direction: 'in', hops: 1, asset: null, valueUsd: 50_000, share: 1 },
  ...{ confidence: 0.9, class: 'published', entity: 'Mixer' },
  ...change,
});
const derived = exposure({ class: 'structural' });
const neutral = exposure({ category: 'UNKNOWN', entity: null, class: 'published' });

const entry = (change: Partial<EntryEvidence> = {}): ExposureRecord =>
  recordOf(
    {
      ...{ exposures: [], exposuresLeftOut: null, isService: false, unfollowed: [], earlier: [], notes: [] },
      flowsUnseen: { in: false, out: false },
      ...change,
    },
    policy,
  );

describe('an entry of evidence', () => {
  it('has rows of risks only, and none of dealings with its own entity', () => {
    expect(entry({ exposures: [exposure()] }).factors).toMatchObject([
      { category: 'MIXER', direction: 'in' },
    ]);
    for (const exposures of [
      [],
      [neutral],
      [exposure({ isOwn: true })],
      [exposure({ category: 'EXCHANGE' })],
    ])
      expect(entry({ exposures })).toMatchObject({ factors: [], flows: { in: false, out: false } });
  });

  it('has the points without derived labels, if one of a risk was met', () => {
    const both = entry({ exposures: [exposure(), derived] });
    const points = both.factors.reduce((sum, row) => sum + row.points, 0);
    expect(both.pointsWithoutDerived).toBe(
      entry({ exposures: [exposure()] }).factors.reduce((sum, row) => sum + row.points, 0),
    );
    expect(points).toBeGreaterThan(0);
    expect(entry({ exposures: [derived] }).pointsWithoutDerived).toBe(0);
    for (const exposures of [[exposure()], [exposure(), { ...derived, category: 'EXCHANGE' as const }]])
      expect(entry({ exposures }).pointsWithoutDerived).toBeNull();
  });

  it('has the rows of the reading without derived labels, if it has any', () => {
    const leftOut = entry({ exposures: [derived], exposuresLeftOut: [exposure({ category: 'SCAM' })] });
    expect(leftOut.factorsLeftOut).toMatchObject([{ category: 'SCAM' }]);
    for (const exposuresLeftOut of [null, [], [neutral], [exposure({ isOwn: true })]])
      expect(entry({ exposures: [derived], exposuresLeftOut }).factorsLeftOut).toBeNull();
  });

  it('says in which direction value flows: by a risk of either reading, a part that was not followed, or unseen', () => {
    const part = { code: 'WALK_CUT', asset: null, share: null } as const;
    for (const direction of ['in', 'out'] as const) {
      const flows = { in: direction === 'in', out: direction === 'out' };
      for (const change of [
        { exposures: [exposure({ direction })] },
        { exposuresLeftOut: [exposure({ direction })] },
        { unfollowed: [{ ...part, direction }] },
        { flowsUnseen: flows },
      ])
        expect(entry(change).flows).toEqual(flows);
    }
  });
});

describe('a walk of one address', () => {
  const graph = memoryGraph([{ from: 1, to: 2, valueUsd: 1 }]);
  /** Returns the entry of an assessment in which one direction has some property. */
  function walked(of: Direction, stop: string | null, { isLeft = false, isApart = false } = {}) {
    const stops = stop === null ? [] : [{ reason: stop }];
    const side = (direction: Direction) => ({
      ...{ direction, stops: direction === of && !isApart ? stops : [] },
      apart: [{ stops: direction === of && isApart ? stops : [] }],
    });
    const asked: unknown[] = [];
    const assessment = {
      sides: (['in', 'out'] as const).map((direction) => ({
        ...{ direction, basis: { isAssetLeft: isLeft && direction === of }, attributed: [], suspected: [] },
      })),
      readings: [{ followed: [side('in'), side('out')], evidence: { exposures: [exposure()] } }],
      ...{ evidence: { exposures: [], isService: false }, unfollowed: [], place: null },
    };
    const assess = (options: unknown) => {
      asked.push(options);
      return assessment;
    };
    const walk = createWalk('ETH', { assess } as unknown as Assessor, { policy } as SpoofingDeps, 3);
    return { record: walk(graph, 2), asked, walk };
  }

  it('has flows unseen in the direction in which a hub was met, a budget ended, or an asset was left', () => {
    // A risk was received: that direction has a flow in any case.
    for (const reason of ['MAX_DEGREE', 'BUDGET'])
      for (const isApart of [false, true]) {
        expect(walked('out', reason, { isApart }).record.flows).toEqual({ in: true, out: true });
        expect(walked('in', reason, { isApart }).record.flows).toEqual({ in: true, out: false });
      }
    for (const reason of ['SERVICE', 'DEPTH', null])
      expect(walked('out', reason).record.flows).toEqual({ in: true, out: false });
    expect(walked('out', null, { isLeft: true }).record.flows.out).toBe(true);
    expect(walked('in', null, { isLeft: true }).record.flows.out).toBe(false);
  });

  it('asks for both directions unless one is named, and takes the rows of the first reading', () => {
    const { record, asked, walk } = walked('in', null);
    walk(graph, 2, ['out']);
    expect(asked).toMatchObject([
      { directions: ['in', 'out'], asOf: null, maxHops: 3 },
      { directions: ['out'] },
    ]);
    expect(record.factors).toMatchObject([{ category: 'MIXER' }]);
  });
});

describe('an entry of two directions', () => {
  const row = (change: Partial<ScoreFactor>): ScoreFactor =>
    ({
      ...{
        factor: 'INDIRECT_EXPOSURE',
        category: 'MIXER',
        riskType: 'INDIRECT',
        direction: 'out',
        asset: null,
      },
      ...{ class: 'published', percentage: 10, valueUsd: 5, hops: 2, points: 3, severity: 'LOW' },
      ...(change as object),
    }) as ScoreFactor;
  const record = (name: string, change: Partial<ExposureRecord> = {}): ExposureRecord => ({
    factors: (['in', 'out'] as const).map((direction) => row({ direction, valueUsd: name.length })),
    unfollowed: (['in', 'out'] as const).map((direction) => ({
      ...{ code: 'WALK_CUT', direction, asset: name, share: null },
    })),
    ...{ pointsWithoutDerived: null, factorsLeftOut: null, earlier: [] },
    notes: [{ code: 'SPOOFABLE_TRANSFER', category: 'MIXER', message: name }],
    flows: { in: name === 'now', out: name !== 'now' },
    ...change,
  });

  it('has the new rows of its direction, the earlier ones of the other, and the new notes', () => {
    for (const direction of ['in', 'out'] as const) {
      const joined = joinDirections(record('before'), record('now'), direction);
      const other = direction === 'in' ? 'out' : 'in';
      const of = { [direction]: 'now', [other]: 'before' } as Record<Direction, string>;
      expect(joined?.factors).toEqual([
        row({ direction: 'in', valueUsd: of.in.length }),
        row({ direction: 'out', valueUsd: of.out.length }),
      ]);
      expect(joined?.unfollowed.map((part) => [part.direction, part.asset])).toEqual([
        ['in', of.in],
        ['out', of.out],
      ]);
      expect(joined?.flows).toEqual(direction === 'in' ? { in: true, out: true } : { in: false, out: false });
      expect(joined?.notes).toEqual(record('now').notes);
    }
  });

  it.each<[string, Partial<ExposureRecord>]>([
    ['counts derived labels', { pointsWithoutDerived: 0 }],
    ['has a reading without them', { factorsLeftOut: [] }],
    ['dealt before a designation', { earlier: [{}] as unknown as ExposureRecord['earlier'] }],
    [
      'dealt with a suspected owner',
      { notes: [{ code: 'SUSPECTED_OWNER', category: 'MIXER', message: '' }] },
    ],
    [
      'received from a risk at first hand',
      { factors: [row({ direction: 'in', factor: 'DIRECT_EXPOSURE' })] },
    ],
    [
      'received what it did not ask for',
      { factors: [row({ direction: 'in', factor: 'UNSOLICITED_INBOUND' })] },
    ],
    ['received an asset without a price', { factors: [row({ direction: 'in', asset: 'T' })] }],
  ])('is computed whole if it %s, before or now', (_, change) => {
    for (const direction of ['in', 'out'] as const) {
      expect(joinDirections(record('before', change), record('now'), direction)).toBeNull();
      expect(joinDirections(record('before'), record('now', change), direction)).toBeNull();
    }
  });

  it('is joined if it sent to a risk at first hand, or sent an asset without a price', () => {
    for (const change of [{ factor: 'DIRECT_EXPOSURE' }, { asset: 'T' }] as const)
      expect(
        joinDirections(record('before', { factors: [row(change)] }), record('now'), 'in')?.factors,
      ).toHaveLength(2);
  });
});
