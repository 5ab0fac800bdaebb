/** The list of chain families. A family is added with its folder, a line here, and a line for its chains in `chains/registry.ts`. */
import type { ChainId } from '../registry.ts';
import { algorand } from './algorand/family.ts';
import { cardano } from './cardano/family.ts';
import { cosmos } from './cosmos/family.ts';
import { evm } from './evm/family.ts';
import { monero } from './monero/family.ts';
import { polkadot } from './polkadot/family.ts';
import { solana } from './solana/family.ts';
import { stellar } from './stellar/family.ts';
import { tezos } from './tezos/family.ts';
import { ton } from './ton/family.ts';
import { tron } from './tron/family.ts';
import { utxo } from './utxo/family.ts';
import { xrpl } from './xrp/family.ts';

export const FAMILIES = [
  evm,
  utxo,
  solana,
  tron,
  xrpl,
  stellar,
  cardano,
  polkadot,
  ton,
  monero,
  cosmos,
  algorand,
  tezos,
] as const;

type ListedId = (typeof FAMILIES)[number]['chains'][number]['id'];
type None<Id extends never> = Id;

/** Does not compile if a chain of the registry has no family in the list, or a family has a chain that is not in the registry. */
export type ListsDiffer = None<Exclude<ChainId, ListedId> | Exclude<ListedId, ChainId>>;
