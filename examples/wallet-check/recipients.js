/** The addresses that a transaction pays or gives rights to. */
import { Interface } from 'ethers';

/** Calls of token contracts, with the argument that is the other party. */
const tokens = new Interface([
  'function transfer(address to, uint256 value)',
  'function transferFrom(address from, address to, uint256 value)',
  'function approve(address to, uint256 value)',
  'function setApprovalForAll(address to, bool approved)',
  'function safeTransferFrom(address from, address to, uint256 id)',
  'function safeTransferFrom(address from, address to, uint256 id, bytes data)',
  'function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)',
]);

/** Returns the recipient in the data of a token call; null if the data is another call. */
function tokenRecipient(transaction) {
  try {
    return tokens.parseTransaction(transaction)?.args.getValue('to') ?? null;
  } catch {
    // The selector is one of these, but the rest is not.
    return null;
  }
}

/**
 * Returns every address of a transaction to check: its `to`, and the recipient or spender of a token call. Recipients inside other calls,
 * such as those of routers and multisignature wallets, are not found.
 *
 * @param {{ to?: string | null, data?: string }} transaction - `to` is an address, not a name
 * @returns {readonly string[]} empty if the transaction creates a contract
 */
export function recipientsOf({ to, data = '0x' }) {
  if (!to) return [];
  const recipient = tokenRecipient({ data });
  return recipient === null || recipient === to ? [to] : [to, recipient];
}
