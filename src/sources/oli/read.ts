/**
 * Reads labels of the Open Labels Initiative in its two layouts, CSV or JSON: wide (one row per contract, tags as columns) and long (one
 * row per attested tag, with the attester). The trust table turns an attester into a confidence; labels of attesters that it does not
 * name are rejected. Wide files name no attester: their confidence is that of the source.
 */
import { readCsv, rejectRow } from '../csv.ts';
import {
  attributed,
  dateIn,
  documentsOf,
  isMap,
  type JsonMap,
  parseDocument,
  rejectDocument,
  textIn,
} from '../documents.ts';
import { layoutError } from '../layout-error.ts';
import { openText, partName } from '../open.ts';
import type { AttributedAddress, Reject, SourceReader } from '../records.ts';
import { parseTrust, SHIPPED_TRUST, type TrustTable, trustTable } from './trust.ts';

/** Usage categories of the initiative, as words of data/categories.json; others say nothing of the kind. */
const WORDS: Readonly<Record<string, string>> = {
  trading: 'defi',
  cex: 'cex',
  dex: 'dex',
  lending: 'lending',
  derivative: 'derivatives',
  staking: 'staking',
  index: 'index',
  insurance: 'defi',
  custody: 'custodian',
  yield_vaults: 'yield_farming',
  nft_fi: 'nft_marketplace',
  nft_marketplace: 'nft_marketplace',
  non_fungible_tokens: 'token',
  fungible_tokens: 'token',
  stablecoin: 'token',
  gambling: 'gambling',
  prediction_markets: 'gambling',
  governance: 'dao',
  oracle: 'oracle',
  privacy: 'privacy',
  payments: 'payment_processor',
  donation: 'donation',
  cybercrime: 'malicious',
  bridge: 'bridge',
  cc_communication: 'bridge',
  settlement: 'bridge',
};

interface Row {
  readonly fields: JsonMap;
  readonly file: string;
  readonly line: number;
}

/** The tags of one address, gathered from the rows of a long file. */
interface Gathered {
  readonly address: string;
  readonly chain: string;
  readonly tags: Map<string, { readonly value: string; readonly confidence: number }>;
  readonly file: string;
  readonly line: number;
  firstSeen: string | null;
}

const isTrue = (value: unknown): boolean => value === true || String(value).toLowerCase() === 'true';

function recordOf(
  row: Pick<Row, 'file' | 'line'>,
  address: string,
  chain: string,
  tag: (id: string) => string | null,
  confidence: string | null,
): AttributedAddress | string {
  const project = tag('owner_project');
  const name = project ?? tag('contract_name') ?? tag('erc20.name') ?? tag('name');
  const usage = tag('usage_category');
  if (name === null && usage === null) return 'The row has no owner, name or usage category.';
  const isContract = tag('is_eoa') === 'true' ? false : tag('is_contract') === 'false' ? null : true;
  const word = usage === null ? undefined : WORDS[usage];
  return attributed({
    address,
    currency: chain,
    actorId: project,
    actorName: name ?? (usage as string),
    concepts: [...(word === undefined ? [] : [word]), ...(isContract === true ? ['smart_contract'] : [])],
    tags: [...new Set([tag('contract_name'), usage, tag('erc20.symbol')])].flatMap((one) => one ?? []),
    confidence,
    firstSeen: dateIn(tag('deployment_date')),
    isContract,
    sourceUrl: 'https://www.openlabelsinitiative.org/',
    provenance: { file: row.file, line: row.line },
  });
}

function readWide({ fields, file, line }: Row): AttributedAddress | Reject {
  const address = textIn(fields.address);
  const chain = textIn(fields.chain_id);
  const text = JSON.stringify(fields);
  if (address === null || chain === null)
    return rejectDocument(file, text, 'address or chain_id: is missing.', line);
  const tag = (id: string): string | null => {
    const value = fields[id];
    return typeof value === 'boolean' ? String(value) : textIn(value);
  };
  const read = recordOf({ file, line }, address, chain, tag, null);
  return typeof read === 'string' ? rejectDocument(file, text, read, line) : read;
}

