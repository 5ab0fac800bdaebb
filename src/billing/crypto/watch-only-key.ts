/**
 * Watch-only keys: extended public keys (BIP-32) and output descriptors (BIP-380) from which the addresses of invoices are derived. Private
 * keys are refused: no key that can spend is ever on the server.
 */
import { createRequire } from 'node:module';
import { ripemd160 } from '@noble/hashes/legacy.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { createBase58check } from '@scure/base';
import { HDKey } from '@scure/bip32';
import { AssayError } from '../../base/errors.ts';
import { formatAddressKey } from '../../chains/address/parse.ts';
import { UTXO_KINDS } from '../../chains/address/utxo.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import { CRYPTO_LIMITS } from './limits.ts';

/** The kind of address: the names are those of output descriptors; `account` is an address of an EVM chain or of TRON. */
export type AddressForm = 'pkh' | 'sh(wpkh)' | 'wpkh' | 'tr' | 'account';

export interface WatchOnlyKey {
  readonly form: AddressForm;
  /** In its neutral form (xpub…), whatever prefix the setting had. */
  readonly xpub: string;
  /** Fingerprint and path of the key, as in `[d34db33f/84h/0h/0h]`, without brackets; null if the setting has none. */
  readonly origin: string | null;
  /** Steps from the key to the parent of the addresses; `[0]` is the receiving branch of an account. */
  readonly path: readonly number[];
  /** Parent of all addresses. */
  readonly branch: HDKey;
}

/** Forms of the chains that are paid to derived addresses, the form of a key without a descriptor first. */
const FORMS: Partial<Record<ChainId, readonly AddressForm[]>> = {
  BTC: ['pkh', 'sh(wpkh)', 'wpkh', 'tr'],
  LTC: ['pkh', 'sh(wpkh)', 'wpkh', 'tr'],
  DOGE: ['pkh'],
  BCH: ['pkh'],
};

/** Version bytes of extended public keys (SLIP-132) and the form of addresses that they name. */
const PUBLIC_VERSIONS: ReadonlyMap<number, AddressForm> = new Map([
  [0x0488b21e, 'pkh'], // xpub
  [0x049d7cb2, 'sh(wpkh)'], // ypub
  [0x04b24746, 'wpkh'], // zpub
  [0x019da462, 'pkh'], // Ltub
  [0x01b26ef6, 'sh(wpkh)'], // Mtub
  [0x02facafd, 'pkh'], // dgub
]);
const XPUB = 0x0488b21e;
/** Extended private keys: xprv, yprv, zprv, Ltpv, Mtpv, dgpv, and those of test networks. */
const PRIVATE_VERSIONS: ReadonlySet<number> = new Set([
  ...[0x0488ade4, 0x049d7878, 0x04b2430c, 0x019d9cfe, 0x01b26792, 0x02fac398],
  ...[0x04358394, 0x044a4e28, 0x045f18bc],
]);
/** Extended public keys of test networks: tpub, upub, vpub. */
const TEST_VERSIONS: ReadonlySet<number> = new Set([0x043587cf, 0x044a5262, 0x045f1cf6]);

const EXTENDED_BYTES = 78;
const base58check = createBase58check(sha256);

/** Returns the error of a setting. The text of the setting is not repeated: it may contain a secret. */
const refuse = (field: string, text: string): AssayError =>
  new AssayError('INVALID_CONFIG', `${field}: ${text}`, { field });

const CHECKSUM_INPUT =
  '0123456789()[],\'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#"\\ ';
const CHECKSUM_DIGITS = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const CHECKSUM_GENERATOR = [0xf5dee51989n, 0xa9fdca3312n, 0x1bab10e32dn, 0x3706b1677an, 0x644d626ffdn];
const CHECKSUM_LENGTH = 8;

function polymod(state: bigint, value: number): bigint {
  const top = state >> 35n;
  let next = ((state & 0x7ffffffffn) << 5n) ^ BigInt(value);
  for (const [bit, generator] of CHECKSUM_GENERATOR.entries())
    if (((top >> BigInt(bit)) & 1n) === 1n) next ^= generator;
  return next;
}

/**
 * Computes the checksum of an output descriptor (BIP-380).
 *
 * @returns eight characters; null if the text has a character that descriptors cannot have
 */
export function descriptorChecksum(text: string): string | null {
  let state = 1n;
  let classes = 0;
  let count = 0;
  for (const character of text) {
    const position = CHECKSUM_INPUT.indexOf(character);
    if (position < 0) return null;
    state = polymod(state, position & 31);
    classes = classes * 3 + (position >> 5);
    if (++count === 3) {
      state = polymod(state, classes);
      classes = 0;
      count = 0;
    }
  }
  if (count > 0) state = polymod(state, classes);
  for (let at = 0; at < CHECKSUM_LENGTH; at++) state = polymod(state, 0);
  state ^= 1n;
  let checksum = '';
  for (let at = 0; at < CHECKSUM_LENGTH; at++)
    checksum += CHECKSUM_DIGITS.charAt(Number((state >> BigInt(5 * (7 - at))) & 31n));
  return checksum;
}

