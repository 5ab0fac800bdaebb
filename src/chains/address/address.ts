/** What every address codec yields: the parsed address, its binary key, and the error with the reason. */
import { AssayError } from '../../base/errors.ts';
import type { ChainId } from '../registry.ts';

/**
 * The identity of an address in every index: chain byte (registry `keyByte`, shared by all EVM chains), kind byte, payload.
 * Two texts that mean the same account have the same key; hashes of different chains never meet.
 */
export type AddressKey = Uint8Array;

export interface ParsedAddress {
  readonly chain: ChainId;
  /** The one text that this address is stored and compared by (EVM: EIP-55). */
  readonly canonical: string;
  /** The chain's own name for the form, e.g. `p2pkh`, `taproot`, `reward`, `account`. */
  readonly kind: string;
  readonly key: AddressKey;
  /** Destination tag, memo id or payment id that the text carried beside the account; null where none. */
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

/** A text that is not an address of the chain; `fault` says what is wrong with it. */
export class AddressError extends AssayError {
  readonly fault: AddressFault;

  constructor(fault: AddressFault, message: string, field = 'address') {
    super('INVALID_ADDRESS', message, { field });
    this.name = 'AddressError';
    this.fault = fault;
  }
}
