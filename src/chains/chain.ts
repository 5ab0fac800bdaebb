/** The properties of a chain, as the table of its family gives them. */

export interface ChainRow {
  readonly id: string;
  readonly name: string;
  readonly family: string;
  readonly symbol: string;
  readonly decimals: number;
  /** CAIP-2 chain id. */
  readonly caip2: string;
  /** Block explorer, without a trailing slash. */
  readonly explorerUrl: string;
  /** Whether wallets of this chain can be monitored (specification, "Chain identifiers"). */
  readonly monitored: boolean;
  /** First byte of an address key: one for all EVM chains, one for each other chain. Never reused. */
  readonly keyByte: number;
}

type OfFamily<Family extends string, Rows extends readonly unknown[]> = {
  readonly [Index in keyof Rows]: Rows[Index] & { readonly family: Family };
};

/**
 * Declares the chains of a family.
 *
 * @param family - the name of the family; each row receives it
 */
export function chainsOf<const Family extends string, const Rows extends readonly Omit<ChainRow, 'family'>[]>(
  family: Family,
  rows: Rows,
): OfFamily<Family, Rows> {
  return rows.map((row) => ({ ...row, family })) as unknown as OfFamily<Family, Rows>;
}
