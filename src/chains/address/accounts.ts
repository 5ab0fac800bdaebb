/** Addresses that are one key or hash with a checksum: SOL, TRON, XRP, XLM, DOT, TON, ATOM, ALGO and XTZ. */
import { blake2b } from '@noble/hashes/blake2.js';
import { sha256, sha512_256 } from '@noble/hashes/sha2.js';
import { base32nopad, base58, base58xrp, bech32, createBase58check } from '@scure/base';
import { BITCOIN_DIGITS, DECODED_END, decodeBase58, decoded, NOT_BASE58, RIPPLE_DIGITS } from './base58.ts';
import { decodeBase58Check, payloadStart } from './base58check.ts';
import type { BatchForm } from './batch-form.ts';
import { BECH32, decodeBech32, unpacked, unpackWords } from './bech32.ts';
import {
  CHARACTERS,
  CHECKSUM,
  digitTable,
  FORM,
  fault,
  LENGTH,
  NETWORK,
  PREFIX,
  parsed,
  startsWith,
  type WriteKey,
} from './fault.ts';

function put(
  keyByte: number,
  kindByte: number,
  source: Uint8Array,
  from: number,
  length: number,
  out: Uint8Array,
  at: number,
): number {
  out[at] = keyByte;
  out[at + 1] = kindByte;
  for (let i = 0; i < length; i++) out[at + 2 + i] = source[from + i] as number;
  return length + 2;
}

const base58Fault = (code: number): number =>
  code === NOT_BASE58
    ? fault(CHARACTERS, 'contains a character that is not in the base58 alphabet')
    : fault(LENGTH, 'is too long');

const ACCOUNT = 1;

// SOL: 32 bytes in base58, without a checksum.

const SOL = 9;

/** Writes the key of a Solana address. See `WriteKey`. */
export const writeSolKey: WriteKey = (bytes, start, end, out, at) => {
  const length = decodeBase58(bytes, start, end, BITCOIN_DIGITS);
  if (length < 0) return base58Fault(length);
  if (length !== 32) return fault(LENGTH, 'must decode to 32 bytes');
  return parsed(put(SOL, ACCOUNT, decoded, DECODED_END - 32, 32, out, at), 'account');
};

/** Formats a Solana payload in base58; null if it is not an account. */
export const formatSol = (kindByte: number, payload: Uint8Array): string | null =>
  kindByte === ACCOUNT && payload.length === 32 ? base58.encode(payload) : null;

// TRON: base58check of 0x41 and 20 bytes, or the same 21 bytes in hex.

const TRON = 10;
const TRON_VERSION = 0x41;
const HEX_DIGITS = digitTable('0123456789abcdef');
for (const letter of 'ABCDEF') HEX_DIGITS[letter.charCodeAt(0)] = Number.parseInt(letter, 16);

const hexBytes = new Uint8Array(32);

/** Reads hex digits in any case into `hexBytes`; false if a character is not a hex digit. */
function readHex(bytes: Uint8Array, start: number, length: number): boolean {
  for (let i = 0; i < length; i++) {
    const high = HEX_DIGITS[bytes[start + 2 * i] as number] as number;
    const low = HEX_DIGITS[bytes[start + 2 * i + 1] as number] as number;
    if ((high | low) === 255) return false;
    hexBytes[i] = (high << 4) | low;
  }
  return true;
}

/** Writes the key of a TRON address. See `WriteKey`. */
export const writeTronKey: WriteKey = (bytes, start, end, out, at) => {
  if (end - start === 42 && readHex(bytes, start, 21)) {
    if (hexBytes[0] !== TRON_VERSION) return fault(PREFIX, 'must begin with 41 in its hex form');
    return parsed(put(TRON, ACCOUNT, hexBytes, 1, 20, out, at), 'hex');
  }
  const length = decodeBase58Check(bytes, start, end, BITCOIN_DIGITS);
  if (length < 0) return length;
  const from = payloadStart(length);
  if (length !== 21) return fault(LENGTH, 'has a payload of the wrong length');
  if (decoded[from] !== TRON_VERSION) return fault(PREFIX, 'must begin with T');
  return parsed(put(TRON, ACCOUNT, decoded, from + 1, 20, out, at), 'account');
};

const base58check = createBase58check(sha256);

