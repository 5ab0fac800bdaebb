/** Addresses of the UTXO chains: base58check versions, segwit programs and cashaddr as rows of data. */
import { blake2b } from '@noble/hashes/blake2.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bech32, bech32m, createBase58check } from '@scure/base';
import { UTXO_CHAINS, type UtxoChainId } from '../families/utxo/chains.ts';
import type { ChainId } from '../registry.ts';
import { BITCOIN_DIGITS, decoded } from './base58.ts';
import { decodeBase58Check, payloadStart } from './base58check.ts';
import type { BatchForm } from './batch-form.ts';
import { BECH32, BECH32M, decodeBech32, unpacked, unpackWords, words } from './bech32.ts';
import { formatCashaddr, isCashaddrPayload, writeCashaddrKey } from './cashaddr.ts';
import { FORM, fault, LENGTH, NETWORK, PREFIX, parsed, startsWith, VERSION, type WriteKey } from './fault.ts';

/** Kind bytes of the UTXO chains, the same on each chain. Stored in every index: never reuse or renumber them. */
export const UTXO_KINDS = {
  p2pkh: 1,
  p2sh: 2,
  p2wpkh: 3,
  p2wsh: 4,
  p2tr: 5,
  p2sh32: 6,
  mweb: 7,
  sapling: 8,
  sprout: 9,
  unified: 10,
} as const;
/** Base of the kind bytes of witness programs without a name of their own: 16 plus the version, 1 to 16. */
const WITNESS_KIND = 16;

type UtxoKind = keyof typeof UTXO_KINDS;

interface VersionRow {
  /** The leading bytes of the payload as a big-endian number. */
  readonly version: number;
  readonly versionBytes: number;
  readonly payloadBytes: number;
  readonly kind: UtxoKind;
  /** False if the canonical text of the account uses another version. */
  readonly canonical: boolean;
}

interface UtxoChain {
  readonly keyByte: number;
  readonly versions: readonly VersionRow[];
  /** Version bytes of the test networks, one number each. */
  readonly testVersions: readonly number[];
  readonly segwitHrp: string | null;
  /** Text prefixes of the test networks, in lower case. */
  readonly testPrefixes: readonly string[];
}

const hash160 = (version: number, kind: UtxoKind, canonical = true, versionBytes = 1): VersionRow => ({
  version,
  versionBytes,
  payloadBytes: 20,
  kind,
  canonical,
});

/** From `base58Prefixes` and `bech32_hrp` in the chainparams.cpp of each chain. */
const BTC: UtxoChain = {
  keyByte: 2,
  versions: [hash160(0, 'p2pkh'), hash160(5, 'p2sh')],
  testVersions: [111, 196],
  segwitHrp: 'bc',
  testPrefixes: ['tb1', 'bcrt1'],
};
/** 5 is the old p2sh version, which LTC shared with BTC until 2017; the same script hash is now written as M…. */
const LTC: UtxoChain = {
  keyByte: 3,
  versions: [hash160(48, 'p2pkh'), hash160(50, 'p2sh'), hash160(5, 'p2sh', false)],
  testVersions: [111, 58, 196],
  segwitHrp: 'ltc',
  testPrefixes: ['tltc1', 'rltc1', 'tmweb1'],
};
const DOGE: UtxoChain = {
  keyByte: 4,
  versions: [hash160(30, 'p2pkh'), hash160(22, 'p2sh')],
  testVersions: [113, 111, 196],
  segwitHrp: null,
  testPrefixes: [],
};
const DASH: UtxoChain = {
  keyByte: 5,
  versions: [hash160(76, 'p2pkh'), hash160(16, 'p2sh')],
  testVersions: [140, 19],
  segwitHrp: null,
  testPrefixes: [],
};
const ZEC: UtxoChain = {
  keyByte: 6,
  versions: [
    hash160(0x1cb8, 'p2pkh', true, 2),
    hash160(0x1cbd, 'p2sh', true, 2),
    { version: 0x169a, versionBytes: 2, payloadBytes: 64, kind: 'sprout', canonical: true },
  ],
  testVersions: [0x1d25, 0x1cba, 0x16b6],
  segwitHrp: null,
  testPrefixes: ['ztestsapling1', 'zregtestsapling1', 'utest1', 'uregtest1', 'textest1', 'texregtest1'],
};
const BCH: UtxoChain = {
  keyByte: 7,
  versions: [hash160(0, 'p2pkh', false), hash160(5, 'p2sh', false)],
  testVersions: [111, 196],
  segwitHrp: null,
  testPrefixes: ['bchtest:', 'bchreg:'],
};
const BSV: UtxoChain = {
  keyByte: 8,
  versions: [hash160(0, 'p2pkh'), hash160(5, 'p2sh')],
  testVersions: [111, 196],
  segwitHrp: null,
  testPrefixes: [],
};

