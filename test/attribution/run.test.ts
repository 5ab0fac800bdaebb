import { afterEach, describe, expect, it } from 'vitest';
import { loadPoolTags } from '../../src/attribution/coinbase/tags.ts';
import { explainAddress } from '../../src/attribution/explain.ts';
import { attributeChain, requireAttributable } from '../../src/attribution/run.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { buildLabelIndex, snapshotsFolderOf } from '../../src/labels/build-index.ts';
import { openSnapshotSet } from '../../src/labels/index/snapshot-set.ts';
import { loadRulebook } from '../../src/labels/map.ts';
import { openLabelStore } from '../../src/labels/store.ts';
import { parseSubject } from '../../src/screening/subject.ts';
import { simulateExchanges } from './simulated-exchange.ts';
import { type AttributionWorld, createAttributionWorld, labelsOfExchanges } from './world.ts';

const noDisputes = { of: () => null };
const open: AttributionWorld[] = [];
afterEach(async () => {
  for (const world of open.splice(0)) await world.close();
});

function* flat(blocks: Iterable<readonly Transfer[]>): Generator<Transfer> {
  for (const block of blocks) yield* block;
}

describe('a run of the rules over a chain', () => {
  it('gives labels to the next index, is idempotent, and explains each label with its transactions', async () => {
    const simulation = simulateExchanges(120, 3);
    const world = await createAttributionWorld(labelsOfExchanges(simulation.exchanges));
    open.push(world);
    await world.transfers.ingest(flat(simulation.blocks()));
    const store = openLabelStore({ dataDir: world.folder });
    const importing = { store, rules: loadRulebook(), clock: systemClock, log: silentLogger };
    const { transfers, labels } = world;
    const options = {
      chain: 'ETH',
      folder: `${world.folder}/runs`,
      signal: new AbortController().signal,
    } as const;
    const deps = {
      transfers,
      labels,
      store: world.store,
      importing,
      clock: systemClock,
      logs: null,
      state: null,
      contracts: [],
      disputes: noDisputes,
      blocks: null,
      pools: loadPoolTags,
    };
    const first = await attributeChain(options, deps);
    expect(first.deposits?.swept).toBe('no result yet');
    expect(first.deposits?.labels.labels).toBeGreaterThan(30);
    expect(first.changed).toBe(true);
    const second = await attributeChain(options, deps);
    expect([second.deposits?.swept, second.changed]).toEqual([null, false]);

    const snapshotsFolder = snapshotsFolderOf(`${world.folder}/built`);
    await buildLabelIndex({ snapshotsFolder }, importing);
    const built = openSnapshotSet(snapshotsFolder, { log: silentLogger });
    try {
      const deposit = simulation.planted.find(
        ({ kind, forwardings }) => kind === 'deposit' && forwardings >= 3,
      );
      const subject = parseSubject('ETH', deposit?.address ?? '');
      const answer = explainAddress(subject, {
        transfers,
        labels: built.current,
        store: world.store,
        disputes: noDisputes,
      });
      expect(answer.labels.map(({ source }) => source)).toEqual(['deposits']);
      expect(answer.labels[0]?.class).toBe('structural');
      expect(answer.labels[0]?.derivation?.rule).toBe('exchange-deposit');
      const [finding] = answer.findings;
      expect([finding?.status, finding?.entityId, finding?.count]).toEqual([
        'LABELLED',
        `exchange-${deposit?.exchange}`,
        deposit?.forwardings,
      ]);
      const forwarded = finding?.evidence.filter(({ role }) => role === 'FORWARDED') ?? [];
      expect(forwarded.length).toBe(deposit?.forwardings);
      for (const { txHash } of forwarded) {
        const moved = transfers.transaction('ETH', [txHash], 5)?.transfers ?? [];
        expect(moved.map(({ amount }) => amount.toString())).toEqual([
          finding?.evidence.find((row) => row.txHash === txHash)?.amount,
        ]);
      }
      const nobody = explainAddress(parseSubject('ETH', `0x${'9'.repeat(40)}`), {
        ...{ transfers, labels: built.current, store: world.store, disputes: noDisputes },
      });
      expect([nobody.labels, nobody.findings]).toEqual([[], []]);
    } finally {
      built.close();
    }
  });

  it('is refused for chains of outputs', () => {
    expect(() => requireAttributable('LTC')).toThrow(/assay cluster/);
    for (const chain of ['ETH', 'BASE', 'TRON', 'BTC'] as const) requireAttributable(chain);
  });
});
