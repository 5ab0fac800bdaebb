/**
 * An index that exists is used until its inputs or its format version differ; its code is no input. So a change of the score, or of the
 * code that makes entries, needs another format version: otherwise installations keep the rows of the earlier program.
 */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { recordOf } from '../../src/exposure/evaluate.ts';
import { FORMAT_VERSION } from '../../src/exposure/format.ts';
import type { ExposureEvidence } from '../../src/risk/evidence.ts';
import { policyToJson } from '../../src/risk/policy.ts';
import { policy } from './world.ts';

/**
 * Digests of the policy and of the entries of a fixed corpus, for the format version. If only `rows` differs, increase FORMAT_VERSION in
 * src/exposure/format.ts, and record all three. If `policy` differs too, its own version makes installations build again: record them.
 */
const RECORDED = { format: 8, policy: '5db0c11d90d417ad', rows: 'e4da0bf2023167ce' };

const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16);

/** Returns whole numbers below a bound, the same in each run (a linear congruential generator of Knuth). */
function numbers(seed: bigint): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) % (1n << 64n);
    return Number(state >> 33n) % below;
  };
}

const CATEGORIES = ['MIXER', 'SANCTIONED_ENTITY', 'EXCHANGE', 'SCAM', 'GAMBLING', 'UNKNOWN'] as const;
const CLASSES = ['list', 'published', 'structural', 'inferred'] as const;

function corpus(): readonly ExposureEvidence[][] {
  const below = numbers(7n);
  const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;
  const exposure = (): ExposureEvidence => {
    const asset = pick([null, null, null, 'ODD']);
    return {
      category: pick(CATEGORIES),
      direction: pick(['in', 'out']),
      hops: 1 + below(4),
      asset,
      valueUsd: asset === null ? 10 ** below(8) / 10 : null,
      share: pick([0, 0.00005, 0.01, 0.2, 1]),
      confidence: pick([0.3, 0.6, 0.9, 1]),
      class: pick(CLASSES),
      entity: pick([null, 'A', 'B', 'C']),
      unsolicited: below(4) === 0,
    };
  };
  return Array.from({ length: 2_000 }, () => Array.from({ length: 1 + below(8) }, exposure));
}

it('the same evidence has the same rows as long as the format version is the same', () => {
  const entries = corpus().map((exposures, at) =>
    recordOf(
      {
        exposures,
        exposuresLeftOut: at % 3 === 0 ? exposures.slice(1) : null,
        isService: at % 5 === 0,
        unfollowed: [],
        earlier: [],
        notes: [],
        flowsUnseen: { in: false, out: false },
      },
      policy,
    ),
  );
  expect(entries.filter(({ factors }) => factors.length > 1).length).toBeGreaterThan(500);
  expect(
    { format: FORMAT_VERSION, policy: digestOf(policyToJson(policy)), rows: digestOf(entries) },
    'Increase FORMAT_VERSION in src/exposure/format.ts if the rows differ, and record these digests.',
  ).toEqual(RECORDED);
});
