/**
 * The descriptor of a chain family: its chains, their address codecs, the layouts of their endpoints, and the adapter. `index.ts` lists
 * the descriptors; address parsing, validation of the configuration, adapters and documentation are derived from that list.
 */
import type { AddressCodec } from '../address/codec.ts';
import type { ChainRow } from '../chain.ts';
import type { EndpointRole } from '../endpoints/endpoints.ts';
import type { OpenAdapter } from './port.ts';

/** Layouts in the order of the documentation; the first applies to URLs without a `layout+` prefix. */
export type LayoutNames = readonly [string, ...string[]];

interface FamilyParts<Row extends ChainRow> {
  readonly chains: readonly Row[];
  /** Layouts of nodes (`rpc`) and of explorers (`history`). */
  readonly layouts: Readonly<Record<EndpointRole, LayoutNames>>;
  /** Documentation of the layouts in Markdown: versions and limits. */
  readonly layoutsNote?: string;
  /**
   * Imports the module of the adapter at the first use of a chain. A dynamic import, because chain libraries are large and a program uses
   * few of them.
   */
  readonly adapter: () => Promise<{ readonly openAdapter: OpenAdapter }>;
}

export interface Family<Row extends ChainRow = ChainRow> extends FamilyParts<Row> {
  /** By chain id. */
  readonly codecs: Readonly<Record<Row['id'], AddressCodec>>;
}

/**
 * Declares a chain family.
 *
 * @param parts.codec - the codec of all chains of the family, or one per chain if their addresses differ
 */
export function family<const Row extends ChainRow>({
  codec,
  ...parts
}: FamilyParts<Row> & {
  readonly codec: AddressCodec | Readonly<Record<Row['id'], AddressCodec>>;
}): Family<Row> {
  const codecs = isCodec(codec)
    ? (Object.fromEntries(parts.chains.map(({ id }) => [id, codec])) as Record<Row['id'], AddressCodec>)
    : codec;
  return { ...parts, codecs };
}

const isCodec = (codec: AddressCodec | Readonly<Record<string, AddressCodec>>): codec is AddressCodec =>
  typeof codec.write === 'function';

/** Returns the layouts that a family accepts for a role, its own first: adapters distinguish endpoints by layout, not by role. */
export function acceptedLayouts({ layouts }: Family, role: EndpointRole): readonly string[] {
  return [...new Set([...layouts[role], ...layouts.rpc, ...layouts.history])];
}
