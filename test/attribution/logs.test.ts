import { AbiCoder, id } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type LogContract,
  type LogKind,
  loadLogContracts,
  nameOfContract,
} from '../../src/attribution/logs/contracts.ts';
import {
  type DecodedLog,
  decodeLog,
  isExpectedPool,
  poolAddress,
} from '../../src/attribution/logs/decode.ts';
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

describe('pools of forks', () => {
  const hashes = {
    sushi: '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54',
    pancake: '0x6ce8eb472fa82df5469c6ab6d485f17c3ad13c8cd7af59b3d4a8026c5ce0f7e2',
  };
  const CAKE = '0x0E09FaBB73Bd3Ade0a17ECC321fD13a19e81cE82';
  const WBNB = '0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c';
  const rows = loadLogContracts();
  const shipped = (name: string, chain: string): LogContract =>
    rows.find((row) => row.id === name && row.chain === chain) as LogContract;
  const created = (
    contract: LogContract,
    tokens: readonly string[],
    fee: number,
    pool: string,
  ): LogEntry => ({
    ...{ address: contract.address, blockNumber: 1, txHash: `0x${'1'.repeat(64)}`, logIndex: 0 },
    topics: [
      id('PoolCreated(address,address,uint24,int24,address)'),
      ...tokens.map(word),
      `0x${fee.toString(16).padStart(64, '0')}`,
    ],
    data: `0x${'0'.repeat(62)}0a${word(pool).slice(2)}`,
  });

  // Pools that exist: CAKE/WBNB of PancakeSwap 3 on BSC, and USDC/WETH of SushiSwap 3 on Ethereum.
  it.each([
    ['pancakeswap-v3', 'BSC', [CAKE, WBNB], 2_500, '0x133B3D95bAD5405d14d53473671200e9342896BF'],
    ['sushiswap-v3', 'ETH', [USDC, WETH], 500, '0x35644Fb61aFBc458bf92B15AdD6ABc1996Be5014'],
  ] as const)('of %s on %s have the address that CREATE2 gives', (name, chain, tokens, fee, pool) => {
    const contract = shipped(name, chain);
    const decoded = decodeLog(contract, created(contract, tokens, fee, pool));
    expect(decoded).toMatchObject({ subject: pool.toLowerCase(), kind: 'pool' });
    expect(isExpectedPool(contract, decoded as DecodedLog)).toBe(true);
    const wrong = decodeLog(contract, created(contract, tokens, 3_000, pool));
    expect(isExpectedPool(contract, wrong as DecodedLog)).toBe(false);
  });

  it('are created by another contract than the factory if the fork says so', () => {
    expect(poolAddress(shipped('sushiswap-v3', 'ETH').address, [USDC, WETH], 500, hashes.sushi)).toBe(
      '0x35644fb61afbc458bf92b15add6abc1996be5014',
    );
    expect(
      poolAddress(shipped('pancakeswap-v3', 'BSC').address, [CAKE, WBNB], 2_500, hashes.pancake),
    ).not.toBe('0x133b3d95bad5405d14d53473671200e9342896bf');
  });
});

describe('deposits for validators', () => {
  const contract = loadLogContracts().find(({ kind }) => kind === 'validator-deposits') as LogContract;
  const ACCOUNT = `0x${'ab'.repeat(20)}`;
  const littleEndian = (gwei: bigint): string => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(gwei);
    return `0x${bytes.toString('hex')}`;
  };
  const deposit = (credentials: string, gwei = 32_000_000_000n, key = 48): LogEntry => ({
    ...{ address: contract.address, blockNumber: 1, txHash: `0x${'1'.repeat(64)}`, logIndex: 0 },
    topics: [id('DepositEvent(bytes,bytes,bytes,bytes,bytes)')],
    data: AbiCoder.defaultAbiCoder().encode(
      ['bytes', 'bytes', 'bytes', 'bytes', 'bytes'],
      [`0x${'11'.repeat(key)}`, credentials, littleEndian(gwei), `0x${'22'.repeat(96)}`, littleEndian(7n)],
    ),
  });
  const toAccount = (kind: string): string => `0x${kind}${'00'.repeat(11)}${ACCOUNT.slice(2)}`;

  it.each(['01', '02'])('name the account of credentials 0x%s', (kind) => {
    expect(decodeLog(contract, deposit(toAccount(kind), 33_000_000_000n))).toEqual({
      ...{ subject: ACCOUNT, kind: 'stake' },
      values: { amount: '33000000000000000000' },
    });
  });

  it('prove nothing with credentials of a key, a part of the coins, or another layout', () => {
    for (const log of [
      deposit(`0x00${'cd'.repeat(31)}`),
      deposit(`0x01${'cd'.repeat(31)}`),
      deposit(toAccount('03')),
      deposit(toAccount('01'), 31_999_999_999n),
      deposit(toAccount('01'), 32_000_000_000n, 47),
      { ...deposit(toAccount('01')), data: deposit(toAccount('01')).data.slice(0, -64) },
      { ...deposit(toAccount('01')), data: `${deposit(toAccount('01')).data}${'0'.repeat(64)}` },
    ])
      expect(decodeLog(contract, log)).toBeNull();
  });
});