/** Adds the tag of a row of a long file to its address; returns the reason if it does not count. */
function gather({ fields, file, line }: Row, trust: TrustTable, all: Map<string, Gathered>): string | null {
  const address = textIn(fields.address);
  const chain = textIn(fields.chain_id);
  const id = textIn(fields.tag_id);
  const value = typeof fields.tag_value === 'boolean' ? String(fields.tag_value) : textIn(fields.tag_value);
  const attester = textIn(fields.attester);
  if (address === null || chain === null || id === null || value === null || attester === null)
    return 'address, chain_id, tag_id, tag_value or attester: is missing.';
  if (isTrue(fields.revoked)) return 'The label is revoked.';
  const confidence = trust.confidence(attester, id, chain);
  if (confidence === null) return `attester: ${attester.slice(0, 42)} is not in the trust table.`;
  const key = `${chain} ${address.toLowerCase()}`;
  let found = all.get(key);
  if (found === undefined) {
    if (all.size >= OLI_ADDRESSES_MAX) return `More than ${OLI_ADDRESSES_MAX} addresses in one file.`;
    found = {
      address,
      chain,
      tags: new Map(),
      file,
      line,
      firstSeen: dateIn(fields.time ?? fields.time_created),
    };
    all.set(key, found);
  }
  const before = found.tags.get(id);
  // Among several attesters of a tag, the one that is trusted most decides.
  if (before === undefined || before.confidence < confidence) found.tags.set(id, { value, confidence });
  return null;
}

/** Addresses of one long file, which are gathered in memory: ten times those of the initiative in 2026, at about 1 KB each. */
const OLI_ADDRESSES_MAX = 1_000_000;

async function* rowsOf(path: string): AsyncGenerator<Row | Reject> {
  let first = '';
  for await (const chunk of openText(path)) {
    first = chunk.trimStart()[0] ?? '';
    if (first !== '') break;
  }
  if (first === '[' || first === '{') {
    for await (const document of documentsOf(path, (name) => /\.json$/.test(name))) {
      const parsed = parseDocument(document);
      if ('reject' in parsed) throw layoutError(document.path, parsed.reject.reason);
      const list = isMap(parsed.value) ? (parsed.value.labels ?? parsed.value.attestations) : parsed.value;
      if (!Array.isArray(list)) throw layoutError(document.path, 'expected a list of labels.');
      for (const [at, one] of list.entries())
        yield isMap(one)
          ? { fields: one, file: document.path, line: at + 1 }
          : rejectDocument(document.path, JSON.stringify(one), 'The label is no object.', at + 1);
    }
    return;
  }
  const file = partName(path);
  let columns: readonly string[] | null = null;
  for await (const row of readCsv(path)) {
    if (row.type === 'fault') yield rejectRow(file, row, row.reason);
    else if (columns === null) columns = row.cells.map((cell) => cell.trim());
    else {
      const { cells, line } = row;
      yield { fields: Object.fromEntries(columns.map((name, at) => [name, cells[at] ?? ''])), file, line };
    }
  }
}

/** Yields the labels, then the header. Files with the ending .yml are trust tables. */
export const oliReader: SourceReader = async function* (files) {
  let trust = trustTable(SHIPPED_TRUST, 'the shipped trust table');
  const tables = files.filter((file) => /\.ya?ml$/.test(file));
  for (const table of tables) {
    let text = '';
    for await (const chunk of openText(table)) text += chunk;
    trust = parseTrust(text, partName(table));
  }
  const all = new Map<string, Gathered>();
  for (const path of files.filter((file) => !tables.includes(file))) {
    for await (const row of rowsOf(path)) {
      if ('type' in row) yield row;
      else if (!('tag_id' in row.fields)) yield readWide(row);
      else {
        const reason = gather(row, trust, all);
        if (reason !== null) yield rejectDocument(row.file, JSON.stringify(row.fields), reason, row.line);
      }
    }
  }
  for (const found of all.values()) {
    const confidences = [...found.tags.values()].map(({ confidence }) => confidence);
    const read = recordOf(
      found,
      found.address,
      found.chain,
      (id) => found.tags.get(id)?.value ?? null,
      String(Math.min(...confidences)),
    );
    yield typeof read === 'string'
      ? rejectDocument(found.file, `${found.chain} ${found.address}`, read, found.line)
      : read;
  }
  yield { type: 'header', lists: [], publishedAt: null, layout: 'OLI' };
};
