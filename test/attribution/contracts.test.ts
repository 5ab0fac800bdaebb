/** Creators of contracts, and proxies, on a real node: upgrades, reorgs, interrupted runs, and contracts that lie. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { delegates, isContract, minimalProxyTarget } from '../../src/attribution/contracts/code.ts';
import {
  CREATIONS,
  CREATOR_RULE,
  type CreationReader,
  readCreations,
} from '../../src/attribution/contracts/creations.ts';
import { PROXY_RULE } from '../../src/attribution/contracts/facts.ts';
import { ContractNaming } from '../../src/attribution/contracts/naming.ts';
import { PROXY_EVENTS, type ProxyReader, readProxies } from '../../src/attribution/contracts/proxies.ts';
import { type AttributionAnswer, explainAddress } from '../../src/attribution/explain.ts';
import { labelsOfFacts } from '../../src/attribution/logs/labels.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { openAdapter } from '../../src/chains/families/evm/adapter.ts';
import type { ChainAdapter } from '../../src/chains/families/port.ts';
import { openFor, within } from '../conformance/adapter.ts';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../setup/anvil.ts';
import {
  answering,
  BEACON_SLOT,
  creating,
  delegating,
  IMPLEMENTATION_SLOT,
  minimal,
  nextAddress,
  PROXIABLE_SLOT,
  pretending,
  UPGRADED,
  ZEPPELIN_SLOT,
} from '../setup/contract-code.ts';
import { creationOf, hasProxies, type ProxyDeployer, proxyDeployer } from '../setup/proxies.ts';
import { nodeReaderOf } from './node-reader.ts';
import { type AttributionWorld, createAttributionWorld } from './world.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'blockscout' } };
const keyOf = (address: string): Uint8Array => parseAddress('ETH', address).key;
const ADMIN = ACCOUNTS[0];
const EXCHANGE = ACCOUNTS[1];
const SCAMMER = ACCOUNTS[2];
const NOBODY = ACCOUNTS[3];
/** Runtime code that jumps to its start for ever. */
const ENDLESS = '5b600056';

type Reader = CreationReader & ProxyReader;

