/** Classifies output scripts of Bitcoin and its forks, and extracts the address that a script pays. */
import { ripemd160 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import type { AddressKey } from './address/address.ts';
import { formatAddressKey } from './address/parse.ts';
import { SEGWIT_CHAINS, UTXO_KINDS } from './address/utxo.ts';
import { type ChainId, chainOf } from './registry.ts';
import type { ScriptKind } from './utxo-transaction.ts';

export interface ReadScript {
  readonly kind: ScriptKind;
  /** Null if the script pays no address: data, bare multisig, or anything non-standard. */
  readonly key: AddressKey | null;
}

const OP_0 = 0x00;
const OP_1 = 0x51;
const OP_16 = 0x60;
const OP_RETURN = 0x6a;
const OP_DUP = 0x76;
const OP_EQUAL = 0x87;
const OP_EQUALVERIFY = 0x88;
const OP_HASH160 = 0xa9;
const OP_HASH256 = 0xaa;
const OP_CHECKSIG = 0xac;
const OP_CHECKMULTISIG = 0xae;

/** Base of the kind bytes of witness programs without a name of their own: this plus the version. */
const WITNESS_KIND = 16;

function keyOf(chain: ChainId, kindByte: number, payload: Uint8Array): AddressKey {
  const key = new Uint8Array(2 + payload.length);
  key[0] = chainOf(chain).keyByte;
  key[1] = kindByte;
  key.set(payload, 2);
  return key;
}

const isPublicKey = (bytes: Uint8Array): boolean => {
  const first = bytes[0];
  if (bytes.length === 33) return first === 2 || first === 3;
  return bytes.length === 65 && (first === 4 || first === 6 || first === 7);
};

/** Returns whether a script is a bare m-of-n multisig: m, n pushed public keys, n, OP_CHECKMULTISIG. */
function isMultisig(script: Uint8Array): boolean {
  const length = script.length;
  if (length < 37 || script[length - 1] !== OP_CHECKMULTISIG) return false;
  const needed = (script[0] as number) - OP_1 + 1;
  const total = (script[length - 2] as number) - OP_1 + 1;
  if (needed < 1 || total < needed || total > 16) return false;
  let at = 1;
  for (let key = 0; key < total; key++) {
    const size = script[at] as number;
    if (!isPublicKey(script.subarray(at + 1, at + 1 + size))) return false;
    at += 1 + size;
  }
  return at === length - 2;
}

function readWitness(chain: ChainId, script: Uint8Array): ReadScript | null {
  const length = script.length;
  const opcode = script[0] as number;
  if (length < 4 || length > 42 || script[1] !== length - 2) return null;
  if (opcode !== OP_0 && (opcode < OP_1 || opcode > OP_16)) return null;
  const version = opcode === OP_0 ? 0 : opcode - OP_1 + 1;
  const program = script.subarray(2);
  if (version === 0 && program.length === 20)
    return { kind: 'p2wpkh', key: keyOf(chain, UTXO_KINDS.p2wpkh, program) };
  if (version === 0 && program.length === 32)
    return { kind: 'p2wsh', key: keyOf(chain, UTXO_KINDS.p2wsh, program) };
  if (version === 0) return null;
  if (version === 1 && program.length === 32)
    return { kind: 'p2tr', key: keyOf(chain, UTXO_KINDS.p2tr, program) };
  return { kind: 'other', key: keyOf(chain, WITNESS_KIND + version, program) };
}

/** First byte of the token data that Bitcoin Cash puts before the script (CashTokens, May 2023): category, bit field, contents. */
const TOKEN_PREFIX = 0xef;
const TOKEN_CATEGORY_BYTES = 32;
const HAS_COMMITMENT = 0x40;
const HAS_NFT = 0x20;
const HAS_AMOUNT = 0x10;

/** Reads a number in Bitcoin's compact format: its value and the offset after it; null if the bytes end too early. */
function compactAt(bytes: Uint8Array, at: number): readonly [value: number, end: number] | null {
  const first = bytes[at];
  if (first === undefined) return null;
  const length = first < 0xfd ? 0 : first === 0xfd ? 2 : first === 0xfe ? 4 : 8;
  const end = at + 1 + length;
  if (end > bytes.length) return null;
  let value = length === 0 ? first : 0;
  for (let i = end - 1; i > at && length > 0; i--) value = value * 256 + (bytes[i] as number);
  return [value, end];
}

/** Returns the script after the token data of an output, or the bytes unchanged if they have no token data. */
function behindTokens(script: Uint8Array): Uint8Array {
  const form = script[1 + TOKEN_CATEGORY_BYTES];
  if (script[0] !== TOKEN_PREFIX || form === undefined || (form & (HAS_NFT | HAS_AMOUNT)) === 0)
    return script;
  let at = 2 + TOKEN_CATEGORY_BYTES;
  if ((form & HAS_COMMITMENT) !== 0) {
    const length = compactAt(script, at);
    if (length === null) return script;
    at = length[1] + length[0];
  }
  if ((form & HAS_AMOUNT) !== 0) {
    const amount = compactAt(script, at);
    if (amount === null) return script;
    at = amount[1];
  }
  return at <= script.length ? script.subarray(at) : script;
}

/**
 * Parses an output script. A bare public key pays the p2pkh address of that key: the holder of the key owns both, and explorers and
 * label publishers use that address. Token data before a Bitcoin Cash script is skipped. Addresses are always those of the main
 * network.
 */
export function readScript(chain: ChainId, bytes: Uint8Array): ReadScript {
  const script = chain === 'BCH' ? behindTokens(bytes) : bytes;
  const length = script.length;
  if (
    length === 25 &&
    script[0] === OP_DUP &&
    script[1] === OP_HASH160 &&
    script[2] === 20 &&
    script[23] === OP_EQUALVERIFY &&
    script[24] === OP_CHECKSIG
  ) {
    return { kind: 'p2pkh', key: keyOf(chain, UTXO_KINDS.p2pkh, script.subarray(3, 23)) };
  }
  if (length === 23 && script[0] === OP_HASH160 && script[1] === 20 && script[22] === OP_EQUAL)
    return { kind: 'p2sh', key: keyOf(chain, UTXO_KINDS.p2sh, script.subarray(2, 22)) };
  if (
    chain === 'BCH' &&
    length === 35 &&
    script[0] === OP_HASH256 &&
    script[1] === 32 &&
    script[34] === OP_EQUAL
  ) {
    return { kind: 'p2sh', key: keyOf(chain, UTXO_KINDS.p2sh32, script.subarray(2, 34)) };
  }
  const witness = SEGWIT_CHAINS.has(chain) ? readWitness(chain, script) : null;
  if (witness) return witness;
  // BSV also puts data after a false, so that it is provably unspendable.
  if (script[0] === OP_RETURN || (script[0] === OP_0 && script[1] === OP_RETURN))
    return { kind: 'op_return', key: null };
  const publicKey = script.subarray(1, length - 1);
  if (script[length - 1] === OP_CHECKSIG && script[0] === length - 2 && isPublicKey(publicKey))
    return { kind: 'p2pk', key: keyOf(chain, UTXO_KINDS.p2pkh, ripemd160(sha256(publicKey))) };
  return { kind: isMultisig(script) ? 'multisig' : 'other', key: null };
}

/** Maximum number of cached scripts; the cache is cleared when it is full. About 250 bytes each. */
const SCRIPTS_MAX = 100_000;

/** Parses scripts, formats their addresses and caches both: base58 takes 20 microseconds, and scripts repeat. */
export class ScriptReader {
  readonly #chain: ChainId;
  readonly #known = new Map<string, { readonly kind: ScriptKind; readonly address: string | null }>();

  constructor(chain: ChainId) {
    this.#chain = chain;
  }

  read(script: Buffer): { readonly kind: ScriptKind; readonly address: string | null } {
    const name = script.length <= 67 ? script.toString('latin1') : '';
    const known = name === '' ? undefined : this.#known.get(name);
    if (known) return known;
    const { kind, key } = readScript(this.#chain, script);
    const entry = { kind, address: key && formatAddressKey(key, this.#chain) };
    if (name !== '') {
      if (this.#known.size >= SCRIPTS_MAX) this.#known.clear();
      this.#known.set(name, entry);
    }
    return entry;
  }
}
