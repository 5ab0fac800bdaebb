import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readCoinbases } from '../../src/attribution/coinbase/read.ts';
import { loadPoolTags, PoolTags } from '../../src/attribution/coinbase/tags.ts';
import { explainAddress } from '../../src/attribution/explain.ts';
import { ATTRIBUTION_LIMITS } from '../../src/attribution/limits.ts';
import { labelsOfFacts } from '../../src/attribution/logs/labels.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { ChainAdapter } from '../../src/chains/families/port.ts';
import { openAdapter } from '../../src/chains/families/utxo/adapter.ts';
import { outputScriptOf } from '../../src/chains/families/utxo/wire.ts';
import { parseSubject } from '../../src/screening/subject.ts';
import { openFor, within } from '../conformance/adapter.ts';
import { type Bcoin, hasBcoin, startBcoin } from '../setup/bcoin.ts';
import { type AttributionWorld, createAttributionWorld } from './world.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'esplora' } };
const POOL = '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2';
const MINER = '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy';
const OTHER = 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq';
const keyOf = (address: string): Uint8Array => parseAddress('BTC', address).key;
const paid = (address: string, value = 1_000n) => ({
  script: outputScriptOf(parseAddress('BTC', address).key) as Uint8Array,
  value,
});

describe.skipIf(!hasBcoin)('coinbases of a real node', () => {
  let node: Bcoin;
  let adapter: ChainAdapter;
  let world: AttributionWorld;
  beforeAll(async () => {
    node = await startBcoin('bcoin');
    adapter = openFor(family, 'BTC', { rpc: [node.url] });
    world = await createAttributionWorld([{ address: OTHER, entity: 'other' }], 'BTC');
    await node.mine(3);
  });
  afterAll(async () => {
    await adapter?.close();
    await node?.stop();
    await world?.close();
  });

  const read = () =>
    readCoinbases(
      { chain: 'BTC', fromBlock: 0, call: within(60_000) },
      { adapter, store: world.store, pools: loadPoolTags() },
    );
  const labelled = (address: string) =>
    labelsOfFacts('BTC', world.store.facts(keyOf(address))).map(({ template }) => [
      template.entity.id,
      template.category,
      template.source,
      template.confidence,
    ]);

  it('label the address that blocks of one pool pay, and no miner', async () => {
    await node.mineTagged('/ViaBTC/Mined by somebody/', [paid(POOL)]);
    await node.mineTagged('/slush/', [paid(POOL, 600n), paid(MINER, 400n)]);
    await node.mineTagged('no pool at all', [paid(OTHER)]);
    await node.mineTagged('/ViaBTC/', [paid(OTHER)]);
    await node.mineTagged('/slush/', [paid(OTHER)]);
    const report = await read();
    expect(report).toMatchObject({ blocks: 9, facts: 3, reverted: 0, unread: 0 });
    // One block is too little, and two pools contradict each other.
    expect([labelled(POOL), labelled(OTHER), labelled(MINER)]).toEqual([[], [], []]);
    await node.mineTagged('by /ViaBTC/ again', [paid(POOL)]);
    expect(await read()).toMatchObject({ blocks: 1, facts: 1 });
    expect(labelled(POOL)).toEqual([['viabtc', 'MINING_POOL', 'coinbases', 0.7]]);
    expect(await read()).toMatchObject({ blocks: 0, facts: 0, reverted: 0 });
  });

  it('explain the label with the blocks', () => {
    const { findings } = explainAddress(parseSubject('BTC', POOL), {
      ...{ transfers: world.transfers, labels: world.labels, store: world.store },
      disputes: { of: () => null },
    });
    expect(findings).toMatchObject([
      {
        ...{ rule: 'coinbase-tag', source: 'coinbases', status: 'LABELLED', entityId: 'viabtc', count: 2 },
        evidence: [
          { role: 'MINED', blockNumber: 4, asset: 'BTC', amount: '1000' },
          { role: 'MINED', blockNumber: 9 },
        ],
      },
    ]);
    expect(findings[0]?.evidence[0]?.txHash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('take back what a reorg takes back', async () => {
    await node.reorg(1);
    const report = await read();
    // The whole short chain is read again: facts of before the reorg come back, that of its block does not.
    expect(report).toMatchObject({ reverted: 4, facts: 3 });
    expect(labelled(POOL)).toEqual([]);
  });

  it('are believed more after many blocks', async () => {
    for (let block = 0; block < ATTRIBUTION_LIMITS.coinbaseBlocksSure; block++)
      await node.mineTagged(`/ViaBTC/${block}`, [paid(POOL)]);
    await read();
    expect(labelled(POOL)).toEqual([['viabtc', 'MINING_POOL', 'coinbases', 0.85]]);
  });
});

describe('the tags of pools', () => {
  const scriptOf = (text: string): string => `03a1b2c3${Buffer.from(text, 'utf8').toString('hex')}`;

  it('are found in a script, the longest first, and not if several pools match', () => {
    const pools = loadPoolTags();
    expect(pools.poolOf(scriptOf('/ViaBTC/Mined/'))?.id).toBe('viabtc');
    expect(pools.poolOf(scriptOf('/ViaBTC/TATMAS Pool/'))?.id).toBe('tatmas-pool');
    expect(pools.poolOf(scriptOf('七彩神仙鱼'))?.name).toBe('F2Pool');
    expect(pools.poolOf(scriptOf('Foundry USA Pool #dropgold'))?.name).toBe('Foundry USA');
    expect(pools.poolOf(scriptOf('/slush/ and /ViaBTC/'))).toBeNull();
    for (const text of ['', '/viabtc/', 'a miner at home']) expect(pools.poolOf(scriptOf(text))).toBeNull();
  });

  it('are refused with the row and field that is wrong', () => {
    expect(() => new PoolTags([{ name: '', tags: ['/a pool/'] }])).toThrow(/pools\[0\]\.name/);
    expect(() => new PoolTags([{ name: 'A', tags: [] }])).toThrow(/pools\[0\]\.tags/);
    expect(() => new PoolTags([{ name: 'A', tags: ['short'] }])).toThrow(/6 bytes/);
  });
});
