/**
 * Addresses with a planted truth for the rules over logs and coinbases: what each rule should say, and look-alikes of which it should say
 * nothing. The shares of the kinds are chosen here; those of real chains are not known.
 */
import { readFileSync } from 'node:fs';
import { AbiCoder, id } from 'ethers';
import { factOf } from '../src/attribution/coinbase/read.ts';
import { loadPoolTags } from '../src/attribution/coinbase/tags.ts';
import { type LogContract, loadLogContracts } from '../src/attribution/logs/contracts.ts';
import { poolAddress } from '../src/attribution/logs/decode.ts';
import { storeLogs } from '../src/attribution/logs/read.ts';
import type { AttributionStore } from '../src/attribution/store.ts';
import { shippedData } from '../src/base/paths.ts';
import { parseAddress } from '../src/chains/address/parse.ts';
import type { Block } from '../src/chains/block.ts';
import type { LogEntry } from '../src/chains/families/port.ts';
import { slugOf } from '../src/labels/entities.ts';
import { simulatedAddress } from '../test/attribution/simulated-exchange.ts';

/** An address, and the entity that a rule should name. */
export interface Planted {
  readonly address: string;
  readonly kind: string;
  /** Id of the entity of its label; null for an address that should have none. */
  readonly expected: string | null;
}

