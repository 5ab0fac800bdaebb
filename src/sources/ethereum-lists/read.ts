/** Reads the repositories of ethereum-lists: `tokens/<chain>/<address>.json` and `contracts/<chain id>/<address>.json`. */
import {
  attributed,
  documentsOf,
  isMap,
  parseDocument,
  rejectDocument,
  type SourceDocument,
  textIn,
  urlIn,
} from '../documents.ts';
import type { AttributedAddress, Reject, SourceReader } from '../records.ts';

const TOKEN = /(^|\/)tokens\/([a-z0-9_-]+)\/([^/]+)\.json$/i;
const CONTRACT = /(^|\/)contracts\/(\d+)\/([^/]+)\.json$/;

/** Folders whose names differ from the words of data/currencies.json; test networks are no chains of money. */
const FOLDERS: Readonly<Record<string, string>> = { zks: 'zksync', avax: 'avax' };
const TEST_NETWORKS: ReadonlySet<string> = new Set(['rin', 'rop', 'kov', 'gor', 'goe', 'sep', 'hol']);

function readToken(document: SourceDocument): AttributedAddress | Reject {
  const parsed = parseDocument(document);
  if ('reject' in parsed) return parsed.reject;
  const { value } = parsed;
  const folder = (TOKEN.exec(document.path)?.[2] ?? 'eth').toLowerCase();
  if (TEST_NETWORKS.has(folder)) return rejectDocument(document.path, '', `'${folder}' is a test network.`);
  const address = isMap(value) ? textIn(value.address) : null;
  const name = isMap(value) ? (textIn(value.name) ?? textIn(value.symbol)) : null;
  if (!isMap(value) || address === null || name === null)
    return rejectDocument(document.path, document.text, 'The token has no address or no name.');
  const symbol = textIn(value.symbol);
  return attributed({
    address,
    currency: FOLDERS[folder] ?? folder,
    actorName: name,
    concepts: ['token'],
    tags: [symbol ?? '', textIn(value.type)?.toLowerCase() ?? ''].filter((tag) => tag !== ''),
    url: urlIn(value.website),
    isContract: true,
    sourceUrl: 'https://github.com/ethereum-lists/tokens',
    provenance: { file: document.path, line: 1 },
  });
}

function readContract(document: SourceDocument): AttributedAddress | Reject {
  const parsed = parseDocument(document);
  if ('reject' in parsed) return parsed.reject;
  const { value } = parsed;
  const [, , chain, address] = CONTRACT.exec(document.path) ?? [];
  const project = isMap(value) ? textIn(value.project) : null;
  const name = isMap(value) ? (textIn(value.name) ?? project) : null;
  if (!isMap(value) || chain === undefined || address === undefined || name === null)
    return rejectDocument(document.path, document.text, 'The contract has no project and no name.');
  const features = Array.isArray(value.features) ? value.features.flatMap((one) => textIn(one) ?? []) : [];
  return attributed({
    address,
    currency: `eip155:${chain}`,
    actorId: project,
    actorName: project ?? name,
    concepts: ['smart_contract'],
    tags: [...(name === project ? [] : [name]), ...features],
    isContract: true,
    sourceUrl: urlIn(value.source) ?? 'https://github.com/ethereum-lists/contracts',
    provenance: { file: document.path, line: 1 },
  });
}

const reader = (
  pattern: RegExp,
  layout: string,
  read: (document: SourceDocument) => AttributedAddress | Reject,
): SourceReader =>
  async function* (files) {
    for (const file of files)
      for await (const document of documentsOf(file, (path) => pattern.test(path))) yield read(document);
    yield { type: 'header', lists: [], publishedAt: null, layout };
  };

export const ethereumTokensReader = reader(TOKEN, 'ETHEREUM_LISTS_TOKENS', readToken);
export const ethereumContractsReader = reader(CONTRACT, 'ETHEREUM_LISTS_CONTRACTS', readContract);
