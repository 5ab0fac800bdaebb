/**
 * The trust table of the Open Labels Initiative: how much a label of an attester is believed. The shipped table has the attesters of
 * the initiative's own template; an operator adds a file of the same layout (`*.yml`) to an import, which replaces it.
 */
import { isMap, type JsonMap, textIn } from '../documents.ts';
import { parseYaml } from '../graphsense/pack.ts';
import { layoutError } from '../layout-error.ts';

/** A row of the table: all labels of an attester, or those with a tag or on a chain. */
interface TrustRow {
  readonly tag: string;
  readonly chain: string;
  readonly confidence: number;
}

export interface TrustTable {
  /** Returns the confidence in an attester's label, 0 to 1; null if the table does not name the attester. */
  confidence(attester: string, tag: string, chain: string): number | null;
}

const ANY = '*';

/** Attesters of trust_table_template.yml of the initiative, read on 2026-11-26. */
export const SHIPPED_TRUST: readonly JsonMap[] = [
  { address: '0xA725646c05e6Bb813d98C5aBB4E72DF4bcF00B56', confidence: '0.8' },
  {
    address: '0xE7d1405C20A23a8e8f9F1BD572d1320c479233EE',
    filters: [
      { tag_id: 'is_paymaster', confidence: '0.7' },
      { tag_id: 'paymaster_category', confidence: '0.7' },
      { tag_id: 'is_bundler', confidence: '0.7' },
      { tag_id: ANY, confidence: '0.4' },
    ],
  },
  {
    address: '0x10dBAc4d35f4aD47E85f70c74e4449c632EC4047',
    filters: [{ tag_id: 'contract_name', chain_id: 'eip155:48900', confidence: '0.25' }],
  },
];

/**
 * Parses a trust table.
 *
 * @param file - name of the file, for errors
 * @throws INVALID_FILE naming the faulty attester
 */
export function parseTrust(text: string, file: string): TrustTable {
  const value = parseYaml(text);
  const attesters = isMap(value) ? value.attesters : undefined;
  if (!Array.isArray(attesters)) throw layoutError(file, "expected a list 'attesters'.");
  return trustTable(attesters.filter(isMap), file);
}

/** Creates a table from its rows. Throws INVALID_FILE naming the faulty attester. */
export function trustTable(attesters: readonly JsonMap[], file: string): TrustTable {
  const rows = new Map<string, TrustRow[]>();
  for (const attester of attesters) {
    const address = textIn(attester.address)?.toLowerCase() ?? '';
    if (!/^0x[0-9a-f]{40}$/.test(address)) throw layoutError(file, `address: '${address}' is no attester.`);
    const filters: readonly JsonMap[] = Array.isArray(attester.filters)
      ? attester.filters.filter(isMap)
      : [{ confidence: attester.confidence }];
    rows.set(
      address,
      filters.map((filter) => {
        const confidence = Number(textIn(filter.confidence) ?? Number.NaN);
        if (!(confidence >= 0 && confidence <= 1))
          throw layoutError(file, `confidence of ${address} must be a number from 0 to 1.`);
        return { tag: textIn(filter.tag_id) ?? ANY, chain: textIn(filter.chain_id) ?? ANY, confidence };
      }),
    );
  }
  return {
    confidence(attester, tag, chain) {
      const found = (rows.get(attester.toLowerCase()) ?? []).filter(
        (row) => (row.tag === ANY || row.tag === tag) && (row.chain === ANY || row.chain === chain),
      );
      // The most specific row decides: tag and chain, then tag, then chain.
      const rank = (row: TrustRow): number => (row.tag === ANY ? 0 : 2) + (row.chain === ANY ? 0 : 1);
      return found.sort((a, b) => rank(b) - rank(a))[0]?.confidence ?? null;
    },
  };
}
