/** Validates a Transfer record before it is stored. */
import { AssayError } from '../base/errors.ts';
import { CHAIN_LIMITS } from '../chains/limits.ts';
import type { Transfer } from '../chains/transfer.ts';
import { GRAPH_LIMITS } from './limits.ts';

/** Amounts are below this. */
const AMOUNT_END = 1n << 256n;

const invalid = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_REQUEST', `transfer.${field} must be ${expected}.`, { field });

/**
 * Validates a transfer, except its addresses, which the codecs validate.
 *
 * @throws INVALID_REQUEST with the name of the invalid field
 */
export function checkTransfer(transfer: Transfer): void {
  const { txHash, position, amount, valueUsd, blockNumber, timestampMs } = transfer;
  if (txHash === '' || Buffer.byteLength(txHash) > GRAPH_LIMITS.txHashTextMax)
    throw invalid('txHash', `1 to ${GRAPH_LIMITS.txHashTextMax} bytes of text`);
  if (position === '' || Buffer.byteLength(position) > CHAIN_LIMITS.transferPositionTextMax)
    throw invalid('position', `1 to ${CHAIN_LIMITS.transferPositionTextMax} bytes of text`);
  if (amount < 0n || amount >= AMOUNT_END) throw invalid('amount', 'from 0 to 2^256 - 1');
  if (valueUsd !== null && !(valueUsd >= 0 && valueUsd <= 1e12))
    throw invalid('valueUsd', 'from 0 to 1e12, or null');
  if (!Number.isSafeInteger(blockNumber) || blockNumber < 0)
    throw invalid('blockNumber', 'a whole number, 0 or more');
  if (!Number.isSafeInteger(timestampMs) || timestampMs < 0)
    throw invalid('timestampMs', 'whole milliseconds since the epoch, 0 or more');
  if (transfer.from === null && transfer.to === null) throw invalid('from', 'known where `to` is not');
}
