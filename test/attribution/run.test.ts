import { afterEach, describe, expect, it } from 'vitest';
import { loadPoolTags } from '../../src/attribution/coinbase/tags.ts';
import { explainAddress } from '../../src/attribution/explain.ts';
import { attributeChain, requireAttributable } from '../../src/attribution/run.ts';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { buildLabelIndex } from '../../src/labels/build-index.ts';
import { snapshotsFolderOf } from '../../src/labels/folders.ts';
import { openSnapshotSet } from '../../src/labels/index/snapshot-set.ts';
import { loadRulebook } from '../../src/labels/map.ts';
import { openLabelStore } from '../../src/labels/store.ts';
import { parseSubject } from '../../src/screening/subject.ts';
import { simulatedAddress, simulateExchanges } from './simulated-exchange.ts';
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
  /** A node with one creation in each of 41 blocks, which has the state of the newest block only as long as `hasState` says. */
  const nodeOf = (creator: string, hasState: (contract: string, blockHash: string) => boolean) => {
    const hash = (height: number): string => `0x${height.toString(16).padStart(64, '0')}`;
    let heads = 0;
    const header = async (height: number) => ({ height, hash: hash(height), timestampMs: 1_700_000_000_000 });
    return {
      header,
      head: async () => {
        const provenance = { source: null, completeness: 'COMPLETE', note: null } as const;
        return { ...(await header(40)), ...provenance, hash: hash(1_000 + heads++) };
      },
      creations: async (height: number) => ({
        ...(await header(height)),
        ...{ parentHash: hash(height - 1), unverified: 0 },
        creations: [{ contract: simulatedAddress(height), creator, txHash: hash(5_000 + height), index: 0 }],
      }),
      code: async (address: string, _call: unknown, blockHash = '') => {
        if (hasState(address, blockHash)) return '0x00';
        throw new AssayError('CHAIN_REFUSED', 'missing trie node');
      },
      storage: async () => hash(0),
      callContract: async () => null,
      logs: async () => [],
    };
  };

  it('goes on with a newer block if the node forgot the state, and without a node that never has it', async () => {
    const { exchanges } = simulateExchanges(120, 3);
    const world = await createAttributionWorld(labelsOfExchanges(exchanges));
    open.push(world);
    const store = openLabelStore({ dataDir: world.folder });
    const importing = { store, rules: loadRulebook(), clock: systemClock, log: silentLogger };
    const creator = exchanges[0]?.wallets[0] as string;
    const run = (hasState: (contract: string, blockHash: string) => boolean) => {
      const node = nodeOf(creator, hasState);
      return attributeChain(
        { chain: 'ETH', folder: `${world.folder}/runs`, fromBlock: 0, signal: new AbortController().signal },
        {
          ...{
            transfers: world.transfers,
            labels: world.labels,
            store: world.store,
            importing,
            clock: systemClock,
          },
          ...{
            logs: node,
            state: node,
            blocks: null,
            pools: loadPoolTags,
            contracts: [],
            disputes: noDisputes,
          },
        },
      );
    };
    expect(await run(() => false)).toMatchObject({
      creations: { refused: 'missing trie node' },
      proxies: { nextBlock: 41 },
      facts: [],
    });
    const firstHead = `0x${(1_000).toString(16).padStart(64, '0')}`;
    const forgotten = simulatedAddress(20);
    const report = await run((contract, blockHash) => contract !== forgotten || blockHash !== firstHead);
    expect(report).toMatchObject({
      creations: { nextBlock: 41, reverted: 0 },
      facts: [{ source: 'creators', labels: 41 }],
      changed: true,
    });
  });

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
