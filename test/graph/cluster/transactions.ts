/** Builds UTXO transactions for the clustering tests, one line per transaction. */
import type { ChainId } from '../../../src/chains/registry.ts';
import type { ScriptKind, UtxoTransaction } from '../../../src/chains/utxo-transaction.ts';

const CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';

/** Returns an address of a form that differs for each number. Forms are read from the text, so the checksum is left out. */
export function address(form: ScriptKind, number: number): string {
  let tail = '';
  for (let rest = number, at = 0; at < 32; at++, rest = Math.floor(rest / 32))
    tail = `${CHARSET[rest % 32]}${tail}`;
  const payload = tail.padStart(58, 'q');
  switch (form) {
    case 'p2wpkh':
      return `bc1q${payload.slice(-38)}`;
    case 'p2wsh':
      return `bc1q${payload}`;
    case 'p2tr':
      return `bc1p${payload}`;
    case 'p2sh':
      return `3${payload.slice(-33)}`;
    default:
      return `1${payload.slice(-33)}`;
  }
}

export interface Party {
  readonly address: string | null;
  readonly value: bigint | null;
}

export const pays = (address: string | null, value: bigint | number | null): Party => ({
  address,
  value: value === null ? null : BigInt(value),
});

const kindOf = (text: string | null): ScriptKind => {
  if (text === null) return 'op_return';
  if (text.startsWith('bc1p')) return 'p2tr';
  if (text.startsWith('bc1q')) return text.length === 42 ? 'p2wpkh' : 'p2wsh';
  return text.startsWith('3') ? 'p2sh' : 'p2pkh';
};

let made = 0;

export function transaction(options: {
  readonly inputs: readonly Party[];
  readonly outputs: readonly Party[];
  readonly blockNumber?: number;
  readonly chain?: ChainId;
  readonly isCoinbase?: boolean;
}): UtxoTransaction {
  const number = ++made;
  const id = (n: number): string => n.toString(16).padStart(64, '0');
  return {
    chain: options.chain ?? 'BTC',
    txid: id(number),
    blockNumber: options.blockNumber ?? 800_000,
    indexInBlock: 1,
    timestampMs: Date.UTC(2023, 6, 1),
    isCoinbase: options.isCoinbase ?? false,
    inputs: options.inputs.map(({ address, value }, vout) => ({
      txid: id(number * 1_000_000 + vout),
      vout,
      address,
      value,
    })),
    outputs: options.outputs.map(({ address, value }, n) => ({
      n,
      address,
      value: value ?? 0n,
      script: kindOf(address),
    })),
  };
}
