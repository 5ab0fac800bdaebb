/**
 * CSV of transactions with every input resolved: `block,time,txid,dir,index,address,sats,prev_txid,prev_index`, a row for each input
 * and output, the rows of a transaction and the transactions of a block one after the other.
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
  /** Takes a row in. Where a transaction begins, the one before is given to `emit` first. */
  read(fields: RowFields, emit: (row: UtxoRow) => void): void;
  /** Gives out the transaction that the last rows were. */
  end(emit: (row: UtxoRow) => void): void;
}

/**
 * A reader of rows of one chain. A transaction without inputs is a coinbase. A row that cannot be read makes its whole transaction
 * unusable: of its parts nothing true would follow.
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
    if (index !== list.length) throw new RowFault(`index is ${index}, and ${list.length} comes next.`);
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
      if (txid === broken) throw new RowFault(`belongs to ${txid}, of which another row cannot be read.`);
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
