/** Rows of bitcoin-etl (github.com/blockchain-etl/bitcoin-etl): blocks and transactions of every UTXO chain, as JSON lines. */
import { parseAddress } from '../../chains/address/parse.ts';
import { ScriptReader } from '../../chains/bitcoin-script.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { ScriptKind, UtxoInput, UtxoOutput, UtxoTransaction } from '../../chains/utxo-transaction.ts';
import type { RowFields } from './rows.ts';
import { fieldOf, integerOf, RowFault, smallIntegerOf, textOf, timeOf } from './transfer-fields.ts';

export interface UtxoRow {
  readonly transaction: UtxoTransaction;
  readonly blockHash: string | null;
}

/** Bitcoin Core's names of script types, which the export uses. */
const KINDS: Readonly<Record<string, ScriptKind>> = {
  pubkey: 'p2pk',
  pubkeyhash: 'p2pkh',
  scripthash: 'p2sh',
  witness_v0_keyhash: 'p2wpkh',
  witness_v0_scripthash: 'p2wsh',
  witness_v1_taproot: 'p2tr',
  multisig: 'multisig',
  nulldata: 'op_return',
};
/** An input of this type is value from a shielded pool, an output of this type is value into it. */
const SHIELDED = 'shielded';
/** The export invents an "address" with this prefix for a script that has none. */
const MADE_UP = 'nonstandard';
const HASH = /^[0-9a-f]{64}$/i;

/** Reads a hash of 64 hex digits, in lower case. Throws a RowFault if the field is not one. */
export function bitcoinHashOf(fields: RowFields, name: string): string {
  const text = textOf(fields, name);
  if (HASH.test(text)) return text.toLowerCase();
  throw new RowFault(`${name} is not a hash of 64 hex digits.`);
}

function listOf(fields: RowFields, name: string): RowFields[] {
  const value = fieldOf(fields, name) ?? [];
  if (Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null))
    return value as RowFields[];
  throw new RowFault(`${name} is not a list of objects.`);
}

const typeOf = (fields: RowFields): string => String(fieldOf(fields, 'type') ?? '').toLowerCase();

/** The only address of an input or output. Null if there are none or several (bare multi-signature). */
function addressOf(chain: ChainId, fields: RowFields, where: string): string | null {
  const addresses = fieldOf(fields, 'addresses');
  if (!Array.isArray(addresses) || addresses.length !== 1) return null;
  const [text] = addresses as unknown[];
  if (typeof text !== 'string' || text.startsWith(MADE_UP)) return null;
  return parseAddress(chain, text, `${where}.addresses[0]`).canonical;
}

function inputOf(chain: ChainId, fields: RowFields, where: string): UtxoInput {
  const value = fieldOf(fields, 'value') === undefined ? null : integerOf(fields, 'value');
  return {
    txid: bitcoinHashOf(fields, 'spent_transaction_hash'),
    vout: smallIntegerOf(fields, 'spent_output_index'),
    address: value === null ? null : addressOf(chain, fields, where),
    value,
  };
}

function outputOf(chain: ChainId, scripts: ScriptReader, fields: RowFields, where: string): UtxoOutput {
  const hex = fieldOf(fields, 'script_hex');
  const n = smallIntegerOf(fields, 'index');
  const value = integerOf(fields, 'value');
  // The script is more complete than the export, which omits payments to a bare key. DOGE, DASH and ZEC use the same scripts.
  if (typeof hex === 'string' && /^(?:[0-9a-f]{2})+$/i.test(hex)) {
    const { kind, address } = scripts.read(Buffer.from(hex, 'hex'));
    return { n, value, script: kind, address };
  }
  return { n, value, script: KINDS[typeOf(fields)] ?? 'other', address: addressOf(chain, fields, where) };
}

const sumOf = (rows: readonly RowFields[]): bigint =>
  rows.reduce((sum, fields) => sum + integerOf(fields, 'value'), 0n);

/** Creates a reader for rows of one chain. It returns null for a row that is not a transaction. */
export function bitcoinEtlReader(chain: ChainId): (fields: RowFields) => UtxoRow | null {
  const scripts = new ScriptReader(chain);
  return (fields) => {
    if (fields.outputs === undefined && fields.inputs === undefined) return null;
    const timestampMs = timeOf(fields, 'block_timestamp', 'seconds');
    if (timestampMs === null) throw new RowFault('block_timestamp is missing.');
    const inputs = listOf(fields, 'inputs');
    const outputs = listOf(fields, 'outputs');
    const transparent = inputs.filter((input) => typeOf(input) !== SHIELDED);
    const shieldedIn = sumOf(inputs.filter((input) => typeOf(input) === SHIELDED));
    const shieldedOut = sumOf(outputs.filter((output) => typeOf(output) === SHIELDED));
    const isCoinbase = fields.is_coinbase === true || inputs.length === 0;
    return {
      blockHash: fieldOf(fields, 'block_hash') === undefined ? null : bitcoinHashOf(fields, 'block_hash'),
      transaction: {
        chain,
        txid: bitcoinHashOf(fields, 'hash'),
        blockNumber: smallIntegerOf(fields, 'block_number'),
        indexInBlock: fieldOf(fields, 'index') === undefined ? 0 : smallIntegerOf(fields, 'index'),
        timestampMs,
        isCoinbase,
        inputs: isCoinbase ? [] : transparent.map((input, at) => inputOf(chain, input, `inputs[${at}]`)),
        outputs: outputs
          .filter((output) => typeOf(output) !== SHIELDED)
          .map((output, at) => outputOf(chain, scripts, output, `outputs[${at}]`)),
        ...(shieldedIn > 0n || shieldedOut > 0n ? { shielded: { in: shieldedIn, out: shieldedOut } } : {}),
      },
    };
  };
}