const ROWS: Readonly<Record<UtxoChainId, UtxoChain>> = { BTC, LTC, DOGE, DASH, ZEC, BCH, BSV };

/** Chains with witness programs (BIP 141). On other chains, anyone can spend such outputs. */
export const SEGWIT_CHAINS: ReadonlySet<ChainId> = new Set(
  UTXO_CHAINS.flatMap(({ id }) => (ROWS[id].segwitHrp === null ? [] : [id])),
);

const base58check = createBase58check(sha256);

function writeKind(
  chain: UtxoChain,
  kindByte: number,
  source: Uint8Array,
  from: number,
  length: number,
  out: Uint8Array,
  at: number,
): number {
  out[at] = chain.keyByte;
  out[at + 1] = kindByte;
  for (let i = 0; i < length; i++) out[at + 2 + i] = source[from + i] as number;
  return length + 2;
}

function writeBase58(
  chain: UtxoChain,
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  at: number,
): number {
  const length = decodeBase58Check(bytes, start, end, BITCOIN_DIGITS);
  if (length < 0) return length;
  const from = payloadStart(length);
  const one = decoded[from] as number;
  const two = (one << 8) | (decoded[from + 1] as number);
  for (let i = 0; i < chain.versions.length; i++) {
    const row = chain.versions[i] as VersionRow;
    if (row.version !== (row.versionBytes === 1 ? one : two)) continue;
    if (length !== row.versionBytes + row.payloadBytes)
      return fault(LENGTH, 'has a payload of the wrong length');
    const size = row.payloadBytes;
    return parsed(
      writeKind(chain, UTXO_KINDS[row.kind], decoded, from + row.versionBytes, size, out, at),
      row.kind,
    );
  }
  for (let i = 0; i < chain.testVersions.length; i++) {
    const version = chain.testVersions[i] as number;
    if (version === (version > 255 ? two : one)) return fault(NETWORK, 'belongs to a test network');
  }
  return fault(PREFIX, 'has a version byte that this chain does not use');
}

function segwitKind(version: number, length: number): UtxoKind | null {
  if (version === 0) return length === 20 ? 'p2wpkh' : 'p2wsh';
  return version === 1 && length === 32 ? 'p2tr' : null;
}

const WITNESS_NAMES = Array.from({ length: 17 }, (_, version) => `witness_v${version}`);

/** Parses BIP 173 and BIP 350: version 0 with bech32, 1 to 16 with bech32m, a program of 2 to 40 bytes, at most 90 characters. */
function writeSegwit(
  chain: UtxoChain,
  hrpLength: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  at: number,
): number {
  if (end - start > 90) return fault(LENGTH, 'is too long');
  const first = bytes[start + hrpLength + 1] as number;
  const isZero = first === 113 || first === 81;
  const count = decodeBech32(bytes, start, end, hrpLength, isZero ? BECH32 : BECH32M);
  if (count < 0) return count;
  const version = words[0] as number;
  if (version > 16) return fault(VERSION, 'has a witness version above 16');
  const length = unpackWords(1, count);
  if (length < 0) return length;
  if (length < 2 || length > 40 || (version === 0 && length !== 20 && length !== 32)) {
    return fault(LENGTH, 'has a witness program of a wrong length');
  }
  const kind = segwitKind(version, length);
  const kindByte = kind === null ? WITNESS_KIND + version : UTXO_KINDS[kind];
  return parsed(
    writeKind(chain, kindByte, unpacked, 0, length, out, at),
    kind ?? (WITNESS_NAMES[version] as string),
  );
}

