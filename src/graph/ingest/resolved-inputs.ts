/**
 * CSV of transactions with every input resolved: `block,time,txid,dir,index,address,sats,prev_txid,prev_index`. There is one row per input
 * and output. The rows of a transaction are consecutive, and so are the transactions of a block.
 */
import type { ChainId } from '../../chains/registry.ts';
import type { ScriptKind, UtxoInput, UtxoOutput } from '../../chains/utxo-transaction.ts';
import { scriptFormOf } from '../cluster/script-form.ts';
import { bitcoinHashOf, type UtxoRow } from './bitcoin-etl.ts';
import type { RowFields } from './rows.ts';
import { AddressTexts, integerOf, RowFault, smallIntegerOf, textOf, timeOf } from './transfer-fields.ts';

interface OpenTransaction {
  readonly txid: string;
  readonly blockNumber: number;
  readonly indexInBlock: number;
  readonly timestampMs: number;
  readonly inputs: UtxoInput[];
  readonly outputs: UtxoOutput[];
}

export interface ResolvedInputsReader {
  /** Reads a row. If it starts a new transaction, the previous one is passed to `emit` first. */
  read(fields: RowFields, emit: (row: UtxoRow) => void): void;
  /** Emits the last transaction. */
  end(emit: (row: UtxoRow) => void): void;
}

/**
 * Creates a reader for rows of one chain. A transaction without inputs is a coinbase. If one row of a transaction cannot be read, the whole
 * transaction is rejected, because its other parts would be misleading.
 */
export function resolvedInputsReader(chain: ChainId): ResolvedInputsReader {
  const addresses = new AddressTexts(chain);
  let open: OpenTransaction | null = null;
  let broken: string | null = null;

  const close = (emit: (row: UtxoRow) => void): void => {
    const done = open;
    open = null;
    if (!done || done.txid === broken) return;
    emit({ blockHash: null, transaction: { chain, ...done, isCoinbase: done.inputs.length === 0 } });
  };

  const kindOf = (address: string | null): ScriptKind =>
    (address === null ? null : scriptFormOf(chain, address)) ?? 'other';

  const add = (transaction: OpenTransaction, fields: RowFields): void => {
    const direction = textOf(fields, 'dir');
    const index = smallIntegerOf(fields, 'index');
    const address = addresses.optional(fields, 'address');
    const value = integerOf(fields, 'sats');
    const list = direction === 'in' ? transaction.inputs : transaction.outputs;
    if (index !== list.length) throw new RowFault(`index is ${index}, but ${list.length} was expected.`);
    if (direction === 'out') transaction.outputs.push({ n: index, address, value, script: kindOf(address) });
    else if (direction === 'in')
      transaction.inputs.push({
        txid: bitcoinHashOf(fields, 'prev_txid'),
        vout: smallIntegerOf(fields, 'prev_index'),
        address,
        value,
      });
    else throw new RowFault(`dir is '${direction.slice(0, 20)}', not 'in' or 'out'.`);
  };

  return {
    read(fields, emit) {
      const txid = bitcoinHashOf(fields, 'txid');
      if (txid === broken)
        throw new RowFault(`belongs to ${txid}, and another row of that transaction is invalid.`);
      const blockNumber = smallIntegerOf(fields, 'block');
      const timestampMs = timeOf(fields, 'time', 'seconds');
      if (timestampMs === null) throw new RowFault('time is missing.');
      if (open?.txid !== txid) {
        const indexInBlock: number = open?.blockNumber === blockNumber ? open.indexInBlock + 1 : 0;
        close(emit);
        open = { txid, blockNumber, indexInBlock, timestampMs, inputs: [], outputs: [] };
      }
      try {
        add(open, fields);
      } catch (error) {
        broken = txid;
        throw error;
      }
    },
    end: close,
  };
}