/** Batches read its usual texts by the kernel. */
export const tronBatch: BatchForm = {
  type: 'base58check',
  keyByte: TRON,
  digits: BITCOIN_DIGITS,
  versionBytes: 1,
  kinds: [[TRON_VERSION, ACCOUNT]],
  hrp: null,
};

/** Formats a TRON payload in base58check; null for an unknown kind. */
export const formatTron = (kindByte: number, payload: Uint8Array): string | null =>
  kindByte === ACCOUNT ? base58check.encode(Uint8Array.of(TRON_VERSION, ...payload)) : null;

// XRP: base58check with Ripple's alphabet; X-addresses (XLS-5d) have a destination tag in addition to the account.

const XRP = 11;
const X_MAIN = 0x0544;
const X_TEST = 0x0493;

/** Batches read its usual texts by the kernel. */
export const xrpBatch: BatchForm = {
  type: 'base58check',
  keyByte: XRP,
  digits: RIPPLE_DIGITS,
  versionBytes: 1,
  kinds: [[0, ACCOUNT]],
  hrp: null,
};

/** Writes the key of an XRP address, with a destination tag as memo. See `WriteKey`. */
export const writeXrpKey: WriteKey = (bytes, start, end, out, at) => {
  const length = decodeBase58Check(bytes, start, end, RIPPLE_DIGITS);
  if (length < 0) return length;
  const from = payloadStart(length);
  if (length === 21) {
    if (decoded[from] !== 0) return fault(PREFIX, 'must begin with r or X');
    return parsed(put(XRP, ACCOUNT, decoded, from + 1, 20, out, at), 'account');
  }
  if (length !== 31) return fault(LENGTH, 'has a payload of the wrong length');
  const prefix = ((decoded[from] as number) << 8) | (decoded[from + 1] as number);
  if (prefix === X_TEST) return fault(NETWORK, 'belongs to the test network');
  if (prefix !== X_MAIN) return fault(PREFIX, 'must begin with r or X');
  const flag = decoded[from + 22] as number;
  const tagAt = from + 23;
  let tag = 0;
  for (let i = 7; i >= 0; i--) {
    const byte = decoded[tagAt + i] as number;
    if (byte !== 0 && (flag === 0 || i > 3))
      return fault(FORM, 'has a destination tag that its flag does not allow');
    tag = tag * 256 + byte;
  }
  if (flag > 1) return fault(FORM, 'has an unknown tag flag');
  const memo = flag === 1 ? String(tag) : null;
  return parsed(put(XRP, ACCOUNT, decoded, from + 2, 20, out, at), 'x-address', memo);
};

/** Formats an XRP payload as a classic address; null for an unknown kind. */
export function formatXrp(kindByte: number, payload: Uint8Array): string | null {
  if (kindByte !== ACCOUNT) return null;
  const body = Uint8Array.of(0, ...payload);
  return base58xrp.encode(Uint8Array.of(...body, ...sha256(sha256(body)).subarray(0, 4)));
}

// Base32 texts (RFC 4648, upper case, no padding): XLM and ALGO.

const BASE32_DIGITS = digitTable('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567');
const base32Bytes = new Uint8Array(64);

/** Decodes into `base32Bytes`; the remaining bits must be zero. Returns the number of bytes or a fault code. At most 100 characters. */
function readBase32(bytes: Uint8Array, start: number, end: number): number {
  let pending = 0;
  let bits = 0;
  let length = 0;
  for (let i = start; i < end; i++) {
    const digit = BASE32_DIGITS[bytes[i] as number] as number;
    if (digit === 255) return fault(CHARACTERS, 'contains a character that is not upper-case base32');
    pending = ((pending << 5) | digit) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      base32Bytes[length++] = (pending >>> bits) & 255;
    }
  }
  if (bits >= 5 || (pending & ((1 << bits) - 1)) !== 0) return fault(FORM, 'has wrong padding bits');
  return length;
}

