/**
 * Reads `dataset_10m_ads.csv` of MBAL: `chain,address,categories,entity,source`. `source` is a method, not a publisher. All base58
 * addresses of the file are in lower case, which makes them other addresses or none: they are rejected here with LOWERED_REASON, and
 * the import keeps them apart (src/labels/mbal-import.ts).
 */
import { AssayError } from '../../base/errors.ts';
import { CHAIN_LIMITS } from '../../chains/limits.ts';
import { type CsvRow, readCsv, rejectRow, splitCsvRow } from '../csv.ts';
import { layoutError } from '../layout-error.ts';
import { listParts, openLines, partName, type SourcePart } from '../open.ts';
import type { AttributedAddress, Reject, SourceReader } from '../records.ts';
import { MBAL_CONTRACT_WORDS, MBAL_WORDS } from './words.ts';

/** Columns of the file, in order. */
export const MBAL_COLUMNS = ['chain', 'address', 'categories', 'entity', 'source'] as const;

export const MBAL_LAYOUT = 'MBAL_10M';

/**
 * Value of `chain` in the first row of a generated file (scripts/mbal-layout.ts): all labels of the file are synthetic. No publisher
 * uses it.
 */
export const MBAL_SYNTHETIC = 'synthetic';

/** The five chains of the publisher's description, and the words that other copies of the file use for them. */
const CHAINS: Readonly<Record<string, string>> = {
  bitcoin_mainnet: 'BTC',
  ethereum_mainnet: 'ETH',
  bnb_chain_mainnet: 'BSC',
  binance_smart_chain: 'BSC',
  polygon_mainnet: 'POLYGON',
  polygon: 'POLYGON',
  avalanche_c_chain: 'AVALANCHE',
  avalanche: 'AVALANCHE',
};

/** How a label was made, and the confidence in it: none of the methods names its evidence. */
const METHODS: Readonly<Record<string, string>> = { ground_truth: '0.5', external: '0.4', heuristic: '0.3' };

const PAGE = 'https://www.kaggle.com/datasets/yidongchaintoolai/mbal-10m-crypto-address-label-dataset';

/** The longest entity of the file has below 40 characters, the longest list of categories below 100. */
const CELL_CHARS_MAX = 400;

const LOWERED = /^[13][0-9a-z]{24,38}$/;

/** Why a lower-cased base58 address is not used. */
export const LOWERED_REASON =
  'A base58 address in lower case, which is not the original address. It is kept apart until the original is seen on chain.';

/**
 * Returns whether an address is a Bitcoin address in base58 of which the capitals were lost: it has no capital, and a base58
 * address without any occurs once in 50 million.
 */
export const isLowered = (chain: string, address: string): boolean =>
  chain === 'bitcoin_mainnet' && LOWERED.test(address);

/** The cells of a row except its address. */
export interface MbalRest {
  readonly chain: string;
  readonly categories: string;
  readonly entity: string;
  readonly source: string;
}

/** Splits the cells of `categories,entity,source`; returns the reason if they are not three cells. */
export function restOfMbal(chain: string, tail: string): MbalRest | string {
  const cells = splitCsvRow(tail);
  if (typeof cells === 'string') return 'A quote in the row is not closed, or text follows it.';
  const [categories, entity, source, more] = cells;
  if (categories === undefined || entity === undefined || source === undefined || more !== undefined)
    return `The row has ${cells.length + 2} cells; expected ${MBAL_COLUMNS.length}.`;
  return { chain, categories, entity, source };
}

/** Returns why an address cannot be one of an EVM chain or of Bitcoin; null if its form may be right. */
function faultOfAddress(address: string): string | null {
  if (address === '') return 'address: is empty.';
  if (/[\r\n]/.test(address)) return 'address: contains a line break.';
  if (/[\u200b-\u200f\u2060\ufeff\u00e2]/u.test(address)) return 'address: contains an invisible character.';
  if (address.length > CHAIN_LIMITS.addressTextMax || address.length > 100)
    return `address: has ${address.length} characters, more than any address.`;
  if (!/^[0-9A-Za-z]+$/.test(address)) return 'address: contains characters that no address has.';
  return null;
}

