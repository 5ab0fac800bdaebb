/** Determines the script kind of a UTXO address from its canonical text: inputs have no other information about their script. */
import type { UtxoChainId } from '../../chains/families/utxo/chains.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { ScriptKind } from '../../chains/utxo-transaction.ts';

/** A prefix, and the length of the text if the prefix alone is ambiguous. */
interface Form {
  readonly prefix: string;
  readonly length?: number;
  readonly kind: ScriptKind;
}

const segwit = (hrp: string): readonly Form[] => [
  // BIP-141 and BIP-350: 20 bytes are a key hash (32 characters and the checksum of 6), 32 bytes a script hash.
  { prefix: `${hrp}1q`, length: hrp.length + 40, kind: 'p2wpkh' },
  { prefix: `${hrp}1q`, length: hrp.length + 60, kind: 'p2wsh' },
  { prefix: `${hrp}1p`, length: hrp.length + 60, kind: 'p2tr' },
];

const forms = (keyHash: readonly string[], scriptHash: readonly string[]): readonly Form[] => [
  ...keyHash.map((prefix) => ({ prefix, kind: 'p2pkh' as const })),
  ...scriptHash.map((prefix) => ({ prefix, kind: 'p2sh' as const })),
];

const FORMS: Readonly<Record<UtxoChainId, readonly Form[]>> = {
  BTC: [...forms(['1'], ['3']), ...segwit('bc')],
  LTC: [...forms(['L'], ['M', '3']), ...segwit('ltc')],
  DOGE: forms(['D'], ['9', 'A']),
  DASH: forms(['X'], ['7']),
  ZEC: forms(['t1'], ['t3']),
  BCH: forms(['bitcoincash:q'], ['bitcoincash:p']),
  BSV: forms(['1'], ['3']),
};

/** Returns null if the text has no known form. A public key alone (P2PK) is shown as the address of its hash. */
export function scriptFormOf(chain: ChainId, address: string): ScriptKind | null {
  for (const { prefix, length, kind } of (FORMS as Readonly<Partial<Record<ChainId, readonly Form[]>>>)[
    chain
  ] ?? []) {
    if (address.startsWith(prefix) && (length === undefined || address.length === length)) return kind;
  }
  return null;
}