/** Reads an extended public key and the form that its prefix names. */
function readExtended(field: string, text: string): { key: HDKey; form: AddressForm; isNeutral: boolean } {
  let bytes: Uint8Array;
  try {
    bytes = base58check.decode(text);
  } catch {
    throw refuse(field, 'the key is not an extended public key, or its checksum is wrong.');
  }
  const version = Buffer.from(bytes).readUInt32BE(0);
  if (PRIVATE_VERSIONS.has(version) || (bytes.length === EXTENDED_BYTES && bytes[45] === 0))
    throw refuse(
      field,
      'must be an extended public key, and is a private key. Remove it from this machine, and move the funds of its addresses: a key that can spend must never be on a server.',
    );
  if (TEST_VERSIONS.has(version)) throw refuse(field, 'must be a key of the main network.');
  const form = PUBLIC_VERSIONS.get(version);
  if (form === undefined || bytes.length !== EXTENDED_BYTES)
    throw refuse(field, 'must be an extended public key (xpub, ypub, zpub, Ltub, Mtub, dgub).');
  const neutral = Buffer.from(bytes);
  neutral.writeUInt32BE(XPUB, 0);
  try {
    return {
      key: HDKey.fromExtendedKey(base58check.encode(neutral)),
      form,
      isNeutral: version === XPUB,
    };
  } catch {
    throw refuse(field, 'the key is not a point of the curve.');
  }
}

/** Splits `wpkh(…)` and `sh(wpkh(…))` into the form and the key expression; null for a key without a function. */
function splitFunction(field: string, text: string): { form: AddressForm; expression: string } | null {
  if (!text.includes('(')) return null;
  const match = /^(pkh|wpkh|tr|sh\(wpkh)\(([^(),]+)\)(\)?)$/.exec(text);
  const [, name, expression, closing] = match ?? [];
  const isNested = name === 'sh(wpkh';
  if (name === undefined || expression === undefined || isNested !== (closing === ')'))
    throw refuse(field, 'must be one of pkh(KEY), wpkh(KEY), sh(wpkh(KEY)), tr(KEY), with one key.');
  return { form: isNested ? 'sh(wpkh)' : (name as AddressForm), expression };
}