describe.skipIf(!hasAnvil)('events of shipped contracts on a node', () => {
  /** Runtime code that logs its calldata: three topics, then the data. */
  const LOGGER_OF_THREE = '0x6060360380606060003760403560203560003583' + '6000a300';
  let anvil: Anvil;
  let adapter: ChainAdapter;
  let world: AttributionWorld;
  beforeAll(async () => {
    anvil = await startAnvil();
    adapter = openFor(family, 'ETH', { rpc: [anvil.url] });
    world = await createAttributionWorld([label]);
  });
  afterAll(async () => {
    await adapter?.close();
    await anvil?.stop();
    await world?.close();
  });

  it('label pods, bridged tokens and withdrawal addresses, each once, until a reorg takes them back', async () => {
    const [pods, tokens, deposits] = (['eigen-pods', 'bridged-tokens', 'validator-deposits'] as const).map(
      (kind) => ({ ...loadLogContracts().find((row) => row.kind === kind), chain: 'ETH' }) as LogContract,
    ) as [LogContract, LogContract, LogContract];
    for (const { address } of [pods, tokens]) await anvil.rpc('anvil_setCode', address, LOGGER_OF_THREE);
    await anvil.rpc('anvil_setCode', deposits.address, LOGGER);
    const [pod, token, staker] = ['1', '2', '3'].map((digit) => `0x${digit.repeat(40)}`) as [
      string,
      string,
      string,
    ];
    const coder = AbiCoder.defaultAbiCoder();
    const log = async (to: string, words: readonly string[]): Promise<void> => {
      const data = `0x${words.map((text) => text.slice(2)).join('')}`;
      await anvil.send({ to, data, gas: 500_000 });
    };
    await log(pods.address, [id('PodDeployed(address,address)'), word(pod), word(ACCOUNTS[1])]);
    await log(tokens.address, [
      ...[id('OptimismMintableERC20Created(address,address,address)'), word(token), word(USDC)],
      word(ACCOUNTS[1]),
    ]);
    const credentials = `0x01${'00'.repeat(11)}${staker.slice(2)}`;
    const parts = [`0x${'11'.repeat(48)}`, credentials, '0x0040597307000000', `0x${'22'.repeat(96)}`];
    await log(deposits.address, [
      id('DepositEvent(bytes,bytes,bytes,bytes,bytes)'),
      coder.encode(['bytes', 'bytes', 'bytes', 'bytes', 'bytes'], [...parts, '0x0700000000000000']),
    ]);
    await anvil.mine();
    const read = (contract: LogContract) =>
      readContractLogs(
        { contract, call: within(60_000) },
        { adapter: readerOf(adapter), store: world.store },
      );
    for (const contract of [pods, tokens, deposits])
      expect(await read(contract)).toMatchObject({ facts: 1, ignored: 0 });
    const labelled = (address: string) =>
      labelsOfFacts('ETH', world.store.facts(keyOf(address))).map(({ template }) => [
        template.entity.id,
        template.category,
        template.source,
      ]);
    expect([labelled(pod), labelled(token), labelled(staker)]).toEqual([
      [['eigenlayer', 'STAKING', 'factories']],
      [['op-standard-bridge', 'TOKEN', 'factories']],
      [['ethereum-validator', 'VALIDATOR', 'validators']],
    ]);
    await anvil.reorg(1);
    for (const contract of [pods, tokens, deposits])
      expect(await read(contract)).toMatchObject({ facts: 0, reverted: 1 });
    expect([labelled(pod), labelled(token), labelled(staker)]).toEqual([[], [], []]);
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
