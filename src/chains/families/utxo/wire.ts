/**
 * Parses transactions of UTXO chains from nodes and explorers strictly: JSON of Bitcoin Core and its forks, and raw bytes, which prove
 * their own id. Amounts are converted from their digits directly to bigint.
 */
import { Block as RawBlock, Transaction as RawTransaction, script } from 'bitcoinjs-lib';
import { AssayError } from '../../../base/errors.ts';
import type { AddressKey } from '../../address/address.ts';
import { parseAddress } from '../../address/parse.ts';
import { UTXO_KINDS } from '../../address/utxo.ts';
import type { ScriptReader } from '../../bitcoin-script.ts';
import {
  asAmount,
  asArray,
  asCount,
  asDecimalAmount,
  asObject,
  badAnswer,
  type Json,
  type JsonObject,
} from '../../endpoints/exact-json.ts';
import { type ChainId, chainOf } from '../../registry.ts';
import type { UtxoInput, UtxoOutput, UtxoTransaction } from '../../utxo-transaction.ts';

/** More than fit into a 4 MB block (60 bytes each); the largest BSV blocks already exceed the size limit of a response. */
export const BLOCK_TRANSACTIONS_MAX = 2_000_000;
/** More inputs or outputs than fit into a 4 MB transaction (9 bytes each). */
const PLACES_MAX = 500_000;
const U32_MAX = 0xffff_ffff;

/** The fields of a transaction that do not depend on its position in the chain. */
export type TransactionBody = Pick<
  UtxoTransaction,
  'txid' | 'isCoinbase' | 'coinbaseScript' | 'inputs' | 'outputs' | 'shielded'
>;

/** Parses a hash in display form: 64 hex digits, converted to lower case. */
export function asHash(value: Json | undefined, field: string): string {
  if (typeof value !== 'string' || !/^[0-9a-fA-F]{64}$/.test(value))
    throw badAnswer(field, 'a hash of 64 hex digits');
  return value.toLowerCase();
}

/** Parses an index of at most 32 bits. */
export function asIndex(value: Json | undefined, field: string): number {
  const index = asCount(value, field);
  if (index > U32_MAX) throw badAnswer(field, 'below 2^32');
  return index;
}

/** Parses bytes in hex. The size limit of a response bounds their number. */
export function asBytes(value: Json | undefined, field: string): Buffer {
  if (typeof value !== 'string' || value.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(value))
    throw badAnswer(field, 'bytes in hex');
  return Buffer.from(value, 'hex');
}

/** Returns the canonical form of an address from a source. */
export function asAddress(chain: ChainId, value: Json | undefined, field: string): string {
  if (typeof value === 'string')
    try {
      return parseAddress(chain, value).canonical;
    } catch (error) {
      if (!(error instanceof AssayError)) throw error;
    }
  throw badAnswer(field, `an address of ${chain}`);
}

// --- JSON of nodes ----------------------------------------------------------------------------------------------------

/** Parses an amount. Zcash and Dash (with their indexes enabled) give units twice: as a decimal, and as an integer in another field. */
function amountOf(chain: ChainId, fields: JsonObject, names: readonly string[], decimal: string): bigint {
  for (const name of names)
    if (fields[name] !== undefined && fields[name] !== null) return asAmount(fields[name], name);
  return asDecimalAmount(fields[decimal], chainOf(chain).decimals, decimal);
}

/** Parses an amount that may be negative: value that left a pool minus value that entered it. */
function balanceOf(chain: ChainId, fields: JsonObject, whole: string, decimal: string): bigint {
  const isWhole = fields[whole] !== undefined && fields[whole] !== null;
  const value = isWhole ? fields[whole] : (fields[decimal] ?? 0);
  const text = String(value);
  const isNegative = text.startsWith('-');
  const digits = isNegative ? text.slice(1) : text;
  const amount = isWhole
    ? asAmount(digits, whole)
    : asDecimalAmount(digits, chainOf(chain).decimals, decimal);
  return isNegative ? -amount : amount;
}

