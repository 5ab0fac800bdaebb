/** Reads ton-labels: one JSON file for each label, `assets/<category>/<label>.json`, with its addresses. */
import {
  attributed,
  dateIn,
  documentsOf,
  isMap,
  parseDocument,
  rejectDocument,
  type SourceDocument,
  textIn,
  urlIn,
} from '../documents.ts';
import type { AttributedAddress, Reject, SourceReader } from '../records.ts';

const PAGE = 'https://github.com/ton-studio/ton-labels';

/** Categories and subcategories of the publisher, as words of data/categories.json. */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  cex: ['cex'],
  dex: ['dex'],
  bridge: ['bridge'],
  lending: ['lending'],
  'liquid-staking': ['staking'],
  defi: ['defi'],
  validator: ['validator'],
  scammer: ['scam'],
  wallet: ['wallet_app'],
  merchant: ['merchant_services'],
  infrastructure: ['infrastructure_as_a_service'],
  gambling: ['gambling'],
  onchain_marketplace: ['nft_marketplace'],
  offchain_marketplace: ['nft_marketplace'],
  gaming: ['dapp'],
};

const isAsset = (path: string): boolean => /(^|\/)assets\/[^/]+\/[^/]+\.json$/.test(path);

function* readLabel(document: SourceDocument): Generator<AttributedAddress | Reject> {
  const parsed = parseDocument(document);
  if ('reject' in parsed) {
    yield parsed.reject;
    return;
  }
  const { value } = parsed;
  const metadata = isMap(value) ? value.metadata : undefined;
  if (!isMap(value) || !isMap(metadata) || !Array.isArray(value.addresses)) {
    yield rejectDocument(document.path, document.text, 'The file has no metadata or no addresses.');
    return;
  }
  const name = textIn(metadata.organization) ?? textIn(metadata.label);
  const category = textIn(metadata.category)?.toLowerCase() ?? '';
  const subcategory = textIn(metadata.subcategory)?.toLowerCase() ?? '';
  for (const [at, one] of value.addresses.entries()) {
    const address = isMap(one) ? textIn(one.address) : null;
    if (!isMap(one) || address === null || name === null) {
      yield rejectDocument(
        document.path,
        JSON.stringify(one),
        'address: is missing, or the label has no name.',
        at + 1,
      );
      continue;
    }
    const tags = Array.isArray(one.tags) ? one.tags.flatMap((tag) => textIn(tag) ?? []) : [];
    const comment = textIn(one.comment);
    yield attributed({
      address,
      currency: 'TON',
      actorName: name,
      concepts: [
        ...(WORDS[subcategory] ?? []),
        ...(WORDS[category] ?? []),
        ...(tags.includes('nft') ? ['collectible'] : []),
      ],
      tags: [category, subcategory, ...tags, comment ?? ''].filter((tag) => tag !== ''),
      url: urlIn(metadata.website),
      firstSeen: dateIn(one.submissionTimestamp),
      sourceUrl: urlIn(one.source) ?? PAGE,
      provenance: { file: document.path, line: at + 1 },
    });
  }
}

/** Yields the addresses of all labels, then the header. */
export const tonLabelsReader: SourceReader = async function* (files) {
  for (const file of files)
    for await (const document of documentsOf(file, isAsset)) yield* readLabel(document);
  yield { type: 'header', lists: [], publishedAt: null, layout: 'TON_LABELS' };
};
