/** All chains and their properties, collected from the chain families. */
import { AssayError } from '../base/errors.ts';
import type { ChainRow } from './chain.ts';
import { ALGORAND_CHAINS } from './families/algorand/chains.ts';
import { CARDANO_CHAINS } from './families/cardano/chains.ts';
import { COSMOS_CHAINS } from './families/cosmos/chains.ts';
import { EVM_CHAINS } from './families/evm/chains.ts';
import { MONERO_CHAINS } from './families/monero/chains.ts';
import { POLKADOT_CHAINS } from './families/polkadot/chains.ts';
import { SOLANA_CHAINS } from './families/solana/chains.ts';
import { STELLAR_CHAINS } from './families/stellar/chains.ts';
import { TEZOS_CHAINS } from './families/tezos/chains.ts';
import { TON_CHAINS } from './families/ton/chains.ts';
import { TRON_CHAINS } from './families/tron/chains.ts';
import { UTXO_CHAINS } from './families/utxo/chains.ts';
import { XRPL_CHAINS } from './families/xrp/chains.ts';

/** The order is the order of lists in answers and documentation. */
export const CHAINS = [
  ...EVM_CHAINS,
  ...UTXO_CHAINS,
  ...SOLANA_CHAINS,
  ...TRON_CHAINS,
  ...XRPL_CHAINS,
  ...STELLAR_CHAINS,
  ...CARDANO_CHAINS,
  ...POLKADOT_CHAINS,
  ...TON_CHAINS,
  ...MONERO_CHAINS,
  ...COSMOS_CHAINS,
  ...ALGORAND_CHAINS,
  ...TEZOS_CHAINS,
] as const satisfies readonly ChainRow[];

export type ChainId = (typeof CHAINS)[number]['id'];
export type ChainFamily = (typeof CHAINS)[number]['family'];

export interface Chain extends ChainRow {
  readonly id: ChainId;
  readonly family: ChainFamily;
}

const byId = new Map<string, Chain>(CHAINS.map((chain) => [chain.id, chain]));

/** Returns the properties of a chain. */
export function chainOf(id: ChainId): Chain {
  return byId.get(id) as Chain;
}

/**
 * Parses a chain id in any letter case.
 *
 * @throws UNKNOWN_CHAIN with the name of `field`
 */
export function parseChainId(text: string, field = 'chain'): ChainId {
  const chain = byId.get(text) ?? byId.get(text.toUpperCase());
  if (chain) return chain.id;
  const shown = text.length > 32 ? `${text.slice(0, 32)}…` : text;
  throw new AssayError(
    'UNKNOWN_CHAIN',
    `${field}: must be one of ${CHAINS.map((row) => row.id).join(', ')} (got "${shown}").`,
    { field },
  );
}

/** Returns whether a chain belongs to the EVM family. */
export const isEvm = (id: ChainId): boolean => chainOf(id).family === 'evm';