/** Returns what a Zcash transaction took out of the shielded pools (in) and put into them (out): Sprout, Sapling, Orchard. */
function shieldedOf(chain: ChainId, fields: JsonObject): { in: bigint; out: bigint } | null {
  let taken = 0n;
  let put = 0n;
  const net = (amount: bigint): void => {
    if (amount > 0n) taken += amount;
    else put -= amount;
  };
  for (const row of asArray(fields.vjoinsplit ?? [], 'vjoinsplit', PLACES_MAX)) {
    const split = asObject(row, 'vjoinsplit');
    taken += amountOf(chain, split, ['vpub_newZat'], 'vpub_new');
    put += amountOf(chain, split, ['vpub_oldZat'], 'vpub_old');
  }
  net(balanceOf(chain, fields, 'valueBalanceZat', 'valueBalance'));
  const { orchard } = fields;
  if (orchard !== undefined && orchard !== null)
    net(balanceOf(chain, asObject(orchard, 'orchard'), 'valueBalanceZat', 'valueBalance'));
  return taken > 0n || put > 0n ? { in: taken, out: put } : null;
}

/** Dash's transaction type that pays out of the credit pool of Evolution without spending an output (DIP-0027). */
const ASSET_UNLOCK = 9;

/** Returns the value that a transaction exchanged with pools outside the chain's outputs; null if it exchanged none. */
function poolMoves(
  chain: ChainId,
  fields: JsonObject,
  outputs: readonly UtxoOutput[],
): { in: bigint; out: bigint } | null {
  if (chain === 'ZEC') return shieldedOf(chain, fields);
  if (chain !== 'DASH' || fields.type !== ASSET_UNLOCK) return null;
  const paid = outputs.reduce((sum, { value }) => sum + value, 0n);
  const { fee = 0 } = asObject(fields.assetUnlockTx ?? {}, 'assetUnlockTx');
  return { in: paid + asAmount(fee, 'assetUnlockTx.fee'), out: 0n };
}

/** Inputs and outputs inside Litecoin's extension block are confidential; value that enters or leaves it has plain outputs. */
const isHidden = (fields: JsonObject): boolean => fields.ismweb === true;

function readInput(chain: ChainId, scripts: ScriptReader, fields: JsonObject): UtxoInput {
  const spent = { txid: asHash(fields.txid, 'vin.txid'), vout: asIndex(fields.vout, 'vin.vout') };
  if (fields.prevout !== undefined && fields.prevout !== null) {
    const prevout = asObject(fields.prevout, 'vin.prevout');
    const { hex } = asObject(prevout.scriptPubKey, 'vin.prevout.scriptPubKey');
    const { address } = scripts.read(asBytes(hex, 'vin.prevout.scriptPubKey.hex'));
    return { ...spent, address, value: amountOf(chain, prevout, [], 'value') };
  }
  const isIndexed = typeof fields.address === 'string' && fields.valueSat !== undefined;
  if (!isIndexed) return { ...spent, address: null, value: null };
  return {
    ...spent,
    address: asAddress(chain, fields.address, 'vin.address'),
    value: asAmount(fields.valueSat, 'vin.valueSat'),
  };
}

function readOutput(chain: ChainId, scripts: ScriptReader, fields: JsonObject): UtxoOutput {
  const { hex } = asObject(fields.scriptPubKey, 'vout.scriptPubKey');
  const { kind, address } = scripts.read(asBytes(hex, 'vout.scriptPubKey.hex'));
  return {
    n: asIndex(fields.n, 'vout.n'),
    address,
    value: amountOf(chain, fields, [], 'value'),
    script: kind,
  };
}

/** Parses a transaction as `getblock` and `getrawtransaction` return it. Inputs are resolved if the node includes the spent outputs. */
export function readNodeTransaction(chain: ChainId, scripts: ScriptReader, value: Json): TransactionBody {
  const fields = asObject(value, 'tx');
  const inputs = asArray(fields.vin, 'vin', PLACES_MAX)
    .map((row) => asObject(row, 'vin'))
    .filter((row) => !isHidden(row));
  const outputs = asArray(fields.vout, 'vout', PLACES_MAX)
    .map((row) => asObject(row, 'vout'))
    .filter((row) => !isHidden(row))
    .map((row) => readOutput(chain, scripts, row));
  const coinbase = inputs[0]?.coinbase;
  const isCoinbase = coinbase !== undefined;
  const shielded = poolMoves(chain, fields, outputs);
  return {
    txid: asHash(fields.txid, 'txid'),
    isCoinbase,
    ...(typeof coinbase === 'string'
      ? { coinbaseScript: asBytes(coinbase, 'vin.coinbase').toString('hex') }
      : {}),
    inputs: isCoinbase ? [] : inputs.map((row) => readInput(chain, scripts, row)),
    outputs,
    ...(shielded === null ? {} : { shielded }),
  };
}

// --- raw bytes --------------------------------------------------------------------------------------------------------

const bytesOf = (part: Uint8Array): Buffer => Buffer.from(part.buffer, part.byteOffset, part.byteLength);
const shown = (hash: Uint8Array): string => Buffer.from(hash).reverse().toString('hex');

