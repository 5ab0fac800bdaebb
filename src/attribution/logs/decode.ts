/**
 * Decodes the events of factories and issuers: which address a log is about, and what it proves. A log that does not have the exact layout
 * of its event is no fact.
 */
import { digest, keccak256Block } from '../../chains/address/keccak.ts';
import type { LogEntry } from '../../chains/families/port.ts';
import type { LogContract, LogKind } from './contracts.ts';

/** A fact about an address, as a log proves it. */
export interface DecodedLog {
  /** 0x and 40 hex digits in lower case. */
  readonly subject: string;
  /** `pool`, `safe`, `account`, `token`, `pod`, `stake`, `frozen`, `unfrozen` or `destroyed`. */
  readonly kind: string;
  readonly values: Readonly<Record<string, string>>;
}

/** Returns the first topic of an event: the hash of its signature. */
function id(signature: string): string {
  const bytes = Buffer.from(signature);
  keccak256Block(bytes, 0, bytes.length);
  return `0x${Buffer.from(digest).toString('hex')}`;
}

const PAIR_CREATED = id('PairCreated(address,address,address,uint256)');
const POOL_CREATED = id('PoolCreated(address,address,uint24,int24,address)');
const PROXY_CREATION = id('ProxyCreation(address,address)');
const ACCOUNT_DEPLOYED = id('AccountDeployed(bytes32,address,address,address)');
const ADDED_BLACK_LIST = id('AddedBlackList(address)');
const REMOVED_BLACK_LIST = id('RemovedBlackList(address)');
const DESTROYED_BLACK_FUNDS = id('DestroyedBlackFunds(address,uint256)');
const BLACKLISTED = id('Blacklisted(address)');
const UN_BLACKLISTED = id('UnBlacklisted(address)');
const MINTABLE_CREATED = id('OptimismMintableERC20Created(address,address,address)');
const POD_DEPLOYED = id('PodDeployed(address,address)');
const DEPOSITED = id('DepositEvent(bytes,bytes,bytes,bytes,bytes)');

/** The first topics of each layout. */
export const TOPICS: Readonly<Record<LogKind, readonly string[]>> = {
  'v2-pools': [PAIR_CREATED],
  'v3-pools': [POOL_CREATED],
  'safe-proxies': [PROXY_CREATION],
  'erc4337-accounts': [ACCOUNT_DEPLOYED],
  'tether-freezes': [ADDED_BLACK_LIST, REMOVED_BLACK_LIST, DESTROYED_BLACK_FUNDS],
  'circle-freezes': [BLACKLISTED, UN_BLACKLISTED],
  'bridged-tokens': [MINTABLE_CREATED],
  'eigen-pods': [POD_DEPLOYED],
  'validator-deposits': [DEPOSITED],
};

const UNISWAP_V3_POOL = '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54';
/**
 * Hashes of the creation code of pools, by the id of their factory: the address of a pool follows from them (CREATE2). Published in the
 * factories' own libraries (UniswapV2Library.pairFor, PoolAddress.POOL_INIT_CODE_HASH; of SushiSwap in @sushiswap/v3-sdk, of PancakeSwap
 * in pancake-v3-contracts).
 */
const INIT_CODE_HASHES: Readonly<Record<string, string>> = {
  'uniswap-v2': '0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f',
  'uniswap-v3': UNISWAP_V3_POOL,
  'sushiswap-v3': UNISWAP_V3_POOL,
  'pancakeswap-v3': '0x6ce8eb472fa82df5469c6ab6d485f17c3ad13c8cd7af59b3d4a8026c5ce0f7e2',
};

/** Contracts that create the pools of a factory, by its id, if it is another one: PancakeV3PoolDeployer. */
const POOL_DEPLOYERS: Readonly<Record<string, string>> = {
  'pancakeswap-v3': '0x41ff9AA7e16B8B1a8a8dc4f0eFacd93D02d071c9',
};

const WORD = 64;
const ADDRESS_PADDING = '0'.repeat(24);

/** Returns the address in the word of 32 bytes at `at` in a hex text; null if the word is cut, or its upper 12 bytes are not zero. */
function addressAt(hex: string, at: number): string | null {
  return hex.length >= at + WORD && hex.startsWith(ADDRESS_PADDING, at)
    ? `0x${hex.slice(at + 24, at + WORD)}`
    : null;
}

const topicAddress = (topic: string | undefined): string | null =>
  topic === undefined || topic.length !== 2 + WORD ? null : addressAt(topic, 2);

/** Returns the address in a word of the data; null as `addressAt`. */
const dataAddress = (data: string, index: number): string | null => addressAt(data, 2 + index * WORD);

