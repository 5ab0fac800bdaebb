/** Determines which address texts are already canonical, so that bulk jobs need not format them again. */
import { CHAINS, type ChainId } from '../registry.ts';

/**
 * First characters, by chain, of texts that are canonical if their key can be parsed: base58check and lower-case bech32 have exactly
 * one text per key. All other texts (formats with several texts per account) must be formatted again.
 */
const FIRST_CHARACTERS: Readonly<Partial<Record<ChainId, string>>> = {
  BTC: '13b',
  LTC: 'LMl',
  DOGE: 'DA9',
  DASH: 'X7',
  TRON: 'T',
};

const ASCII = 128;
const tables: ReadonlyMap<ChainId, Uint8Array> = new Map(
  CHAINS.map(({ id }) => {
    const table = new Uint8Array(ASCII);
    for (const character of FIRST_CHARACTERS[id] ?? '') table[character.charCodeAt(0)] = 1;
    return [id, table];
  }),
);

/**
 * Returns whether a valid address text of the chain is already canonical.
 *
 * @param firstCode - ASCII code of the first character
 */
export function isCanonicalAsGiven(chain: ChainId, firstCode: number): boolean {
  return (tables.get(chain) as Uint8Array)[firstCode] === 1;
}
