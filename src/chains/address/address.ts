/** The types that all address codecs share: the parsed address, its binary key, and the error with its reason. */
import { AssayError } from '../../base/errors.ts';
import type { ChainId } from '../registry.ts';

/**
 * The identity of an address in every index: chain byte (`keyByte` of the registry, shared by all EVM chains), kind byte, payload. Two
 * texts of the same account have the same key; keys of different chains are never equal.
 */
export type AddressKey = Uint8Array;

export interface ParsedAddress {
  readonly chain: ChainId;
  /** The only text in which this address is stored and compared (EVM: EIP-55). */
  readonly canonical: string;
  /** The chain's own name of the format, e.g. `p2pkh`, `taproot`, `reward`, `account`. */
  readonly kind: string;
  readonly key: AddressKey;
  /** Destination tag, memo id or payment id in the text in addition to the account; null if the text has none. */
  readonly memo: string | null;
}

export type AddressFault =
  | 'checksum'
  | 'length'
  | 'prefix'
  | 'characters'
  | 'network'
  | 'chain'
  | 'version'
  | 'form';

/** A text that is not an address of the chain; `fault` is the reason. */
export class AddressError extends AssayError {
  readonly fault: AddressFault;

  constructor(fault: AddressFault, message: string, field = 'address') {
    super('INVALID_ADDRESS', message, { field });
    this.name = 'AddressError';
    this.fault = fault;
  }
}
