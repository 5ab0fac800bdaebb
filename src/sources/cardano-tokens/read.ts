/**
 * Reads the Cardano token registry: `mappings/<subject>.json` (CIP-26). A subject is a minting policy, the hash of a script in 28 bytes,
 * followed by the name of the asset. The label is on the enterprise address of that script on the main network (CIP-19), which
 * anyone can compute from the subject.
 */
import { bech32 } from '@scure/base';
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

const MAPPING = /(^|\/)mappings\/([0-9a-f]{56,120})\.json$/i;
/** Header byte of an enterprise address of a script on the main network. */
const SCRIPT_ENTERPRISE_MAINNET = 0x71;
const POLICY_HEX = 56;
/** Header, 28 bytes, prefix and checksum: bech32 texts of Cardano exceed the limit of BIP-173. */
const BECH32_CHARS_MAX = 120;

/** Returns the enterprise address of the script of a minting policy. */
function scriptAddress(policy: string): string {
  const bytes = Buffer.concat([Buffer.from([SCRIPT_ENTERPRISE_MAINNET]), Buffer.from(policy, 'hex')]);
  return bech32.encode('addr', bech32.toWords(bytes), BECH32_CHARS_MAX);
}

const fieldValue = (field: unknown): unknown => (isMap(field) ? field.value : undefined);

function readMapping(document: SourceDocument): AttributedAddress | Reject {
  const parsed = parseDocument(document);
  if ('reject' in parsed) return parsed.reject;
  const { value } = parsed;
  const subject = isMap(value) ? textIn(value.subject)?.toLowerCase() : null;
  if (!isMap(value) || subject == null || !/^[0-9a-f]{56,120}$/.test(subject))
    return rejectDocument(document.path, document.text, 'subject: must be 28 to 60 bytes in hex.');
  const name = textIn(fieldValue(value.name)) ?? textIn(fieldValue(value.ticker));
  if (name === null) return rejectDocument(document.path, document.text, 'name: is missing.');
  const policy = subject.slice(0, POLICY_HEX);
  const asset = Buffer.from(subject.slice(POLICY_HEX), 'hex').toString('latin1');
  return attributed({
    address: scriptAddress(policy),
    currency: 'ADA',
    actorId: `cardano-policy:${policy.slice(0, 40)}`,
    actorName: name,
    concepts: ['token'],
    tags: [
      textIn(fieldValue(value.ticker)) ?? '',
      `policy:${policy}`,
      /^[\x21-\x7e]+$/.test(asset) ? `asset:${asset}` : '',
    ].filter((tag) => tag !== ''),
    url: urlIn(fieldValue(value.url)),
    sourceUrl: 'https://github.com/cardano-foundation/cardano-token-registry',
    provenance: { file: document.path, line: 1 },
  });
}

/** Yields the tokens, then the header. */
export const cardanoTokensReader: SourceReader = async function* (files) {
  for (const file of files)
    for await (const document of documentsOf(file, (path) => MAPPING.test(path))) yield readMapping(document);
  yield { type: 'header', lists: [], publishedAt: null, layout: 'CARDANO_TOKENS' };
};
