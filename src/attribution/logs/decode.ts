/**
 * Decodes the events of factories and issuers: which address a log is about, and what it proves. A log that does not have the exact layout
 * of its event is no fact.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { LogEntry } from '../../chains/families/port.ts';
import type { LogContract, LogKind } from './contracts.ts';

/** A fact about an address, as a log proves it. */
export interface DecodedLog {
  /** 0x and 40 hex digits in lower case. */
  readonly subject: string;
  /** `pool`, `safe`, `account`, `frozen`, `unfrozen` or `destroyed`. */
  readonly kind: string;
  readonly values: Readonly<Record<string, string>>;
}

/** Returns the Keccak-256 hash of bytes in hex, without `0x`. */
const keccak = (bytes: Uint8Array): string => Buffer.from(keccak_256(bytes)).toString('hex');

/** Returns the first topic of an event: the hash of its signature. */
const id = (signature: string): string => `0x${keccak(Buffer.from(signature))}`;

/** Returns the hash of concatenated hex texts without `0x`. */
const hashOf = (...hex: readonly string[]): string => keccak(Buffer.from(hex.join(''), 'hex'));

const PAIR_CREATED = id('PairCreated(address,address,address,uint256)');
const POOL_CREATED = id('PoolCreated(address,address,uint24,int24,address)');
const PROXY_CREATION = id('ProxyCreation(address,address)');
const ACCOUNT_DEPLOYED = id('AccountDeployed(bytes32,address,address,address)');
const ADDED_BLACK_LIST = id('AddedBlackList(address)');
const REMOVED_BLACK_LIST = id('RemovedBlackList(address)');
const DESTROYED_BLACK_FUNDS = id('DestroyedBlackFunds(address,uint256)');
const BLACKLISTED = id('Blacklisted(address)');
const UN_BLACKLISTED = id('UnBlacklisted(address)');

/** The first topics of each layout. */
export const TOPICS: Readonly<Record<LogKind, readonly string[]>> = {
  'v2-pools': [PAIR_CREATED],
  'v3-pools': [POOL_CREATED],
  'safe-proxies': [PROXY_CREATION],
  'erc4337-accounts': [ACCOUNT_DEPLOYED],
  'tether-freezes': [ADDED_BLACK_LIST, REMOVED_BLACK_LIST, DESTROYED_BLACK_FUNDS],
  'circle-freezes': [BLACKLISTED, UN_BLACKLISTED],
};

/**
 * Hashes of the creation code of pools, by the id of their factory: the address of a pool follows from them (CREATE2). Published in the
 * factories' own libraries (UniswapV2Library.pairFor, PoolAddress.POOL_INIT_CODE_HASH).
 */
const INIT_CODE_HASHES: Readonly<Record<string, string>> = {
  'uniswap-v2': '0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f',
  'uniswap-v3': '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54',
};

const WORD = 64;

/** Returns the address in a word of 32 bytes; null if its upper 12 bytes are not zero. */
function addressIn(word: string): string | null {
  return word.length === WORD && word.startsWith('0'.repeat(24)) ? `0x${word.slice(24)}` : null;
}

const topicAddress = (topic: string | undefined): string | null =>
  topic === undefined ? null : addressIn(topic.slice(2));

/** Returns a word of the data, in hex without 0x; empty if it is missing. */
const dataWord = (data: string, index: number): string =>
  data.slice(2 + index * WORD, 2 + (index + 1) * WORD);

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
  const [low, high] = tokens.map((token) => token.toLowerCase().slice(2)).sort() as [string, string];
  const salt =
    fee === null
      ? hashOf(low, high)
      : hashOf(low.padStart(WORD, '0'), high.padStart(WORD, '0'), fee.toString(16).padStart(WORD, '0'));
  // EIP-1014: the last 20 bytes of keccak256(0xff ++ factory ++ salt ++ hash of the creation code).
  return `0x${hashOf('ff', factory.slice(2), salt, initCodeHash.slice(2)).slice(-40)}`;
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
    poolAddress(contract.address, [token0, token1], fee === undefined ? null : Number(fee), hash) === subject
  );
}

function decodePool({ topics, data }: LogEntry, version: 2 | 3): DecodedLog | null {
  const token0 = topicAddress(topics[1]);
  const token1 = topicAddress(topics[2]);
  const subject = addressIn(dataWord(data, version === 2 ? 0 : 1));
  if (topics.length !== version + 1 || data.length !== 2 + 2 * WORD) return null;
  if (token0 === null || token1 === null || subject === null) return null;
  const values = { token0, token1 };
  if (version === 2) return { subject, kind: 'pool', values };
  const fee = Number.parseInt((topics[3] as string).slice(2), 16);
  return fee < 2 ** 24 ? { subject, kind: 'pool', values: { ...values, fee: String(fee) } } : null;
}

/** Safe 1.3.0 has both addresses in the data, 1.4.1 has the proxy in a topic. */
function decodeSafe({ topics, data }: LogEntry): DecodedLog | null {
  const isIndexed = topics.length === 2 && data.length === 2 + WORD;
  if (!isIndexed && !(topics.length === 1 && data.length === 2 + 2 * WORD)) return null;
  const subject = isIndexed ? topicAddress(topics[1]) : addressIn(dataWord(data, 0));
  const singleton = addressIn(dataWord(data, isIndexed ? 0 : 1));
  return subject === null || singleton === null ? null : { subject, kind: 'safe', values: { singleton } };
}

function decodeAccount({ topics, data }: LogEntry): DecodedLog | null {
  const subject = topicAddress(topics[2]);
  const factory = addressIn(dataWord(data, 0));
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
  const subject = indexed === undefined ? addressIn(dataWord(data, 0)) : topicAddress(indexed);
  if (kind === undefined || subject === null || topics.length > 2) return null;
  const words = (indexed === undefined ? 1 : 0) + (kind === 'destroyed' ? 1 : 0);
  if (data.length !== 2 + words * WORD) return null;
  if (kind !== 'destroyed') return { subject, kind, values: {} };
  return { subject, kind, values: { amount: BigInt(`0x${dataWord(data, words - 1)}`).toString() } };
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
    case 'tether-freezes':
    case 'circle-freezes':
      return decodeFreeze(log);
  }
}