/**
 * Parses an address of Litecoin's MimbleWimble extension: word 0, then scan and spend public keys, 66 bytes, bech32 without a length
 * limit.
 */
function writeMweb(bytes: Uint8Array, start: number, end: number, out: Uint8Array, at: number): number {
  const count = decodeBech32(bytes, start, end, MWEB_HRP.length, BECH32);
  if (count < 0) return count;
  if (words[0] !== 0) return fault(VERSION, 'has an unknown MWEB version');
  const length = unpackWords(1, count);
  if (length < 0) return length;
  if (length !== 66) return fault(LENGTH, 'has a payload of the wrong length');
  return parsed(writeKind(LTC, UTXO_KINDS.mweb, unpacked, 0, length, out, at), 'mweb');
}

const MWEB_HRP = 'ltcmweb';
const SAPLING_HRP = 'zs';
const UNIFIED_HRP = 'u';
const TEX_HRP = 'tex';

/** Parses a bech32 or bech32m text with a payload of plain bytes of a fixed length. */
function writePlainBech32(
  hrpLength: number,
  constant: number,
  size: number,
  kind: UtxoKind,
  textKind: string,
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  at: number,
): number {
  const count = decodeBech32(bytes, start, end, hrpLength, constant);
  if (count < 0) return count;
  const length = unpackWords(0, count);
  if (length < 0) return length;
  if (length !== size) return fault(LENGTH, 'has a payload of the wrong length');
  return parsed(writeKind(ZEC, UTXO_KINDS[kind], unpacked, 0, length, out, at), textKind);
}

const PADDING_BYTES = 16;
const JUMBLE_MIN = 48;

/** F4Jumble of ZIP 316: a four-round Feistel network over BLAKE2b. `inverse` reverses it. Works on a copy. */
function f4Jumble(message: Uint8Array, inverse: boolean): Uint8Array {
  const result = Uint8Array.from(message);
  const leftLength = Math.min(64, Math.floor(message.length / 2));
  const left = result.subarray(0, leftLength);
  const right = result.subarray(leftLength);
  const mixIntoLeft = (round: number): void => {
    const personalization = Buffer.from([...Buffer.from('UA_F4Jumble_H'), round, 0, 0]);
    const hash = blake2b(right, { dkLen: leftLength, personalization });
    for (let i = 0; i < leftLength; i++) left[i] = (left[i] as number) ^ (hash[i] as number);
  };
  const mixIntoRight = (round: number): void => {
    for (let block = 0; block * 64 < right.length; block++) {
      const personalization = Buffer.from([...Buffer.from('UA_F4Jumble_G'), round, block & 255, block >> 8]);
      const hash = blake2b(left, { dkLen: 64, personalization });
      const stop = Math.min(64, right.length - block * 64);
      for (let i = 0; i < stop; i++) {
        right[block * 64 + i] = (right[block * 64 + i] as number) ^ (hash[i] as number);
      }
    }
  };
  if (inverse) {
    mixIntoLeft(1);
    mixIntoRight(1);
    mixIntoLeft(0);
    mixIntoRight(0);
  } else {
    mixIntoRight(0);
    mixIntoLeft(0);
    mixIntoRight(1);
    mixIntoLeft(1);
  }
  return result;
}

const unifiedPadding = Uint8Array.of(0x75, ...new Uint8Array(PADDING_BYTES - 1));

/** Receiver lengths by typecode (ZIP 316): transparent p2pkh and p2sh, Sapling, Orchard. Unknown receivers may have any length. */
const RECEIVER_BYTES = [20, 20, 43, 43] as const;
const SHIELDED_FROM = 2;
/** Typecodes of metadata, which revision 0 forbids. */
const METADATA_FROM = 0xc0;
const METADATA_TO = 0xfc;

/**
 * Parses ZIP 316, revision 0: jumbled items of (typecode, length, receiver) in order, with at most one transparent and at least one
 * other receiver. Typecodes and lengths of more than one byte exceed the length limit of an address text, and are rejected.
 */