const HASH_BYTES = 32;
const ADDRESS_BYTES = 20;
/** 0xff, factory, salt, hash of the creation code: what EIP-1014 hashes. */
const preimage = Buffer.alloc(1 + ADDRESS_BYTES + 2 * HASH_BYTES);
const SALT_AT = 1 + ADDRESS_BYTES;
/** The factory and code that `preimage` has. */
let lastFactory = '';
let lastCode = '';
/** The tokens of version 2 packed, or of version 3 with the fee in words of 32 bytes. */
const packed = Buffer.alloc(2 * ADDRESS_BYTES);
const encoded = Buffer.alloc(3 * HASH_BYTES);

/** Computes the salt of version 2 into `digest`: the hash of both tokens without padding. */
function hashPair(low: string, high: string): void {
  packed.write(low, 0, ADDRESS_BYTES, 'hex');
  packed.write(high, ADDRESS_BYTES, ADDRESS_BYTES, 'hex');
  keccak256Block(packed, 0, packed.length);
}

/** Computes the salt of version 3 into `digest`: the hash of both tokens and the fee, as words. */
function hashPool(low: string, high: string, fee: number): void {
  encoded.write(low, HASH_BYTES - ADDRESS_BYTES, ADDRESS_BYTES, 'hex');
  encoded.write(high, 2 * HASH_BYTES - ADDRESS_BYTES, ADDRESS_BYTES, 'hex');
  encoded.writeUInt32BE(fee, 3 * HASH_BYTES - 4);
  keccak256Block(encoded, 0, encoded.length);
}

/**
 * Computes the address of a pool before it exists, as its factory will.
 *
 * @param fee - of version 3 the fee in hundredths of a basis point; null for version 2
 * @returns 0x and 40 hex digits in lower case
 */
export function poolAddress(
  factory: string,
  tokens: readonly [string, string],
  fee: number | null,
  initCodeHash: string,
): string {
  const first = tokens[0].slice(2).toLowerCase();
  const second = tokens[1].slice(2).toLowerCase();
  const [low, high] = first < second ? [first, second] : [second, first];
  if (fee === null) hashPair(low, high);
  else hashPool(low, high, fee);
  preimage.set(digest, SALT_AT);
  // The logs of one factory come together, so that only their salts differ.
  if (factory !== lastFactory || initCodeHash !== lastCode) {
    preimage[0] = 0xff;
    preimage.write(factory.slice(2), 1, ADDRESS_BYTES, 'hex');
    preimage.write(initCodeHash.slice(2), SALT_AT + HASH_BYTES, HASH_BYTES, 'hex');
    lastFactory = factory;
    lastCode = initCodeHash;
  }
  keccak256Block(preimage, 0, preimage.length);
  return `0x${Buffer.from(digest.buffer, digest.byteOffset + HASH_BYTES - ADDRESS_BYTES, ADDRESS_BYTES).toString('hex')}`;
}

/**
 * Returns whether the address of a pool is the one that CREATE2 gives for a factory with known creation code; null if the code of the
 * factory is not known.
 */
export function isExpectedPool(contract: LogContract, { values, subject }: DecodedLog): boolean | null {
  const hash = INIT_CODE_HASHES[contract.id];
  const { token0, token1, fee } = values;
  if (hash === undefined || token0 === undefined || token1 === undefined) return null;
  return (
    poolAddress(
      POOL_DEPLOYERS[contract.id] ?? contract.address,
      [token0, token1],
      fee === undefined ? null : Number(fee),
      hash,
    ) === subject
  );
}

function decodePool({ topics, data }: LogEntry, version: 2 | 3): DecodedLog | null {
  const token0 = topicAddress(topics[1]);
  const token1 = topicAddress(topics[2]);
  const subject = dataAddress(data, version === 2 ? 0 : 1);
  if (topics.length !== version + 1 || data.length !== 2 + 2 * WORD) return null;
  if (token0 === null || token1 === null || subject === null) return null;
  const values = { token0, token1 };
  if (version === 2) return { subject, kind: 'pool', values };
  const fee = Number.parseInt(topics[3] as string, 16);
  return fee < 2 ** 24 ? { subject, kind: 'pool', values: { ...values, fee: String(fee) } } : null;
}

/** Safe 1.3.0 has both addresses in the data, 1.4.1 has the proxy in a topic. */
function decodeSafe({ topics, data }: LogEntry): DecodedLog | null {
  const isIndexed = topics.length === 2 && data.length === 2 + WORD;
  if (!isIndexed && !(topics.length === 1 && data.length === 2 + 2 * WORD)) return null;
  const subject = isIndexed ? topicAddress(topics[1]) : dataAddress(data, 0);
  const singleton = dataAddress(data, isIndexed ? 0 : 1);
  return subject === null || singleton === null ? null : { subject, kind: 'safe', values: { singleton } };
}

function decodeAccount({ topics, data }: LogEntry): DecodedLog | null {
  const subject = topicAddress(topics[2]);
  const factory = dataAddress(data, 0);
  if (topics.length !== 3 || data.length !== 2 + 2 * WORD || subject === null || factory === null)
    return null;
  return { subject, kind: 'account', values: { factory } };
}