describe.skipIf(!hasAnvil || !hasProxies)('contracts on a node', () => {
  let anvil: Anvil;
  let adapter: ChainAdapter;
  let reader: Reader;
  let world: AttributionWorld;
  let node: ProxyDeployer;
  /** Code that a publisher labels, and code that nobody labels. */
  let usdc: string;
  let vault: string;
  let unknown: string;

  beforeAll(async () => {
    anvil = await startAnvil();
    node = proxyDeployer(anvil);
    const vesting = (owner: string): string => creationOf('VestingWallet', owner, 1, 1);
    [usdc, vault] = [await node.deploy(vesting(ADMIN)), await node.deploy(vesting(EXCHANGE))];
    unknown = await node.deploy(vesting(SCAMMER), NOBODY);
    adapter = openFor(family, 'ETH', { rpc: [anvil.url] });
    reader = nodeReaderOf(adapter);
    world = await createAttributionWorld([
      { address: usdc, entity: 'usdc', category: 'TOKEN' },
      { address: vault, entity: 'vault', category: 'DEFI' },
      { address: EXCHANGE, entity: 'kraken', category: 'EXCHANGE' },
      { address: SCAMMER, entity: 'a-scammer', category: 'SCAM', threatLevel: 'CRITICAL' },
      // A deposit address that was derived names nobody.
      { address: '0x00000000000000000000000000000000000000aa', entity: 'x', source: 'deposits' },
    ]);
  });
  afterAll(async () => {
    await adapter?.close();
    await anvil?.stop();
    await world?.close();
  });

  const options = () => ({ chain: 'ETH', fromBlock: 0, call: within(60_000) }) as const;
  const deps = () => ({ adapter: reader, store: world.store });
  const created = () => readCreations(options(), deps());
  const proxies = () => readProxies(options(), deps());
  /** Entity, category and confidence of each label of an address. */
  const labelsOf = (address: string) =>
    labelsOfFacts('ETH', world.store.facts(keyOf(address)), new ContractNaming('ETH', world)).map(
      ({ template }) => [template.entity.name, template.category, template.confidence],
    );
  const proxyOf = (entity: string, confidence: number) => [
    `Proxy of the code of ${entity}`,
    'SMART_CONTRACT',
    confidence,
  ];
  const explained = (address: string): AttributionAnswer => {
    const subject = { ...parseAddress('ETH', address), shown: address };
    return explainAddress(subject, { ...world, disputes: { of: () => null } });
  };

  it('name the labelled account that created them, and call no contract a service', async () => {
    const plain = creating('00');
    const [ofExchange, ofScammer, ofNobody] = [
      await node.deploy(plain, EXCHANGE),
      await node.deploy(plain, SCAMMER),
      await node.deploy(plain, NOBODY),
    ];
    // A creation that fails leaves no contract.
    const failed = await nextAddress(anvil, EXCHANGE);
    await anvil.send({ from: EXCHANGE, data: '0x60006000fd', gas: 100_000 });
    await anvil.mine();
    const report = await created();
    expect(report).toMatchObject({ created: 6, proxies: 0, reverted: 0, ignored: 0 });
    expect(labelsOf(ofExchange)).toEqual([['Contract created by kraken', 'SMART_CONTRACT', 0.9]]);
    expect(labelsOf(ofScammer)).toEqual([['Contract created by a-scammer', 'ILLICIT_ACTOR', 0.5]]);
    expect(labelsOf(ofNobody)).toEqual([]);
    expect(labelsOf(failed)).toEqual([]);
    const { findings } = explained(ofExchange);
    expect(findings).toMatchObject([
      {
        ...{ rule: CREATOR_RULE, source: 'creators', status: 'LABELLED', count: 1 },
        evidence: [{ role: 'CREATED', logIndex: null, amount: null }],
      },
    ]);
    expect(findings[0]?.summary).toContain(EXCHANGE.toLowerCase());
    expect(findings[0]?.evidence[0]?.timestamp).toMatch(/^20/);
    expect(explained(ofNobody).findings).toMatchObject([{ status: 'INSUFFICIENT', entityName: null }]);
  });

  it('are read once', async () => {
    expect(await created()).toMatchObject({ blocks: 0, created: 0, reverted: 0 });
  });

  it('of OpenZeppelin are named after the code that their slot names, also after an upgrade', async () => {
    const plain = await node.deploy(creationOf('ERC1967Proxy', usdc, '0x'));
    const managed = await node.deploy(creationOf('TransparentUpgradeableProxy', usdc, ADMIN, '0x'), NOBODY);
    // The first and the last event of each contract count; the constructor of the second one also logs its admin.
    expect(await proxies()).toMatchObject({ logs: 3, facts: 3, ignored: 0 });
    expect(labelsOf(plain)).toEqual([proxyOf('usdc', 0.8)]);
    expect(labelsOf(managed)).toEqual([proxyOf('usdc', 0.8)]);
    const adminSlot = '0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103';
    const admin = await node.stored(managed, adminSlot);
    await node.send(admin, 'ProxyAdmin', 'upgradeAndCall', [managed, vault, '0x']);
    expect(await proxies()).toMatchObject({ facts: 1 });
    expect(labelsOf(managed)).toEqual([proxyOf('vault', 0.8)]);
    expect(labelsOf(plain)).toEqual([proxyOf('usdc', 0.8)]);
    const [finding] = explained(managed).findings;
    expect(finding).toMatchObject({ rule: PROXY_RULE, status: 'LABELLED', count: 3 });
    expect(finding?.evidence.map(({ role }) => role)).toEqual(['UPGRADED', 'UPGRADED', 'UPGRADED']);
    for (const part of [`admin ${admin.toLowerCase()}`, vault.toLowerCase(), 'Anyone can deploy'])
      expect(finding?.summary).toContain(part);
    // An upgrade to code that nobody labels takes the label with it.
    await node.send(admin, 'ProxyAdmin', 'upgradeAndCall', [managed, unknown, '0x']);
    await proxies();
    expect(labelsOf(managed)).toEqual([]);
    expect(explained(managed).findings).toMatchObject([{ status: 'INSUFFICIENT' }]);
  });

  it('change with the beacon that names their code', async () => {
    const beacon = await node.deploy(creationOf('UpgradeableBeacon', usdc, ADMIN));
    const first = await node.deploy(creationOf('BeaconProxy', beacon, '0x'));
    const second = await node.deploy(creationOf('BeaconProxy', beacon, '0x'));
    await proxies();
    for (const proxy of [first, second]) expect(labelsOf(proxy)).toEqual([proxyOf('usdc', 0.7)]);
    // A beacon is no proxy.
    expect(labelsOf(beacon)).toEqual([]);
    await node.send(beacon, 'UpgradeableBeacon', 'upgradeTo', [vault]);
    expect(await proxies()).toMatchObject({ facts: 1 });
    for (const proxy of [first, second]) expect(labelsOf(proxy)).toEqual([proxyOf('vault', 0.7)]);
    expect(explained(second).findings[0]?.summary).toContain(`through the beacon ${beacon.toLowerCase()}`);
    await anvil.reorg(1);
    await proxies();
    for (const proxy of [first, second]) expect(labelsOf(proxy)).toEqual([proxyOf('usdc', 0.7)]);
  });

  it('without events are found by the transaction that created them', async () => {
    const clone = await node.deploy(creating(minimal(usdc)), NOBODY);
    const old = await node.deploy(
      creating(delegating(ZEPPELIN_SLOT), { stored: [ZEPPELIN_SLOT, vault] }),
      NOBODY,
    );
    const universal = await node.deploy(
      creating(delegating(PROXIABLE_SLOT), { stored: [PROXIABLE_SLOT, usdc] }),
      EXCHANGE,
    );
    expect((await created()).proxies).toBeGreaterThanOrEqual(3);
    expect(labelsOf(clone)).toEqual([proxyOf('usdc', 0.9)]);
    expect(labelsOf(old)).toEqual([proxyOf('vault', 0.8)]);
    expect(labelsOf(universal)).toEqual([
      ['Contract created by kraken', 'SMART_CONTRACT', 0.9],
      proxyOf('usdc', 0.8),
    ]);
  });

  it('of code that a labelled account created are named after both', async () => {
    const code = await node.deploy(creating('00'), EXCHANGE);
    const clone = await node.deploy(creating(minimal(code)), NOBODY);
    await created();
    expect(labelsOf(clone)).toEqual([proxyOf('a contract created by kraken', 0.9)]);
  });

  it('that lie get no label', async () => {
    const event = [[UPGRADED, usdc]] as const;
    const beacon = await node.deploy(creating(answering(usdc)), NOBODY);
    const endless = await node.deploy(creating(ENDLESS), NOBODY);
    const liars = [
      // Logs an event and has no slot.
      creating('00', { logs: event }),
      // Stores the address, and cannot delegate.
      creating(`7f${IMPLEMENTATION_SLOT.slice(2)}5000`, { stored: [IMPLEMENTATION_SLOT, usdc], logs: event }),
      // Delegates to the address in another slot, and stores it in the one of EIP-1967, too.
      creating(delegating(`0x${'0'.repeat(63)}1`), { stored: [IMPLEMENTATION_SLOT, usdc], logs: event }),
      // Fills the slot of a beacon, and delegates to the address in another one.
      creating(delegating(`0x${'0'.repeat(63)}1`), { stored: [BEACON_SLOT, beacon], logs: event }),
      // Names an account of a labelled exchange as its code.
      creating(delegating(IMPLEMENTATION_SLOT), {
        stored: [IMPLEMENTATION_SLOT, EXCHANGE],
        logs: [[UPGRADED, EXCHANGE]],
      }),
      // Answers `implementation()` with the address, as a beacon would.
      creating(answering(usdc), { logs: event }),
      // Never ends if it is asked, and one whose beacon never ends.
      creating(ENDLESS, { logs: event }),
      creating(delegating(BEACON_SLOT), { stored: [BEACON_SLOT, endless], logs: event }),
      // Has the code of a minimal proxy with another ending.
      creating(`${minimal(usdc).slice(0, -4)}5b00`),
    ];
    const addresses: string[] = [];
    for (const code of liars) addresses.push(await node.deploy(code, NOBODY));
    await created();
    const report = await proxies();
    expect(report.ignored).toBeGreaterThanOrEqual(4);
    for (const address of addresses) expect(labelsOf(address), address).toEqual([]);
  });

  it('that name code in a slot are called proxies of it, not contracts of its owner', async () => {
    // It delegates to another address, which no reading of code and slots can find out.
    const code = creating(pretending(IMPLEMENTATION_SLOT, unknown), {
      ...{ stored: [IMPLEMENTATION_SLOT, usdc], logs: [[UPGRADED, usdc]] },
    });
    const pretender = await node.deploy(code, NOBODY);
    await proxies();
    expect(labelsOf(pretender)).toEqual([proxyOf('usdc', 0.8)]);
    expect(explained(pretender).findings[0]?.summary).toContain('it does not show whose the proxy is');
  });

  it('lose the label of a proxy once they have no code any more', async () => {
    const proxy = await node.deploy(creationOf('ERC1967Proxy', usdc, '0x'));
    await proxies();
    expect(labelsOf(proxy)).toEqual([proxyOf('usdc', 0.8)]);
    // Its next event is that of another code at the address.
    await anvil.rpc('anvil_setCode', proxy, `0x7f${UPGRADED.slice(2)}60006000a100`);
    await anvil.send({ to: proxy, gas: 100_000 });
    await anvil.mine();
    await proxies();
    expect(labelsOf(proxy)).toEqual([]);
    expect(explained(proxy).findings).toMatchObject([{ status: 'ENDED' }]);
  });

  it('of reverted blocks are forgotten, and those of the new blocks are read', async () => {
    const gone = await node.deploy(creating(minimal(usdc)), EXCHANGE);
    await created();
    expect(labelsOf(gone)).toHaveLength(2);
    await anvil.reorg(1);
    const stays = await node.deploy(creating('00'), EXCHANGE);
    // The same account with the same nonce: the same address, but no proxy.
    expect(stays).toBe(gone);
    const report = await created();
    expect(report.reverted).toBeGreaterThanOrEqual(2);
    expect(labelsOf(stays)).toEqual([['Contract created by kraken', 'SMART_CONTRACT', 0.9]]);
  });

  it('are read again after an interruption, with the same result', async () => {
    const fresh = await createAttributionWorld([{ address: usdc, entity: 'usdc' }]);
    try {
      const stopped: Reader = {
        ...reader,
        creations: (height, call) =>
          height === 20 ? Promise.reject(new Error('power failed')) : reader.creations(height, call),
      };
      const run = (adapter: Reader) => readCreations(options(), { adapter, store: fresh.store });
      await expect(run(stopped)).rejects.toThrow('power failed');
      const position = fresh.store.cursor(CREATIONS);
      expect(position?.nextBlock).toBe(16);
      const { blocks, nextBlock } = await run(reader);
      expect(blocks).toBe(nextBlock - 16);
      await readProxies(options(), { adapter: reader, store: fresh.store });
      const facts = (store: AttributionWorld['store'], rule: string) =>
        [...store.allFacts()].flatMap(([key, own]) =>
          own
            .filter((fact) => fact.rule === rule)
            .map(({ txHash, values }) => [Buffer.from(key).toString('hex'), txHash, values.creator]),
        );
      expect(facts(fresh.store, CREATOR_RULE)).toEqual(facts(world.store, CREATOR_RULE));
      expect(facts(fresh.store, CREATOR_RULE).length).toBeGreaterThan(20);
      expect(fresh.store.cursor(PROXY_EVENTS)?.nextBlock).toBe(nextBlock);
    } finally {
      await fresh.close();
    }
  });
  it('have their former code again if a reorg reverts the upgrade', async () => {
    const managed = await node.deploy(creationOf('TransparentUpgradeableProxy', usdc, ADMIN, '0x'));
    const adminSlot = '0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103';
    const admin = await node.stored(managed, adminSlot);
    await anvil.mine(600);
    // Both events are read in one run: the state behind the first one is already that of the second one.
    await node.send(admin, 'ProxyAdmin', 'upgradeAndCall', [managed, vault, '0x']);
    await proxies();
    expect(labelsOf(managed)).toEqual([proxyOf('vault', 0.8)]);
    await anvil.reorg(1);
    const report = await proxies();
    // Blocks that are older than 512 are not read again.
    expect(report).toMatchObject({ reverted: 1, facts: 0 });
    expect(labelsOf(managed)).toEqual([proxyOf('usdc', 0.8)]);
    expect((await node.stored(managed, IMPLEMENTATION_SLOT)).toLowerCase()).toBe(usdc.toLowerCase());
  });
});

