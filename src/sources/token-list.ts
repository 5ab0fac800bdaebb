/** Reads token lists: the layout of tokenlists.org and that of trustwallet/assets, `{"tokens": [{"address", "name", "symbol", …}]}`. */
import {
  attributed,
  dateIn,
  documentsOf,
  isMap,
  type JsonMap,
  parseDocument,
  rejectDocument,
  textIn,
} from './documents.ts';
import { layoutError } from './layout-error.ts';
import type { SourceReader } from './records.ts';

/** SLIP-44 numbers in the asset ids of trustwallet (`c60_t0x…`) and the chains that they mean. */
const SLIP44: Readonly<Record<string, string>> = {
  c60: 'eip155:1',
  c61: 'ETC',
  c966: 'eip155:137',
  c20000714: 'eip155:56',
  c10009000: 'eip155:43114',
  c10042221: 'eip155:42161',
  c10000070: 'eip155:10',
  c8453: 'eip155:8453',
  c10000250: 'eip155:250',
  c10000025: 'eip155:25',
  c52752: 'eip155:42220',
  c195: 'TRON',
  c501: 'SOL',
  c607: 'TON',
  c148: 'XLM',
  c283: 'ALGO',
};

/** Returns the printed chain of a token; null if it names none. */
function chainOf(token: JsonMap): string | null {
  const id = textIn(token.chainId);
  if (id !== null && /^\d+$/.test(id)) return `eip155:${id}`;
  const asset = textIn(token.asset);
  return asset === null ? null : (SLIP44[asset.split('_')[0] ?? ''] ?? asset.split('_')[0] ?? null);
}

/** Returns a reader of token lists with labels that link to `page`. */
export const tokenListReader = (layout: string, page: string): SourceReader =>
  async function* (files) {
    let newest: string | null = null;
    for (const file of files) {
      for await (const document of documentsOf(file, (path) =>
        /tokenlist[^/]*\.json$|\.tokenlist\.json$/.test(path),
      )) {
        const parsed = parseDocument(document);
        if ('reject' in parsed) throw layoutError(document.path, parsed.reject.reason);
        const tokens = isMap(parsed.value) ? parsed.value.tokens : undefined;
        if (!isMap(parsed.value) || !Array.isArray(tokens))
          throw layoutError(document.path, "expected a list 'tokens'.");
        const date = dateIn(parsed.value.timestamp);
        if (date !== null && (newest === null || date > newest)) newest = date;
        for (const [at, token] of tokens.entries()) {
          const address = isMap(token) ? textIn(token.address) : null;
          const name = isMap(token) ? (textIn(token.name) ?? textIn(token.symbol)) : null;
          const chain = isMap(token) ? chainOf(token) : null;
          if (!isMap(token) || address === null || name === null || chain === null) {
            // A chain's own coin has no address, and is no contract.
            const coin = isMap(token) && (textIn(token.type) ?? '').toLowerCase() === 'coin';
            if (!coin)
              yield rejectDocument(
                document.path,
                JSON.stringify(token),
                'address, name or chain: is missing.',
                at + 1,
              );
            continue;
          }
          yield attributed({
            address,
            currency: chain,
            actorName: name,
            concepts: ['token'],
            tags: [textIn(token.symbol) ?? ''].filter((tag) => tag !== ''),
            isContract: true,
            sourceUrl: page,
            provenance: { file: document.path, line: at + 1 },
          });
        }
      }
    }
    yield { type: 'header', lists: [], publishedAt: newest, layout };
  };