const coder = AbiCoder.defaultAbiCoder();
const hash = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`;
const word = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

/** Numbers of addresses and transactions, each used once. */
class Numbers {
  #next: number;

  constructor(first: number) {
    this.#next = first;
  }

  address(): string {
    return simulatedAddress(this.#next++);
  }

  log(contract: Pick<LogContract, 'address'>, topics: readonly string[], data: string): LogEntry {
    const number = this.#next++;
    return {
      ...{ address: contract.address, topics, data, blockNumber: 20_000_000 + number },
      ...{ txHash: hash(number), logIndex: number % 200 },
    };
  }
}

const shipped = (name: string): LogContract => {
  const found = loadLogContracts().find((row) => row.id === name && row.chain === 'ETH');
  if (found === undefined) throw new Error(`${name} is not in data/attribution.json`);
  return found;
};

const POOL_CODE: Readonly<Record<string, string>> = {
  'uniswap-v2': '0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f',
  'uniswap-v3': '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54',
};

interface Created {
  readonly log: LogEntry;
  readonly address: string;
}

/** A contract that a listed factory created, as the factory logs it. */
function created(contract: LogContract, numbers: Numbers): Created {
  const tokens = [numbers.address(), numbers.address()].sort() as [string, string];
  const [first, second] = tokens.map(word) as [string, string];
  const code = POOL_CODE[contract.id];
  switch (contract.kind) {
    case 'v2-pools': {
      const address = code ? poolAddress(contract.address, tokens, null, code) : numbers.address();
      const topics = [id('PairCreated(address,address,address,uint256)'), first, second];
      return { address, log: numbers.log(contract, topics, `${word(address)}${hash(1).slice(2)}`) };
    }
    case 'v3-pools': {
      const address = poolAddress(contract.address, tokens, 500, code ?? '');
      const topics = [id('PoolCreated(address,address,uint24,int24,address)'), first, second, hash(500)];
      return { address, log: numbers.log(contract, topics, `${hash(10)}${word(address).slice(2)}`) };
    }
    case 'safe-proxies': {
      const address = numbers.address();
      const data = `${word(address)}${second.slice(2)}`;
      return { address, log: numbers.log(contract, [id('ProxyCreation(address,address)')], data) };
    }
    case 'erc4337-accounts': {
      const address = numbers.address();
      const topics = [id('AccountDeployed(bytes32,address,address,address)'), hash(7), word(address)];
      return { address, log: numbers.log(contract, topics, `${first}${second.slice(2)}`) };
    }
    default: {
      const address = numbers.address();
      const topics = [id('PodDeployed(address,address)'), word(address), first];
      return { address, log: numbers.log(contract, topics, '0x') };
    }
  }
}

const FACTORIES: readonly (readonly [name: string, entity: string])[] = [
  ['uniswap-v2', 'uniswap'],
  ['uniswap-v3', 'uniswap'],
  ['sushiswap-v2', 'sushiswap'],
  ['safe', 'safe'],
  ['erc4337', 'erc-4337-account'],
  ['eigenlayer', 'eigenlayer'],
];

/** Plants contracts of listed factories, and look-alikes of each. */
export function plantFactories(count: number, store: AttributionStore): Planted[] {
  const numbers = new Numbers(10_000_000);
  const planted: Planted[] = [];
  for (let at = 0; at < count; at++) {
    const [name, entity] = FACTORIES[at % FACTORIES.length] as (typeof FACTORIES)[number];
    const contract = shipped(name);
    const own = created(contract, numbers);
    storeLogs(contract, [own.log], store);
    planted.push({ address: own.address, kind: name, expected: entity });
    const copy = created(contract, numbers);
    const wrong: readonly (readonly [kind: string, log: LogEntry, address: string])[] = [
      ['event of another contract', { ...copy.log, address: numbers.address() }, copy.address],
      [
        'data cut',
        { ...copy.log, data: copy.log.data.slice(0, -64), topics: copy.log.topics.slice(0, 2) },
        copy.address,
      ],
      ['one more topic', { ...copy.log, topics: [...copy.log.topics, hash(1)] }, copy.address],
      ['another event', { ...copy.log, topics: [hash(at), ...copy.log.topics.slice(1)] }, copy.address],
    ];
    const [kind, log, address] = wrong[at % wrong.length] as (typeof wrong)[number];
    storeLogs(contract, [log], store);
    planted.push({ address, kind, expected: null });
    // The log of a listed factory whose pool is elsewhere, as a node that lies would return it.
    if (POOL_CODE[name] !== undefined) {
      const moved = created(contract, numbers);
      const elsewhere = numbers.address();
      const data = moved.log.data.replace(moved.address.slice(2), elsewhere.slice(2));
      storeLogs(contract, [{ ...moved.log, data }], store);
      planted.push({ address: elsewhere, kind: 'not at the address of CREATE2', expected: null });
    }
  }
  return planted;
}

const FREEZES = ['AddedBlackList(address)', 'RemovedBlackList(address)'] as const;

/** Plants addresses that an issuer froze, that it released again, and that only another token claims to freeze. */
export function plantFreezes(count: number, store: AttributionStore): Planted[] {
  const numbers = new Numbers(20_000_000);
  const tether = shipped('tether');
  const planted: Planted[] = [];
  const freeze = (
    address: string,
    contract: Pick<LogContract, 'address'>,
    ...events: readonly number[]
  ): void => {
    const logs = events.map((event) => numbers.log(contract, [id(FREEZES[event] as string)], word(address)));
    storeLogs(tether, logs, store);
  };
  for (let at = 0; at < count; at++) {
    const address = numbers.address();
    const other = { address: numbers.address() };
    const kinds: readonly (readonly [
      kind: string,
      contract: Pick<LogContract, 'address'>,
      events: readonly number[],
    ])[] = [
      ['frozen', tether, [0]],
      ['frozen twice', tether, [0, 0]],
      ['frozen again', tether, [0, 1, 0]],
      ['released', tether, [0, 1]],
      ['never frozen, released', tether, [1]],
      ['frozen by another token', other, [0]],
    ];
    const [kind, contract, events] = kinds[at % kinds.length] as (typeof kinds)[number];
    freeze(address, contract, ...events);
    planted.push({
      address,
      kind,
      expected: kind.startsWith('frozen') && contract === tether ? 'frozen-by-tether' : null,
    });
  }
  return planted;
}

/**
 * Plants withdrawal addresses of validators. Of 100, two are named by a deposit with an invalid signature, which the consensus layer
 * ignores, and three by two deposits of 16 coins.
 */
export function plantValidators(count: number, store: AttributionStore): Planted[] {
  const numbers = new Numbers(30_000_000);
  const contract = shipped('beacon-deposits');
  const planted: Planted[] = [];
  const littleEndian = (gwei: bigint): string => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(gwei);
    return `0x${bytes.toString('hex')}`;
  };
  const deposit = (address: string, credentials: string, gwei: bigint): void => {
    const parts = [
      ...[
        `0x${'11'.repeat(48)}`,
        `0x${credentials}${'00'.repeat(11)}${address.slice(2)}`,
        littleEndian(gwei),
      ],
      ...[`0x${'22'.repeat(96)}`, littleEndian(7n)],
    ];
    const data = coder.encode(['bytes', 'bytes', 'bytes', 'bytes', 'bytes'], parts);
    storeLogs(
      contract,
      [numbers.log(contract, [id('DepositEvent(bytes,bytes,bytes,bytes,bytes)')], data)],
      store,
    );
  };
  for (let at = 0; at < count; at++) {
    const address = numbers.address();
    const part = at % 100;
    const expected = part < 2 ? null : 'ethereum-validator';
    const kind = part < 2 ? 'invalid signature' : part < 5 ? 'two halves' : 'validator';
    if (kind === 'two halves') for (let half = 0; half < 2; half++) deposit(address, '01', 16_000_000_000n);
    else deposit(address, at % 2 === 0 ? '01' : '02', 32_000_000_000n);
    planted.push({ address, kind, expected });
    const lookAlike = numbers.address();
    if (at % 2 === 0) deposit(lookAlike, '01', 1_000_000_000n);
    else deposit(lookAlike, '00', 32_000_000_000n);
    planted.push({
      address: lookAlike,
      kind: at % 2 === 0 ? 'top-up' : 'credentials of a key',
      expected: null,
    });
  }
  return planted;
}

interface PoolFile {
  readonly pools: readonly { readonly name: string; readonly tags: readonly [string, ...string[]] }[];
}

const scriptOf = (text: string): string => `03a1b2c3${Buffer.from(text, 'utf8').toString('hex')}`;

function coinbaseOf(height: number, payees: readonly string[], text: string): Block {
  const txid = height.toString(16).padStart(64, '0');
  const outputs = payees.map((address, n) => ({ n, address, value: 1_000n, script: 'p2wpkh' }) as const);
  return {
    ...{ chain: 'BTC', height, hash: txid, parentHash: null, timestampMs: 1_700_000_000_000 + height },
    transfers: [],
    transactions: [
      {
        ...{ chain: 'BTC', txid, blockNumber: height, indexInBlock: 0, timestampMs: 1_700_000_000_000 },
        ...{ isCoinbase: true, coinbaseScript: scriptOf(text), inputs: [], outputs },
      },
    ],
  };
}

/** One in so many pools has a miner that always writes the tag of the pool, although it mines alone. */
const LIAR_EVERY = 20;

/**
 * Plants payees of coinbases: of each pool one with twelve blocks, one with three and one with a single block; miners of their own that
 * write its tag once, or (of one pool in twenty) always; and blocks that pay several addresses. Payees are only names here, so they are
 * not addresses of Bitcoin.
 */
export function plantCoinbases(store: AttributionStore): Planted[] {
  const tags = loadPoolTags();
  const file = JSON.parse(readFileSync(shippedData('pool-tags.json'), 'utf8')) as PoolFile;
  const numbers = new Numbers(40_000_000);
  const planted: Planted[] = [];
  let height = 800_000;
  const mine = (payees: readonly string[], text: string, blocks: number): void => {
    for (let at = 0; at < blocks; at++) {
      const found = factOf(coinbaseOf(height++, payees, text), tags);
      if (found !== null)
        store.write(() => store.addFact(parseAddress('ETH', found.address).key, found.fact));
    }
  };
  for (const [number, { name, tags: own }] of file.pools.entries()) {
    const text = `a block of ${own[0]}`;
    const plant = (
      kind: string,
      expected: string | null,
      ...mined: readonly (readonly [string, number])[]
    ): void => {
      const address = numbers.address();
      for (const [script, blocks] of mined) mine([address], script, blocks);
      planted.push({ address, kind, expected });
    };
    const entity = slugOf(name);
    const another = file.pools[(number + 1) % file.pools.length]?.tags[0];
    plant('twelve blocks', entity, [text, 12]);
    plant('three blocks', entity, [text, 3]);
    plant('one block', entity, [text, 1]);
    plant('wrote the tag once', null, [text, 1], ['mined alone', 5]);
    plant('wrote tags of two pools', null, [text, 3], [`a block of ${another}`, 3]);
    if (number % LIAR_EVERY === 0) plant('always writes the tag of another pool', null, [text, 5]);
    const payees = [numbers.address(), numbers.address()];
    mine(payees, text, 5);
    for (const address of payees) planted.push({ address, kind: 'one of several payees', expected: null });
  }
  return planted;
}
