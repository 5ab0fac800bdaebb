/**
 * Reads the discoveries of l2beat: `packages/config/src/projects/<project>/[<chain>/]discovered.json` with `entries`, each an address
 * (`eth:0x…`, earlier `0x…`) with a type and a name.
 */
import {
  attributed,
  documentsOf,
  isMap,
  parseDocument,
  rejectDocument,
  type SourceDocument,
  textIn,
} from '../documents.ts';
import type { AttributedAddress, Reject, SourceReader } from '../records.ts';

const DISCOVERY = /(^|\/)(?:projects|discovery)\/(?:_[^/]+\/)?([^/]+)\/(?:([a-z0-9-]+)\/)?discovered\.json$/;

/** Short names of chains in front of an address (EIP-3770, and those of l2beat). */
const SHORT: Readonly<Record<string, string>> = {
  eth: 'eip155:1',
  arb1: 'eip155:42161',
  arbitrum: 'eip155:42161',
  oeth: 'eip155:10',
  op: 'eip155:10',
  optimism: 'eip155:10',
  base: 'eip155:8453',
  linea: 'eip155:59144',
  scr: 'eip155:534352',
  scroll: 'eip155:534352',
  zksync: 'eip155:324',
  zksync2: 'eip155:324',
  matic: 'eip155:137',
  polygonpos: 'eip155:137',
  bnb: 'eip155:56',
  bsc: 'eip155:56',
  avax: 'eip155:43114',
  avalanche: 'eip155:43114',
  gno: 'eip155:100',
  gnosis: 'eip155:100',
  mantle: 'eip155:5000',
  celo: 'eip155:42220',
  ethereum: 'eip155:1',
};

function* readDiscovery(document: SourceDocument): Generator<AttributedAddress | Reject> {
  const parsed = parseDocument(document);
  if ('reject' in parsed) {
    yield parsed.reject;
    return;
  }
  const { value } = parsed;
  const entries = isMap(value) ? value.entries : undefined;
  if (!isMap(value) || !Array.isArray(entries)) {
    yield rejectDocument(document.path, document.text, 'The file has no entries.');
    return;
  }
  const [, , folder = 'project', chainFolder] = DISCOVERY.exec(document.path) ?? [];
  const project = textIn(value.name) ?? folder;
  const here = textIn(value.chain) ?? chainFolder ?? 'ethereum';
  for (const [at, entry] of entries.entries()) {
    const printed = isMap(entry) ? textIn(entry.address) : null;
    const [, short, address] = /^(?:([a-z0-9-]+):)?(0x[0-9a-f]{40})$/i.exec(printed ?? '') ?? [];
    if (!isMap(entry) || address === undefined) {
      yield rejectDocument(
        document.path,
        JSON.stringify(entry).slice(0, 200),
        'address: is not an EVM address.',
        at + 1,
      );
      continue;
    }
    const word = (short ?? here).toLowerCase();
    // An account that a project controls is not itself a bridge.
    const type = textIn(entry.type) ?? 'Contract';
    if (type !== 'Contract') continue;
    const name = textIn(entry.name);
    const role = name ?? '';
    yield attributed({
      address,
      currency: SHORT[word] ?? word,
      actorId: `l2beat:${project.toLowerCase().slice(0, 50)}`,
      actorName: project,
      concepts: /bridge|gateway|portal|escrow|messenger|vault/i.test(role) ? ['bridge'] : ['smart_contract'],
      tags: name === null ? [] : [name],
      isContract: true,
      sourceUrl: 'https://l2beat.com/',
      provenance: { file: document.path, line: at + 1 },
    });
  }
}

/** Yields the contracts of all projects, then the header. */
export const l2beatReader: SourceReader = async function* (files) {
  for (const file of files)
    for await (const document of documentsOf(file, (path) => DISCOVERY.test(path)))
      yield* readDiscovery(document);
  yield { type: 'header', lists: [], publishedAt: null, layout: 'L2BEAT' };
};
