/** Determines which address texts are already canonical, so that bulk jobs need not format them again. */
import { FAMILIES } from '../families/index.ts';
import type { ChainId } from '../registry.ts';
import type { AddressCodec } from './codec.ts';

const ASCII = 128;
const CODECS: readonly Readonly<Record<string, AddressCodec>>[] = FAMILIES.map(({ codecs }) => codecs);
const tables: ReadonlyMap<string, Uint8Array> = new Map(
  CODECS.flatMap((codecs) =>
    Object.entries(codecs).map(([id, { canonicalFirst = '' }]) => {
      const table = new Uint8Array(ASCII);
      for (const character of canonicalFirst) table[character.charCodeAt(0)] = 1;
      return [id, table] as const;
    }),
  ),
);

/**
 * Returns whether a valid address text of the chain is already canonical.
 *
 * @param firstCode - ASCII code of the first character
 */
export function isCanonicalAsGiven(chain: ChainId, firstCode: number): boolean {
  return (tables.get(chain) as Uint8Array)[firstCode] === 1;
}