describe('code of minimal proxies', () => {
  const TARGET = `0x${'be'.repeat(20)}`;
  const SHORT = `0x${'00'.repeat(4)}${'be'.repeat(16)}`;

  it.each([
    ['EIP-1167', `0x${minimal(TARGET)}`, TARGET],
    [
      'EIP-1167 with 16 bytes',
      `0x363d3d373d3d3d363d6f${'be'.repeat(16)}5af43d82803e903d91602757fd5bf3`,
      SHORT,
    ],
    ['EIP-1167 with arguments behind it', `0x${minimal(TARGET)}${'ab'.repeat(40)}`, TARGET],
    ['EIP-7511', `0x365f5f375f5f365f73${'be'.repeat(20)}5af43d5f5f3e5f3d91602a57fd5bf3`, TARGET],
    ['Solady and 0age', `0x3d3d3d3d363d3d37363d73${'be'.repeat(20)}5af43d3d93803e602a57fd5bf3`, TARGET],
  ])('names the implementation (%s)', (_, code, expected) => {
    expect(minimalProxyTarget(code)).toBe(expected);
    expect(delegates(code)).toBe(true);
  });

  it('is nothing else', () => {
    const code = `0x${minimal(TARGET)}`;
    for (const other of [
      '0x',
      '0x00',
      code.slice(0, -2),
      `0x00${code.slice(2)}`,
      code.replace('5af4', '5af1'),
    ])
      expect(minimalProxyTarget(other)).toBeNull();
    // The jump target has to fit the length of the address.
    expect(minimalProxyTarget(code.replace('602b57', '602a57'))).toBeNull();
  });

  it('is told from data that looks like an instruction', () => {
    // PUSH1 0xf4, and a push that is cut.
    expect(delegates('0x60f400')).toBe(false);
    expect(delegates('0x7ff4')).toBe(false);
    expect(delegates('0x60f4f4')).toBe(true);
    expect([isContract('0x'), isContract(`0xef0100${'11'.repeat(20)}`), isContract('0x00')]).toEqual([
      false,
      false,
      true,
    ]);
  });
});