/** Reads `[origin]key/steps/*`. */
function readExpression(field: string, text: string) {
  const match = /^(?:\[([0-9a-fA-F]{8}(?:\/\d{1,10}['hH]?)*)\])?([1-9A-HJ-NP-Za-km-z]+)((?:\/[^/]*)*)$/.exec(
    text,
  );
  const [, origin = null, extended, rest = ''] = match ?? [];
  if (extended === undefined)
    throw refuse(field, 'the key must have the form [fingerprint/path]xpub/0/*, without spaces.');
  const steps = rest === '' ? ['0', '*'] : rest.slice(1).split('/');
  if (steps.at(-1) !== '*')
    throw refuse(field, 'the path of the key must end with /*: each invoice has an address of its own.');
  const path = steps.slice(0, -1).map((step) => {
    if (!/^\d{1,10}$/.test(step) || Number(step) > CRYPTO_LIMITS.childIndexMax)
      throw refuse(
        field,
        'the steps after the key must be numbers without a hardened mark: only those can be derived from a public key.',
      );
    return Number(step);
  });
  if (path.length > CRYPTO_LIMITS.keyStepsMax)
    throw refuse(field, `the path must have at most ${CRYPTO_LIMITS.keyStepsMax} steps.`);
  return { origin, extended, path };
}

/**
 * Reads the setting of a chain: an extended public key of an account, whose receiving branch (/0/*) is used, or an output descriptor with
 * its checksum.
 *
 * @param chain - BTC, LTC, DOGE, BCH, TRON or an EVM chain
 * @param field - name of the setting
 * @throws INVALID_CONFIG; the message never repeats the text
 */
export function readWatchOnlyKey(chain: ChainId, text: string, field: string): WatchOnlyKey {
  const trimmed = text.trim();
  if (trimmed.length > CRYPTO_LIMITS.keyTextMax)
    throw refuse(field, `must have at most ${CRYPTO_LIMITS.keyTextMax} characters.`);
  const hash = trimmed.lastIndexOf('#');
  const body = hash < 0 ? trimmed : trimmed.slice(0, hash);
  const split = splitFunction(field, body);
  if (hash >= 0 && descriptorChecksum(body) !== trimmed.slice(hash + 1))
    throw refuse(field, 'the checksum after # does not match the descriptor.');
  const { origin, extended, path } = readExpression(field, split?.expression ?? body);
  const { key, form: formOfPrefix, isNeutral } = readExtended(field, extended);
  if (split !== null && hash < 0)
    throw refuse(field, 'the descriptor must have its checksum (#…): a typing error would pay a stranger.');
  if (split !== null && !isNeutral)
    throw refuse(field, 'the key of a descriptor must be an xpub: the descriptor names the form.');
  const forms: readonly AddressForm[] = FORMS[chain] ?? ['account'];
  if (forms[0] === 'account' && (split !== null || !isNeutral))
    throw refuse(field, `must be an xpub for ${chain}, without a descriptor.`);
  const form = forms[0] === 'account' ? 'account' : (split?.form ?? formOfPrefix);
  if (!forms.includes(form))
    throw refuse(field, `addresses of ${chain} must be one of ${forms.join(', ')} (got ${form}).`);
  let branch = key;
  for (const step of path) branch = branch.deriveChild(step);
  return { form, xpub: key.publicExtendedKey, origin, path, branch };
}

const hash160 = (bytes: Uint8Array): Uint8Array => ripemd160(sha256(bytes));

const require = createRequire(import.meta.url);

/** Points of secp256k1. The library is loaded at the first address that needs them, so that no start of the program waits for it. */
const points = (): typeof import('ethers')['SigningKey'] =>
  (require('ethers') as typeof import('ethers')).SigningKey;

/** A tagged hash (BIP-340). */
function taggedHash(tag: string, bytes: Uint8Array): Uint8Array {
  const start = sha256(Buffer.from(tag, 'utf8'));
  return sha256(Buffer.concat([start, start, bytes]));
}

/** Returns the output key of taproot without scripts: P + H(P)·G (BIP-341, BIP-86). */
function taprootKey(publicKey: Uint8Array): Uint8Array {
  const x = publicKey.subarray(1);
  const even = `0x02${Buffer.from(x).toString('hex')}`;
  const tweak = `0x${Buffer.from(taggedHash('TapTweak', x)).toString('hex')}`;
  const sum = points().addPoints(even, points().computePublicKey(tweak, true), true);
  return Buffer.from(sum.slice(4), 'hex');
}

/** Returns the last 20 bytes of the hash of an uncompressed public key, which EVM chains and TRON share. */
function accountOf(publicKey: Uint8Array): Uint8Array {
  const whole = points().computePublicKey(`0x${Buffer.from(publicKey).toString('hex')}`, false);
  return keccak_256(Buffer.from(whole.slice(4), 'hex')).subarray(12);
}

/** Kind byte of accounts on EVM chains and TRON. */
const ACCOUNT_KIND = 1;

const P2WPKH_PROGRAM = Uint8Array.of(0x00, 0x14);

function payloadOf(form: AddressForm, publicKey: Uint8Array): { kind: number; payload: Uint8Array } {
  switch (form) {
    case 'pkh':
      return { kind: UTXO_KINDS.p2pkh, payload: hash160(publicKey) };
    case 'wpkh':
      return { kind: UTXO_KINDS.p2wpkh, payload: hash160(publicKey) };
    case 'sh(wpkh)':
      return {
        kind: UTXO_KINDS.p2sh,
        payload: hash160(Buffer.concat([P2WPKH_PROGRAM, hash160(publicKey)])),
      };
    case 'tr':
      return { kind: UTXO_KINDS.p2tr, payload: taprootKey(publicKey) };
    case 'account':
      return { kind: ACCOUNT_KIND, payload: accountOf(publicKey) };
  }
}

/**
 * Derives the address of an index.
 *
 * @param index - 0 to 2^31 - 1
 * @returns the canonical address
 * @throws INTERNAL if the index has no key, which happens with a probability below 2^-127 (BIP-32)
 */
export function deriveAddress(chain: ChainId, key: WatchOnlyKey, index: number): string {
  const { publicKey } = key.branch.deriveChild(index);
  if (publicKey === null) throw new AssayError('INTERNAL', `${chain}: index ${index} has no public key.`);
  const { kind, payload } = payloadOf(key.form, publicKey);
  return formatAddressKey(Uint8Array.of(chainOf(chain).keyByte, kind, ...payload), chain);
}

/** Returns the path of an index below the key, for a person: `0/17`, or with the origin `84h/0h/0h/0/17`. */
export function pathOf({ origin, path }: WatchOnlyKey, index: number): string {
  const before = origin === null ? [] : origin.split('/').slice(1);
  return [...before, ...path, index].join('/');
}

/** Returns the output descriptor of a key with its checksum, as wallets import it; null for accounts, which have none. */
export function descriptorOf({ form, xpub, origin, path }: WatchOnlyKey): string | null {
  if (form === 'account') return null;
  const expression = `${origin === null ? '' : `[${origin}]`}${[xpub, ...path, '*'].join('/')}`;
  const body = form === 'sh(wpkh)' ? `sh(wpkh(${expression}))` : `${form}(${expression})`;
  return `${body}#${descriptorChecksum(body) ?? ''}`;
}