/** Reads one row: the record, or the reason why it has none. */
export function readMbal(
  rest: MbalRest,
  address: string,
  provenance: AttributedAddress['provenance'],
): AttributedAddress | string {
  const chain = CHAINS[rest.chain.trim()];
  if (chain === undefined)
    return rest.chain.trim() === MBAL_SYNTHETIC
      ? 'This file was generated: all of its labels are synthetic.'
      : `chain: must be one of ${Object.keys(CHAINS).join(', ')} (got '${rest.chain.slice(0, 32)}').`;
  const fault = faultOfAddress(address);
  if (fault !== null) return fault;
  if (isLowered(rest.chain.trim(), address)) return LOWERED_REASON;
  return recordOfRest(rest, chain, address, provenance);
}

/** Reads the cells of a row apart from its address, for any address. */
export function recordOfRest(
  rest: MbalRest,
  chain: string,
  address: string,
  provenance: AttributedAddress['provenance'],
): AttributedAddress | string {
  const method = rest.source.trim();
  const confidence = METHODS[method];
  if (confidence === undefined)
    return `source: must be one of ${Object.keys(METHODS).join(', ')} (got '${method.slice(0, 32)}').`;
  if (rest.categories.length > CELL_CHARS_MAX || rest.entity.length > CELL_CHARS_MAX)
    return `The row has a cell of more than ${CELL_CHARS_MAX} characters.`;
  if (/[\r\n]/.test(rest.entity) || /[\r\n]/.test(rest.categories)) return 'A cell contains a line break.';
  const words = rest.categories
    .split(',')
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== '');
  if (words.length === 0) return 'categories: is empty.';
  const entity = rest.entity.trim();
  const concepts = words.flatMap((word) => MBAL_WORDS[word] ?? []);
  return {
    type: 'address',
    address,
    currency: chain,
    // A row without an entity names no owner: all such rows of one kind share an id that is no entity's name.
    actorId: entity === '' ? `mbal:${(words[0] as string).replace(/[^a-z0-9_-]+/g, '-').slice(0, 40)}` : null,
    actorName: entity === '' ? (words[0] as string) : entity,
    concepts,
    tags: [...words, `method:${method}`],
    confidence,
    jurisdiction: null,
    url: null,
    firstSeen: null,
    lastSeen: null,
    isContract: words.some((word) => MBAL_CONTRACT_WORDS.has(word)) ? true : null,
    verified: false,
    sourceUrl: PAGE,
    provenance,
  };
}

/** The id of the chain that a word of the file means; null if it means none. */
export const chainOfMbal = (word: string): string | null => CHAINS[word.trim()] ?? null;

/**
 * Finds the table in a file: the file itself, or the entry of a zip archive that has its header. The archive of the publisher has six
 * files.
 *
 * @throws INVALID_FILE if no part has the header
 */
export async function mbalPart(path: string): Promise<SourcePart> {
  const parts = await listParts(path);
  for (const part of parts) {
    for await (const line of openLines(part)) {
      const cells = splitCsvRow(line.text.replace(/^\uFEFF/, ''));
      const isHeader =
        typeof cells !== 'string' &&
        cells.length === MBAL_COLUMNS.length &&
        MBAL_COLUMNS.every((name, at) => cells[at]?.trim().toLowerCase() === name);
      if (isHeader) return part;
      break;
    }
  }
  throw layoutError(partName(path), `line 1 must be '${MBAL_COLUMNS.join()}'.`);
}

function recordOfRow(file: string, row: CsvRow): AttributedAddress | Reject {
  if (row.cells.length !== MBAL_COLUMNS.length)
    return rejectRow(file, row, `The row has ${row.cells.length} cells; expected ${MBAL_COLUMNS.length}.`);
  const [chain, address, categories, entity, source] = row.cells as [string, string, string, string, string];
  const read = readMbal({ chain, categories, entity, source }, address, { file, line: row.line });
  return typeof read === 'string' ? rejectRow(file, row, read) : read;
}

/** Yields the rows, then the header. */
export const mbalReader: SourceReader = async function* (files) {
  for (const path of files) {
    const part = await mbalPart(path);
    let isHeader = true;
    for await (const row of readCsv(part, { lenient: true })) {
      if (row.type === 'fault') yield rejectRow(part.name, row, row.reason);
      else if (isHeader) isHeader = false;
      else yield recordOfRow(part.name, row);
    }
  }
  if (files.length === 0) throw new AssayError('INVALID_FILE', 'file: no file was given.', { field: 'file' });
  yield { type: 'header', lists: [], publishedAt: '2024-02-08', layout: MBAL_LAYOUT };
};