function bodyOf(scripts: ScriptReader, raw: RawTransaction): TransactionBody {
  const isCoinbase = raw.isCoinbase();
  return {
    txid: raw.getId(),
    isCoinbase,
    ...(isCoinbase && raw.ins[0] !== undefined
      ? { coinbaseScript: bytesOf(raw.ins[0].script).toString('hex') }
      : {}),
    inputs: isCoinbase
      ? []
      : raw.ins.map(({ hash, index }) => ({ txid: shown(hash), vout: index, address: null, value: null })),
    outputs: raw.outs.map(({ value, script: bytes }, n) => {
      if (value < 0n) throw badAnswer('output', 'an amount of 0 or more');
      const { kind, address } = scripts.read(bytesOf(bytes));
      return { n, address, value, script: kind };
    }),
  };
}

/** Parses bytes with `read`; any failure is a fault of the sender. */
function fromBytes<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (cause instanceof AssayError) throw cause;
    throw new AssayError('CHAIN_BAD_ANSWER', `Invalid response: must be ${what} in hex.`, { cause });
  }
}

/** Parses a transaction from its bytes, which must hash to `txid`. */
export function readRawTransaction(scripts: ScriptReader, hex: Json, txid: string): TransactionBody {
  const bytes = asBytes(hex, 'transaction');
  const body = fromBytes('transaction', () => bodyOf(scripts, RawTransaction.fromBuffer(bytes)));
  if (body.txid !== txid) throw badAnswer('transaction', `the requested ${txid}`);
  return body;
}

export interface BlockBody {
  readonly hash: string;
  readonly parentHash: string;
  readonly timestampMs: number;
  readonly transactions: readonly TransactionBody[];
}

/** Parses a block from its bytes, which must hash to `hash`; its transactions must match its Merkle root. */
export function readRawBlock(scripts: ScriptReader, hex: Json, hash: string): BlockBody {
  const bytes = asBytes(hex, 'block');
  return fromBytes('block', () => {
    const raw = RawBlock.fromBuffer(bytes);
    if (raw.getId() !== hash) throw badAnswer('block', `the requested ${hash}`);
    const { transactions = [], merkleRoot, prevHash } = raw;
    if (
      merkleRoot === undefined ||
      prevHash === undefined ||
      !bytesOf(merkleRoot).equals(bytesOf(RawBlock.calculateMerkleRoot(transactions)))
    )
      throw badAnswer('block', 'complete, with the transactions of its Merkle root');
    return {
      hash,
      parentHash: shown(prevHash),
      timestampMs: raw.timestamp * 1000,
      transactions: transactions.map((transaction) => bodyOf(scripts, transaction)),
    };
  });
}

// --- scripts ----------------------------------------------------------------------------------------------------------

const { OPS } = script;
type ScriptOf = (payload: Uint8Array) => (number | Uint8Array)[];

/** The output script that pays an address, by the kind byte of its key. */
const SCRIPTS: Readonly<Record<number, ScriptOf>> = {
  [UTXO_KINDS.p2pkh]: (hash) => [
    OPS.OP_DUP as number,
    OPS.OP_HASH160 as number,
    hash,
    OPS.OP_EQUALVERIFY as number,
    OPS.OP_CHECKSIG as number,
  ],
  [UTXO_KINDS.p2sh]: (hash) => [OPS.OP_HASH160 as number, hash, OPS.OP_EQUAL as number],
  [UTXO_KINDS.p2sh32]: (hash) => [OPS.OP_HASH256 as number, hash, OPS.OP_EQUAL as number],
  [UTXO_KINDS.p2wpkh]: (program) => [OPS.OP_0 as number, program],
  [UTXO_KINDS.p2wsh]: (program) => [OPS.OP_0 as number, program],
  [UTXO_KINDS.p2tr]: (program) => [OPS.OP_1 as number, program],
};
/** Base of the kind bytes of witness programs without a name of their own: 16 plus the version. */
const WITNESS_KIND = 16;

/** Returns the output script of an address by its key; null for hidden addresses, which no script pays. */
export function outputScriptOf(key: AddressKey): Uint8Array | null {
  const kind = key[1] as number;
  const payload = key.subarray(2);
  const version = kind - WITNESS_KIND;
  if (version >= 1 && version <= 16) return script.compile([(OPS.OP_1 as number) + version - 1, payload]);
  const parts = SCRIPTS[kind];
  return parts === undefined ? null : script.compile(parts(payload));
}
