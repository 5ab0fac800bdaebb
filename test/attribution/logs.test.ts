import { AbiCoder, id } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type LogContract,
  type LogKind,
  loadLogContracts,
  nameOfContract,
} from '../../src/attribution/logs/contracts.ts';
import { decodeLog, poolAddress } from '../../src/attribution/logs/decode.ts';
import { labelsOfFacts } from '../../src/attribution/logs/labels.ts';
import { type LogReader, readContractLogs, storeLogs } from '../../src/attribution/logs/read.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { openAdapter } from '../../src/chains/families/evm/adapter.ts';
import type { ChainAdapter, LogEntry } from '../../src/chains/families/port.ts';
import { openFor, within } from '../conformance/adapter.ts';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import { deployFactories, type Factories, hasFactories } from '../setup/factories.ts';
import { type AttributionWorld, createAttributionWorld } from './world.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'blockscout' } };
const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const WETH = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
const word = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

const contractOf = (kind: LogKind, name: string, address: string): LogContract => ({
  ...{ id: name, chain: 'ETH', address: parseAddress('ETH', address).canonical, kind },
  ...{ source: 'https://example.org', date: '2026-11-26' },
});

const keyOf = (address: string): Uint8Array => parseAddress('ETH', address).key;
const label = { address: WETH, entity: 'weth' };

const readerOf = (adapter: ChainAdapter): LogReader => {
  const { logs, header } = adapter;
  if (logs === undefined || header === undefined) throw new Error('The adapter reads no logs.');
  return { logs, header, head: (call) => adapter.head(call) };
};

/** Runtime code that logs its calldata: the first word is the topic, the rest the data. */
const LOGGER = '0x602036038060206000376000359060' + '00a100';

describe.skipIf(!hasAnvil || !hasFactories)('contracts of factories as their authors compiled them', () => {
  let anvil: Anvil;
  let factories: Factories;
  let adapter: ChainAdapter;
  let world: AttributionWorld;
  beforeAll(async () => {
    anvil = await startAnvil();
    factories = await deployFactories(anvil);
    adapter = openFor(family, 'ETH', { rpc: [anvil.url] });
    world = await createAttributionWorld([label]);
  });
  afterAll(async () => {
    await adapter?.close();
    await anvil?.stop();
    await world?.close();
  });

  const read = (contract: LogContract) =>
    readContractLogs({ contract, call: within(60_000) }, { adapter: readerOf(adapter), store: world.store });
  const labelsOf = (address: string) => labelsOfFacts('ETH', world.store.facts(keyOf(address)));

  it('are labelled with their factory, at the addresses that CREATE2 gives', async () => {
    await factories.v2.send('createPair', [USDT, WETH]);
    await factories.v2.send('createPair', [USDC, WETH]);
    await factories.v3.send('createPool', [USDC, WETH, 500]);
    // The hashes of the creation code are those of the shipped table: `ignored` counts pools at other addresses.
    const v2 = await read(contractOf('v2-pools', 'uniswap-v2', factories.v2.address));
    const v3 = await read(contractOf('v3-pools', 'uniswap-v3', factories.v3.address));
    expect([v2.facts, v2.ignored, v3.facts, v3.ignored]).toEqual([2, 0, 1, 0]);
    const pair = (await factories.v2.call('getPair', [USDT, WETH])) as string;
    const pool = (await factories.v3.call('getPool', [USDC, WETH, 500])) as string;
    expect(
      labelsOf(pair).map(({ template }) => [template.entity.id, template.category, template.source]),
    ).toEqual([['uniswap', 'DEX', 'factories']]);
    expect(labelsOf(pool)[0]?.template.tags[0]).toBe('uniswap v3 pool');
    const hash = '0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f';
    expect(poolAddress(factories.v2.address, [WETH, USDT], null, hash)).toBe(pair.toLowerCase());
    // A fork with other code has other addresses: under the name of Uniswap they are no facts.
    const wrong = storeLogs(contractOf('v2-pools', 'uniswap-v2', factories.v3.address), [], world.store);
    expect(wrong).toEqual({ facts: 0, ignored: 0 });
  });

  it('of Safe and of ERC-4337 are labelled as wallets', async () => {
    const owner = ACCOUNTS[0];
    await factories.safeFactory.send('createProxyWithNonce', [factories.safe.address, '0x', 7]);
    const report = await read(contractOf('safe-proxies', 'safe', factories.safeFactory.address));
    expect([report.facts, report.ignored]).toEqual([1, 0]);
    const account = await factories.createAccount(3);
    const accounts = await read(contractOf('erc4337-accounts', 'erc4337', factories.entryPoint.address));
    expect([accounts.facts, accounts.ignored]).toEqual([1, 0]);
    expect(labelsOf(account).map(({ template }) => template.entity.id)).toEqual(['erc-4337-account']);
    expect(world.store.facts(keyOf(account))[0]?.values.factory).toBe(
      factories.accountFactory.address.toLowerCase(),
    );
    expect(owner).toMatch(/^0x/);
  });

  it('are read once, and are forgotten if the chain reverts them', async () => {
    const contract = contractOf('v2-pools', 'uniswap-v2', factories.v2.address);
    expect(await read(contract)).toMatchObject({ facts: 0, reverted: 0 });
    await factories.v2.send('createPair', [USDT, USDC]);
    const pair = (await factories.v2.call('getPair', [USDT, USDC])) as string;
    expect((await read(contract)).facts).toBe(1);
    await anvil.reorg(1);
    const after = await read(contract);
    // All blocks of this short chain are read again.
    expect([after.reverted, after.facts]).toEqual([3, 2]);
    expect(labelsOf(pair)).toEqual([]);
  });

  it('reads freezes with their dates, and ends them', async () => {
    await anvil.rpc('anvil_setCode', USDT, LOGGER);
    const coder = AbiCoder.defaultAbiCoder();
    const log = async (event: string, types: string[], values: unknown[]): Promise<void> => {
      await anvil.send({
        to: USDT,
        data: `${id(event)}${coder.encode(types, values).slice(2)}`,
        gas: 200_000,
      });
      await anvil.mine();
    };
    await log('AddedBlackList(address)', ['address'], [ACCOUNTS[1]]);
    await log('AddedBlackList(address)', ['address'], [ACCOUNTS[2]]);
    await log('RemovedBlackList(address)', ['address'], [ACCOUNTS[2]]);
    await log('DestroyedBlackFunds(address,uint256)', ['address', 'uint256'], [ACCOUNTS[1], 5n]);
    const report = await read(contractOf('tether-freezes', 'tether', USDT));
    expect([report.facts, report.ignored]).toEqual([4, 0]);
    const [frozen] = labelsOf(ACCOUNTS[1]);
    expect(frozen?.template.entity.name).toBe('Frozen by Tether');
    expect(Math.abs((frozen?.sinceMs ?? 0) - Date.now())).toBeLessThan(86_400_000);
    expect(labelsOf(ACCOUNTS[2])).toEqual([]);
  });
});

