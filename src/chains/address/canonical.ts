/** Which texts are canonical as they stand: what spares a bulk job from writing every address anew. */
import { CHAINS, type ChainId } from '../registry.ts';

/**
 * Chains by the first characters of the texts that are canonical as given once their key could be read: base58check and lower-case
 * bech32 write each key in one way only. All other texts (forms of which an account has several) must be written anew.
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

/** Whether a valid address text of the chain that begins with this ASCII code is canonical as given. */
export function isCanonicalAsGiven(chain: ChainId, firstCode: number): boolean {
  return (tables.get(chain) as Uint8Array)[firstCode] === 1;
}
