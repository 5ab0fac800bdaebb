/**
 * Unified addresses of Zcash (ZIP 316) in look-ups. One with a transparent receiver also pays the account of that receiver, and anybody can
 * write one around a listed account: so it has the labels of this account.
 */

import { UTXO_KINDS } from '../../chains/address/utxo.ts';
import { chainOf } from '../../chains/registry.ts';
import { type LabelHandle, type LabelReader, NOT_LABELLED } from './reader.ts';

const ZEC = 'ZEC';
const KEY_BYTE = chainOf(ZEC).keyByte;
const HASH_BYTES = 20;
/** Chain byte, kind byte, type and length of the first receiver. Receivers are in the order of their types, so a transparent one is first. */
const RECEIVER_AT = 4;
/** Kinds of the transparent receivers, by their type. */
const TRANSPARENT_KINDS = [UTXO_KINDS.p2pkh, UTXO_KINDS.p2sh] as const;

/** Returns true if the key is that of a unified address. All of them are longer than the key of an account. */
export const isUnified = (keys: Uint8Array, offset: number, length: number): boolean =>
  length > RECEIVER_AT + HASH_BYTES && keys[offset] === KEY_BYTE && keys[offset + 1] === UTXO_KINDS.unified;

/**
 * Completes the look-up of a unified address.
 *
 * @param own - what was found for the address itself
 * @returns the handle of the transparent receiver, if the address has no labels of its own or the receiver is sanctioned; otherwise `own`
 */
export function withReceiver(
  reader: LabelReader,
  own: LabelHandle,
  keys: Uint8Array,
  offset: number,
): LabelHandle {
  const kind = TRANSPARENT_KINDS[keys[offset + 2] as number];
  if (kind === undefined) return own;
  const receiver = Uint8Array.of(
    KEY_BYTE,
    kind,
    ...keys.subarray(offset + RECEIVER_AT, offset + RECEIVER_AT + HASH_BYTES),
  );
  const found = reader.find(receiver, 0, receiver.length);
  return own === NOT_LABELLED || reader.isSanctioned(found, ZEC) ? found : own;
}

/** Completes the look-ups of all unified addresses of a block. The parameters are those of `LabelReader.findMany`. */
export function withReceivers(
  reader: LabelReader,
  keys: Uint8Array,
  offsets: Int32Array,
  lengths: Int32Array,
  count: number,
  handles: Float64Array,
): void {
  for (let item = 0; item < count; item++) {
    const offset = offsets[item] as number;
    if (isUnified(keys, offset, lengths[item] as number))
      handles[item] = withReceiver(reader, handles[item] as LabelHandle, keys, offset);
  }
}
