/** Reads the list of known Bitcoin mining pools: a JSON array of pools with their payout addresses and coinbase tags. */
import { AssayError, messageOf } from '../../base/errors.ts';
import { SOURCE_LIMITS } from '../limits.ts';
import { openText, partName } from '../open.ts';
import type { AttributedAddress, Reject, SourceReader } from '../records.ts';

const PAGE = 'https://github.com/mempool/mining-pools';

/** Yields the header, then the payout addresses. Throws INVALID_FILE if a file is not a JSON array or is too large. */
export const poolsReader: SourceReader = async function* (files) {
  yield { type: 'header', lists: [], publishedAt: null, layout: 'MINING_POOLS' };
  for (const path of files) {
    const file = partName(path);
    const pools = await readArray(path, file);
    for (const [index, pool] of pools.entries()) yield* readPool(file, index + 1, pool);
  }
};

async function readArray(path: string, file: string): Promise<readonly unknown[]> {
  const refuse = (why: string, cause?: unknown): never => {
    throw new AssayError('INVALID_FILE', `${file}: ${why}`, { field: 'file', cause });
  };
  let text = '';
  for await (const chunk of openText(path)) {
    text += chunk;
    if (text.length > SOURCE_LIMITS.poolsFileBytesMax) {
      refuse(`is larger than ${SOURCE_LIMITS.poolsFileBytesMax.toLocaleString('en')} characters.`);
    }
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return refuse(`is not JSON (${messageOf(error)}).`, error);
  }
  return Array.isArray(value) ? value : refuse('must be a JSON array of pools.');
}

/** `line` is the number of the pool, because lines have no meaning in JSON. */
function* readPool(file: string, line: number, pool: unknown): Generator<AttributedAddress | Reject> {
  const provenance = { file, line };
  const reject = (reason: string): Reject => ({
    type: 'reject',
    reason,
    text: (JSON.stringify(pool) ?? '').slice(0, 500),
    provenance,
  });
  if (typeof pool !== 'object' || pool === null) {
    yield reject('The pool is not an object.');
    return;
  }
  const { name, addresses, tags, link } = pool as Record<string, unknown>;
  if (typeof name !== 'string' || name.trim() === '') {
    yield reject('name: is required.');
    return;
  }
  if (!Array.isArray(addresses)) {
    yield reject('addresses: must be an array.');
    return;
  }
  for (const address of addresses) {
    if (typeof address !== 'string' || address.trim() === '') {
      yield reject('addresses: must contain only texts.');
      continue;
    }
    yield {
      type: 'address',
      address: address.trim(),
      currency: 'BTC',
      actorId: null,
      actorName: name.trim(),
      concepts: ['mining_pool'],
      tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string' && tag !== '') : [],
      confidence: null,
      jurisdiction: null,
      url: typeof link === 'string' && link !== '' ? link : null,
      firstSeen: null,
      lastSeen: null,
      isContract: null,
      verified: true,
      sourceUrl: PAGE,
      provenance,
    };
  }
}