const FREEZES: Readonly<Record<string, string>> = {
  [ADDED_BLACK_LIST]: 'frozen',
  [REMOVED_BLACK_LIST]: 'unfrozen',
  [DESTROYED_BLACK_FUNDS]: 'destroyed',
  [BLACKLISTED]: 'frozen',
  [UN_BLACKLISTED]: 'unfrozen',
};

function decodeFreeze({ topics, data }: LogEntry): DecodedLog | null {
  const [topic = '', indexed] = topics;
  const kind = FREEZES[topic];
  const subject = indexed === undefined ? dataAddress(data, 0) : topicAddress(indexed);
  if (kind === undefined || subject === null || topics.length > 2) return null;
  const words = (indexed === undefined ? 1 : 0) + (kind === 'destroyed' ? 1 : 0);
  if (data.length !== 2 + words * WORD) return null;
  if (kind !== 'destroyed') return { subject, kind, values: {} };
  return { subject, kind, values: { amount: BigInt(`0x${data.slice(2 + (words - 1) * WORD)}`).toString() } };
}

/** Reads an event with two indexed addresses, of which the first is the created contract, and `words` words of data. */
function decodeCreated(
  { topics, data }: LogEntry,
  kind: 'token' | 'pod',
  second: 'remoteToken' | 'owner',
  words: number,
): DecodedLog | null {
  const subject = topicAddress(topics[1]);
  const other = topicAddress(topics[2]);
  if (topics.length !== 3 || data.length !== 2 + words * WORD || subject === null || other === null)
    return null;
  return { subject, kind, values: { [second]: other } };
}

/**
 * Words of a deposit to Ethereum's deposit contract that are the same in each: offsets and lengths of a public key, credentials, an amount,
 * a signature and an index (EIP-6110, "Deposit").
 */
const DEPOSIT_LAYOUT: readonly (readonly [word: number, value: number])[] = [
  ...([
    [0, 160],
    [1, 256],
    [2, 320],
    [3, 384],
    [4, 512],
  ] as const),
  ...([
    [5, 48],
    [8, 32],
    [10, 8],
    [12, 96],
    [16, 8],
  ] as const),
];
const DEPOSIT_WORDS = 18;
const CREDENTIALS_WORD = 9;
const AMOUNT_WORD = 11;
/** Credentials that name an account: of a withdrawal address (0x01), and of one whose validator compounds (0x02, EIP-7251). */
const ACCOUNT_CREDENTIALS = /^0[12]0{22}/;
/** Stake of a validator. A smaller deposit may be a first part, or a top-up of another validator, whose credentials do not change. */
const VALIDATOR_GWEI = 32_000_000_000n;
const WEI_OF_GWEI = 1_000_000_000n;

/** Reads the account that gets the withdrawals of a validator; null for credentials of a key. */
function decodeDeposit({ topics, data }: LogEntry): DecodedLog | null {
  if (topics.length !== 1 || data.length !== 2 + DEPOSIT_WORDS * WORD) return null;
  const wordAt = (word: number): string => data.slice(2 + word * WORD, 2 + (word + 1) * WORD);
  if (DEPOSIT_LAYOUT.some(([word, value]) => wordAt(word) !== value.toString(16).padStart(WORD, '0')))
    return null;
  const credentials = wordAt(CREDENTIALS_WORD);
  if (!ACCOUNT_CREDENTIALS.test(credentials)) return null;
  // The amount is little-endian, in the first eight bytes of its word.
  const gwei = Buffer.from(wordAt(AMOUNT_WORD).slice(0, 16), 'hex').readBigUInt64LE();
  if (gwei < VALIDATOR_GWEI) return null;
  return {
    subject: `0x${credentials.slice(24)}`,
    kind: 'stake',
    values: { amount: (gwei * WEI_OF_GWEI).toString() },
  };
}

/** Decodes a log of a contract; null if it proves nothing. */
export function decodeLog(contract: Pick<LogContract, 'kind'>, log: LogEntry): DecodedLog | null {
  if (!TOPICS[contract.kind].includes(log.topics[0] ?? '')) return null;
  switch (contract.kind) {
    case 'v2-pools':
      return decodePool(log, 2);
    case 'v3-pools':
      return decodePool(log, 3);
    case 'safe-proxies':
      return decodeSafe(log);
    case 'erc4337-accounts':
      return decodeAccount(log);
    case 'bridged-tokens':
      return decodeCreated(log, 'token', 'remoteToken', 1);
    case 'eigen-pods':
      return decodeCreated(log, 'pod', 'owner', 0);
    case 'validator-deposits':
      return decodeDeposit(log);
    case 'tether-freezes':
    case 'circle-freezes':
      return decodeFreeze(log);
  }
}