describe('the decoder of logs', () => {
  const base = { address: USDC, blockNumber: 1, txHash: `0x${'1'.repeat(64)}`, logIndex: 0 };
  const circle = contractOf('circle-freezes', 'circle', USDC);

  it('reads the indexed events of Circle', () => {
    const log: LogEntry = { ...base, topics: [id('Blacklisted(address)'), word(ACCOUNTS[1])], data: '0x' };
    expect(decodeLog(circle, log)).toEqual({
      subject: ACCOUNTS[1].toLowerCase(),
      kind: 'frozen',
      values: {},
    });
  });

  it('takes no log of another layout for a fact', () => {
    const topic = id('Blacklisted(address)');
    const wrong: Partial<LogEntry>[] = [
      { topics: [topic], data: '0x' },
      { topics: [topic, `0x${'f'.repeat(64)}`], data: '0x' },
      { topics: [topic, word(ACCOUNTS[1])], data: word(ACCOUNTS[1]) },
      { topics: [id('Transfer(address,address,uint256)'), word(ACCOUNTS[1])], data: '0x' },
      { topics: [], data: '0x' },
    ];
    for (const log of wrong)
      expect(decodeLog(circle, { ...base, topics: [], data: '0x', ...log })).toBeNull();
    const pool = contractOf('v2-pools', 'uniswap-v2', WETH);
    const topics = [id('PairCreated(address,address,address,uint256)'), word(USDC), word(WETH)];
    expect(decodeLog(pool, { ...base, topics, data: word(USDT) })).toBeNull();
  });
});

describe('the shipped contracts', () => {
  it('have an address, a source and a date each, once', () => {
    const rows = loadLogContracts();
    expect(rows.length).toBeGreaterThan(100);
    expect(new Set(rows.map(({ chain, address }) => `${chain} ${address}`)).size).toBe(rows.length);
    expect(new Set(rows.map(nameOfContract)).size).toBeGreaterThan(10);
    expect(rows.find(({ id: name, chain }) => name === 'tether' && chain === 'ETH')?.address).toBe(USDT);
  });
});