function writeUnified(bytes: Uint8Array, start: number, end: number, out: Uint8Array, at: number): number {
  const count = decodeBech32(bytes, start, end, UNIFIED_HRP.length, BECH32M);
  if (count < 0) return count;
  const length = unpackWords(0, count);
  if (length < 0) return length;
  if (length < JUMBLE_MIN) return fault(LENGTH, 'is too short for a unified address');
  const clear = f4Jumble(unpacked.subarray(0, length), true);
  const itemsEnd = length - PADDING_BYTES;
  for (let i = 0; i < PADDING_BYTES; i++) {
    if (clear[itemsEnd + i] !== unifiedPadding[i]) return fault(FORM, 'has a wrong padding inside');
  }
  let previous = -1;
  let hasTransparent = false;
  let hasShielded = false;
  for (let item = 0; item < itemsEnd; ) {
    const typecode = clear[item] as number;
    const size = clear[item + 1] as number;
    if (typecode > METADATA_TO || size > METADATA_TO || item + 2 + size > itemsEnd) {
      return fault(FORM, 'has a receiver that is cut short or too long');
    }
    if (typecode <= previous) return fault(FORM, 'has receivers out of order');
    if (typecode >= METADATA_FROM) return fault(FORM, 'carries metadata, which u1 addresses must not');
    const due = RECEIVER_BYTES[typecode];
    if (due !== undefined && size !== due) return fault(FORM, 'has a receiver of a wrong length');
    if (typecode < SHIELDED_FROM && hasTransparent) return fault(FORM, 'has two transparent receivers');
    if (typecode < SHIELDED_FROM) hasTransparent = true;
    else hasShielded = true;
    previous = typecode;
    item += 2 + size;
  }
  if (!hasShielded) return fault(FORM, 'has no shielded receiver');
  return parsed(writeKind(ZEC, UTXO_KINDS.unified, clear, 0, itemsEnd, out, at), 'unified');
}

const testPrefixOf = (chain: UtxoChain, bytes: Uint8Array, start: number, end: number): boolean => {
  for (let i = 0; i < chain.testPrefixes.length; i++) {
    if (startsWith(bytes, start, end, chain.testPrefixes[i] as string, true)) return true;
  }
  return false;
};

const writer =
  (chain: UtxoChain): WriteKey =>
  (bytes, start, end, out, at) => {
    if (testPrefixOf(chain, bytes, start, end)) return fault(NETWORK, 'belongs to a test network');
    const hrp = chain.segwitHrp;
    if (
      hrp !== null &&
      end - start > hrp.length &&
      bytes[start + hrp.length] === 49 &&
      startsWith(bytes, start, end, hrp, true)
    ) {
      return writeSegwit(chain, hrp.length, bytes, start, end, out, at);
    }
    return writeBase58(chain, bytes, start, end, out, at);
  };

/** Returns the texts that batches read by the kernel: versions with a hash of 20 bytes, and witness programs. */
function batchOf({ keyByte, versions, segwitHrp }: UtxoChain): BatchForm {
  const rows = versions.filter(({ payloadBytes }) => payloadBytes === 20);
  return {
    type: 'base58check',
    keyByte,
    digits: BITCOIN_DIGITS,
    versionBytes: Math.max(...rows.map(({ versionBytes }) => versionBytes)),
    kinds: rows.map(({ version, kind }) => [version, UTXO_KINDS[kind]]),
    hrp: segwitHrp,
  };
}

export const btcBatch = batchOf(BTC);
export const ltcBatch = batchOf(LTC);
export const dogeBatch = batchOf(DOGE);
export const dashBatch = batchOf(DASH);
export const zecBatch = batchOf(ZEC);
export const bchBatch = batchOf(BCH);
export const bsvBatch = batchOf(BSV);

export const writeBtcKey = writer(BTC);
export const writeDogeKey = writer(DOGE);
export const writeDashKey = writer(DASH);
export const writeBsvKey = writer(BSV);

const writePlainLtc = writer(LTC);
/** Writes the key of a Litecoin address, including MWEB. See `WriteKey`. */
export const writeLtcKey: WriteKey = (bytes, start, end, out, at) =>
  startsWith(bytes, start, end, 'ltcmweb1', true)
    ? writeMweb(bytes, start, end, out, at)
    : writePlainLtc(bytes, start, end, out, at);

