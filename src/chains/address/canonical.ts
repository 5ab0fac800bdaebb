/** Determines which address texts are already canonical, so that bulk jobs need not format them again. */
import { FAMILIES } from '../families/index.ts';
import type { ChainId } from '../registry.ts';
import type { AddressCodec } from './codec.ts';

const ASCII = 128;
/** For the first character of a canonical text. Otherwise a table has the second character that makes it one to format again, or 0. */
const ALWAYS = 1;
const CODECS: readonly Readonly<Record<string, AddressCodec>>[] = FAMILIES.map(({ codecs }) => codecs);
const tables: ReadonlyMap<string, Uint8Array> = new Map(
  CODECS.flatMap((codecs) =>
    Object.entries(codecs).map(([id, { canonicalFirst = '', notCanonical = '' }]) => {
      const table = new Uint8Array(ASCII);
      for (const character of canonicalFirst) table[character.charCodeAt(0)] = ALWAYS;
      if (notCanonical !== '') table[notCanonical.charCodeAt(0)] = notCanonical.charCodeAt(1);
      return [id, table] as const;
    }),
  ),
);

/**
 * Returns whether a valid address text of the chain is already canonical.
 *
 * @param firstCode - ASCII code of the first character
 * @param secondCode - that of the second one
 */
export function isCanonicalAsGiven(chain: ChainId, firstCode: number, secondCode: number): boolean {
  const found = (tables.get(chain) as Uint8Array)[firstCode] as number;
  return found === ALWAYS || (found > ALWAYS && found !== secondCode);
}