/** CRC-16/XMODEM of the first `length` bytes. */
function crc16(bytes: Uint8Array, length: number): number {
  let crc = 0;
  for (let i = 0; i < length; i++) {
    crc ^= (bytes[i] as number) << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc;
}

// XLM: strkey (SEP-23). A muxed account is the account with an id, which the result has as memo.

const XLM = 12;
const MUXED_VERSION = 12 << 3;

interface StrkeyRow {
  readonly version: number;
  readonly payloadBytes: number;
  readonly kindByte: number;
  readonly kind: string;
}

const STRKEYS: readonly StrkeyRow[] = [
  { version: 6 << 3, payloadBytes: 32, kindByte: 1, kind: 'account' },
  { version: 2 << 3, payloadBytes: 32, kindByte: 2, kind: 'contract' },
  { version: 11 << 3, payloadBytes: 32, kindByte: 3, kind: 'liquidity_pool' },
  { version: 1 << 3, payloadBytes: 33, kindByte: 4, kind: 'claimable_balance' },
];

/** Writes the key of a Stellar address, with a muxed id as memo. See `WriteKey`. */
export const writeXlmKey: WriteKey = (bytes, start, end, out, at) => {
  const chars = end - start;
  if (chars !== 56 && chars !== 58 && chars !== 69) return fault(LENGTH, 'must have 56, 58 or 69 characters');
  const total = readBase32(bytes, start, end);
  if (total < 0) return total;
  const length = total - 3;
  const written = (base32Bytes[total - 2] as number) | ((base32Bytes[total - 1] as number) << 8);
  if (crc16(base32Bytes, total - 2) !== written) return fault(CHECKSUM, 'has a wrong checksum');
  const version = base32Bytes[0] as number;
  if (version === MUXED_VERSION && length === 40) {
    const id = new DataView(base32Bytes.buffer, 33, 8).getBigUint64(0);
    return parsed(put(XLM, ACCOUNT, base32Bytes, 1, 32, out, at), 'muxed', String(id));
  }
  for (let i = 0; i < STRKEYS.length; i++) {
    const row = STRKEYS[i] as StrkeyRow;
    if (row.version !== version || row.payloadBytes !== length) continue;
    return parsed(put(XLM, row.kindByte, base32Bytes, 1, length, out, at), row.kind);
  }
  return fault(PREFIX, 'is a Stellar key that is not an address');
};

/** Formats a Stellar payload as strkey; null for an unknown kind. */
export function formatXlm(kindByte: number, payload: Uint8Array): string | null {
  const row = STRKEYS.find((each) => each.kindByte === kindByte);
  if (row === undefined) return null;
  const body = Uint8Array.of(row.version, ...payload);
  const crc = crc16(body, body.length);
  return base32nopad.encode(Uint8Array.of(...body, crc & 255, crc >> 8));
}

// ALGO: 32 bytes and the last four bytes of their SHA-512/256, in base32.

const ALGO = 18;

/** Writes the key of an Algorand address. See `WriteKey`. */
export const writeAlgoKey: WriteKey = (bytes, start, end, out, at) => {
  if (end - start !== 58) return fault(LENGTH, 'must have 58 characters');
  const total = readBase32(bytes, start, end);
  if (total < 0) return total;
  const hash = sha512_256(base32Bytes.subarray(0, 32));
  for (let i = 0; i < 4; i++) {
    if (hash[28 + i] !== base32Bytes[32 + i]) return fault(CHECKSUM, 'has a wrong checksum');
  }
  return parsed(put(ALGO, ACCOUNT, base32Bytes, 0, 32, out, at), 'account');
};

/** Formats an Algorand payload in base32; null for an unknown kind. */
export const formatAlgo = (kindByte: number, payload: Uint8Array): string | null =>
  kindByte === ACCOUNT
    ? base32nopad.encode(Uint8Array.of(...payload, ...sha512_256(payload).subarray(28)))
    : null;

// DOT: SS58 with prefix 0. Prefix 42 is generic; wallets show it for the same key, so it is the same account.

const DOT = 14;
const GENERIC_PREFIX = 42;
const SS58_TAG = Buffer.from('SS58PRE');

/** Writes the key of a Polkadot address. See `WriteKey`. */
export const writeDotKey: WriteKey = (bytes, start, end, out, at) => {
  const length = decodeBase58(bytes, start, end, BITCOIN_DIGITS);
  if (length < 0) return base58Fault(length);
  const from = DECODED_END - length;
  const prefixBytes = (decoded[from] as number) < 64 ? 1 : 2;
  if (length !== prefixBytes + 34) return fault(LENGTH, 'must contain a public key of 32 bytes');
  const hash = blake2b(Uint8Array.of(...SS58_TAG, ...decoded.subarray(from, DECODED_END - 2)), { dkLen: 64 });
  if (hash[0] !== decoded[DECODED_END - 2] || hash[1] !== decoded[DECODED_END - 1]) {
    return fault(CHECKSUM, 'has a wrong checksum');
  }
  const prefix = decoded[from] as number;
  if (prefix !== 0 && prefix !== GENERIC_PREFIX) {
    return fault(NETWORK, 'belongs to another network of the Substrate family');
  }
  const kind = prefix === 0 ? 'account' : 'generic';
  return parsed(put(DOT, ACCOUNT, decoded, from + 1, 32, out, at), kind);
};

/** Formats a Polkadot payload as SS58 with prefix 0; null for an unknown kind. */
export function formatDot(kindByte: number, payload: Uint8Array): string | null {
  if (kindByte !== ACCOUNT) return null;
  const hash = blake2b(Uint8Array.of(...SS58_TAG, 0, ...payload), { dkLen: 64 });
  return base58.encode(Uint8Array.of(0, ...payload, ...hash.subarray(0, 2)));
}

// TON: workchain and 32 bytes, raw or as 36 bytes of base64 with flags and a CRC (TEP-2). All forms are the same account.

const TON = 15;
const BOUNCEABLE = 0x11;
const NON_BOUNCEABLE = 0x51;
const TEST_ONLY = 0x80;
const BASE64_DIGITS = digitTable('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
BASE64_DIGITS['-'.charCodeAt(0)] = 62;
BASE64_DIGITS['_'.charCodeAt(0)] = 63;

const tonBytes = new Uint8Array(36);

function readTonFriendly(bytes: Uint8Array, start: number): number {
  for (let i = 0; i < 12; i++) {
    let group = 0;
    for (let j = 0; j < 4; j++) {
      const digit = BASE64_DIGITS[bytes[start + 4 * i + j] as number] as number;
      if (digit === 255) return fault(CHARACTERS, 'contains a character that is not in the base64 alphabet');
      group = (group << 6) | digit;
    }
    tonBytes[3 * i] = group >> 16;
    tonBytes[3 * i + 1] = group >> 8;
    tonBytes[3 * i + 2] = group;
  }
  const written = ((tonBytes[34] as number) << 8) | (tonBytes[35] as number);
  return crc16(tonBytes, 34) === written ? 0 : fault(CHECKSUM, 'has a wrong checksum');
}

/** Writes the key of a TON address in any form. See `WriteKey`. */
export const writeTonKey: WriteKey = (bytes, start, end, out, at) => {
  if (startsWith(bytes, start, end, '0:')) return writeTonRaw(bytes, start + 2, end, 0, out, at);
  if (startsWith(bytes, start, end, '-1:')) return writeTonRaw(bytes, start + 3, end, 255, out, at);
  if (end - start !== 48) return fault(LENGTH, 'must have 48 characters, or a workchain and 64 hex digits');
  const code = readTonFriendly(bytes, start);
  if (code < 0) return code;
  const tag = tonBytes[0] as number;
  const flags = tag & ~TEST_ONLY;
  if (flags !== BOUNCEABLE && flags !== NON_BOUNCEABLE) return fault(PREFIX, 'has an unknown flag byte');
  if (tag & TEST_ONLY) return fault(NETWORK, 'belongs to the test network');
  const workchain = tonBytes[1] as number;
  if (workchain !== 0 && workchain !== 255) return fault(FORM, 'names a workchain that does not exist');
  const kind = flags === BOUNCEABLE ? 'bounceable' : 'non_bounceable';
  return parsed(put(TON, ACCOUNT, tonBytes, 1, 33, out, at), kind);
};

function writeTonRaw(
  bytes: Uint8Array,
  start: number,
  end: number,
  workchain: number,
  out: Uint8Array,
  at: number,
): number {
  if (end - start !== 64) return fault(LENGTH, 'must have 64 hex digits after the workchain');
  if (!readHex(bytes, start, 32)) return fault(CHARACTERS, 'contains a character that is not a hex digit');
  out[at] = TON;
  out[at + 1] = ACCOUNT;
  out[at + 2] = workchain;
  for (let i = 0; i < 32; i++) out[at + 3 + i] = hexBytes[i] as number;
  return parsed(35, 'raw');
}

/** Formats a TON payload in the raw form; null for an unknown kind. */
export const formatTon = (kindByte: number, payload: Uint8Array): string | null =>
  kindByte === ACCOUNT
    ? `${payload[0] === 255 ? -1 : 0}:${Buffer.from(payload.subarray(1)).toString('hex')}`
    : null;

// ATOM: bech32 of 20 bytes (keys, multisigs) or 32 (ADR-028: modules, interchain accounts, contracts).

const ATOM = 17;
const ATOM_HRP = 'cosmos';
const DERIVED = 2;

/** Writes the key of a Cosmos Hub address. See `WriteKey`. */
export const writeAtomKey: WriteKey = (bytes, start, end, out, at) => {
  if (!startsWith(bytes, start, end, 'cosmos1', true)) return fault(PREFIX, 'must begin with cosmos1');
  if (end - start > 90) return fault(LENGTH, 'is too long');
  const count = decodeBech32(bytes, start, end, ATOM_HRP.length, BECH32);
  if (count < 0) return count;
  const length = unpackWords(0, count);
  if (length < 0) return length;
  if (length === 20) return parsed(put(ATOM, ACCOUNT, unpacked, 0, 20, out, at), 'account');
  if (length === 32) return parsed(put(ATOM, DERIVED, unpacked, 0, 32, out, at), 'derived');
  return fault(LENGTH, 'has a payload of the wrong length');
};

/** Formats a Cosmos Hub payload in bech32; null for an unknown kind. */
export const formatAtom = (kindByte: number, payload: Uint8Array): string | null =>
  kindByte === ACCOUNT || kindByte === DERIVED ? bech32.encode(ATOM_HRP, bech32.toWords(payload), 90) : null;

// XTZ: base58check with a three-byte prefix; the payload is the 22 bytes of the binary protocol.

const XTZ = 19;

interface TezosRow {
  /** Three bytes, chosen so that the text begins with the name of the kind. */
  readonly prefix: number;
  readonly kindByte: number;
  readonly kind: string;
  /** Bytes before the 20-byte hash in the payload; if there is only one, a zero byte follows the hash. */
  readonly tag: readonly number[];
}

const TEZOS: readonly TezosRow[] = [
  { prefix: 0x06a19f, kindByte: 1, kind: 'tz1', tag: [0, 0] },
  { prefix: 0x06a1a1, kindByte: 2, kind: 'tz2', tag: [0, 1] },
  { prefix: 0x06a1a4, kindByte: 3, kind: 'tz3', tag: [0, 2] },
  { prefix: 0x06a1a6, kindByte: 4, kind: 'tz4', tag: [0, 3] },
  { prefix: 0x025a79, kindByte: 5, kind: 'KT1', tag: [1] },
  { prefix: 0x067c75, kindByte: 6, kind: 'sr1', tag: [3] },
];

/** Writes the key of a Tezos address. See `WriteKey`. */
export const writeXtzKey: WriteKey = (bytes, start, end, out, at) => {
  const length = decodeBase58Check(bytes, start, end, BITCOIN_DIGITS);
  if (length < 0) return length;
  const from = payloadStart(length);
  if (length !== 23) return fault(PREFIX, 'must begin with tz1, tz2, tz3, tz4, KT1 or sr1');
  const prefix =
    ((decoded[from] as number) << 16) | ((decoded[from + 1] as number) << 8) | (decoded[from + 2] as number);
  for (let i = 0; i < TEZOS.length; i++) {
    const row = TEZOS[i] as TezosRow;
    if (row.prefix !== prefix) continue;
    const tagBytes = row.tag.length;
    out[at] = XTZ;
    out[at + 1] = row.kindByte;
    for (let j = 0; j < tagBytes; j++) out[at + 2 + j] = row.tag[j] as number;
    for (let j = 0; j < 20; j++) out[at + 2 + tagBytes + j] = decoded[from + 3 + j] as number;
    if (tagBytes === 1) out[at + 23] = 0;
    return parsed(24, row.kind);
  }
  return fault(PREFIX, 'must begin with tz1, tz2, tz3, tz4, KT1 or sr1');
};

/** Formats a Tezos payload in base58check; null for an unknown kind. */
export function formatXtz(kindByte: number, payload: Uint8Array): string | null {
  const row = TEZOS.find((each) => each.kindByte === kindByte);
  if (row === undefined) return null;
  const hash = payload.subarray(row.tag.length, row.tag.length + 20);
  return base58check.encode(
    Uint8Array.of(row.prefix >> 16, (row.prefix >> 8) & 255, row.prefix & 255, ...hash),
  );
}