const writeTransparentZec = writer(ZEC);
/** A TEX address (ZIP 320) is the same account as its t1 form. */
export const writeZecKey: WriteKey = (bytes, start, end, out, at) => {
  if (startsWith(bytes, start, end, 'zs1', true)) {
    return writePlainBech32(SAPLING_HRP.length, BECH32, 43, 'sapling', 'sapling', bytes, start, end, out, at);
  }
  if (startsWith(bytes, start, end, 'tex1', true)) {
    return writePlainBech32(TEX_HRP.length, BECH32M, 20, 'p2pkh', 'tex', bytes, start, end, out, at);
  }
  if (startsWith(bytes, start, end, 'u1', true)) return writeUnified(bytes, start, end, out, at);
  return writeTransparentZec(bytes, start, end, out, at);
};

/** Writes the key of a Bitcoin Cash address, cashaddr or legacy. See `WriteKey`. */
export const writeBchKey: WriteKey = (bytes, start, end, out, at) => {
  if (testPrefixOf(BCH, bytes, start, end)) return fault(NETWORK, 'belongs to a test network');
  return isCashaddrPayload(bytes, start, end)
    ? writeCashaddrKey(BCH.keyByte, bytes, start, end, out, at)
    : writeBase58(BCH, bytes, start, end, out, at);
};

const versionBytesOf = (row: VersionRow): number[] =>
  row.versionBytes === 1 ? [row.version] : [row.version >> 8, row.version & 255];

const formatter =
  (chain: UtxoChain) =>
  (kindByte: number, payload: Uint8Array): string | null => {
    const row = chain.versions.find((each) => each.canonical && UTXO_KINDS[each.kind] === kindByte);
    if (row) return base58check.encode(Uint8Array.of(...versionBytesOf(row), ...payload));
    return chain.segwitHrp === null ? null : formatSegwit(chain.segwitHrp, kindByte, payload);
  };

function witnessVersionOf(kindByte: number): number | null {
  if (kindByte === UTXO_KINDS.p2wpkh || kindByte === UTXO_KINDS.p2wsh) return 0;
  if (kindByte === UTXO_KINDS.p2tr) return 1;
  return kindByte > WITNESS_KIND && kindByte <= WITNESS_KIND + 16 ? kindByte - WITNESS_KIND : null;
}

function formatSegwit(hrp: string, kindByte: number, payload: Uint8Array): string | null {
  const version = witnessVersionOf(kindByte);
  if (version === null) return null;
  const codec = version === 0 ? bech32 : bech32m;
  return codec.encode(hrp, [version, ...codec.toWords(payload)], 90);
}

export const formatBtc = formatter(BTC);
export const formatDoge = formatter(DOGE);
export const formatDash = formatter(DASH);
export const formatBsv = formatter(BSV);

const formatPlainLtc = formatter(LTC);
/** Formats a Litecoin payload in base58check or bech32; null for an unknown kind. */
export const formatLtc = (kindByte: number, payload: Uint8Array): string | null =>
  kindByte === UTXO_KINDS.mweb
    ? bech32.encode(MWEB_HRP, [0, ...bech32.toWords(payload)], false)
    : formatPlainLtc(kindByte, payload);

const formatTransparentZec = formatter(ZEC);
/** Formats a Zcash payload, transparent or shielded; null for an unknown kind. */
export const formatZec = (kindByte: number, payload: Uint8Array): string | null => {
  if (kindByte === UTXO_KINDS.sapling) return bech32.encode(SAPLING_HRP, bech32.toWords(payload), false);
  if (kindByte !== UTXO_KINDS.unified) return formatTransparentZec(kindByte, payload);
  const jumbled = f4Jumble(Uint8Array.of(...payload, ...unifiedPadding), false);
  return bech32m.encode(UNIFIED_HRP, bech32m.toWords(jumbled), false);
};

/** Formats a Bitcoin Cash payload as cashaddr; null for an unknown kind. */
export const formatBch = (kindByte: number, payload: Uint8Array): string | null =>
  formatCashaddr(kindByte, payload);
