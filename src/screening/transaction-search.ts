/** GET /transactions/{hash}: searches a transaction on every chain on which the text can be a hash. */
import { type PooledJson, takeJson } from '../base/buffer-pool.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { type ChainId, parseChainId } from '../chains/registry.ts';
import { hashReadings } from '../chains/transaction-hash.ts';
import { SCREENING_LIMITS } from './limits.ts';
import type { ChainTransactionRequest } from './transaction.ts';
import type { TransactionAnswer, TransactionSearch } from './transaction-answers.ts';

export interface TransactionRequest {
  readonly hash: string;
  /** Only this chain. Default: every chain on which the text can be a hash. */
  readonly chain?: string | undefined;
}

export interface TransactionSearchDeps {
  readonly clock: Pick<Clock, 'now'>;
  /** Searches one chain, on a node that stores it, and returns the JSON text of a TransactionSearch. */
  search(request: ChainTransactionRequest): Promise<PooledJson>;
}

const decoder = new TextDecoder();

/** A store that cannot be read must not hide what the other chains have. */
const UNREADABLE: readonly string[] = ['STORE_VERSION', 'STORE_CORRUPT'];

/** Returns the result of a chain; `UNAVAILABLE` if no node that stores it can answer now, or if its store cannot be read. */
async function searchChain(
  request: ChainTransactionRequest,
  isOnly: boolean,
  { search }: TransactionSearchDeps,
): Promise<TransactionSearch> {
  try {
    return JSON.parse(decoder.decode(takeJson(await search(request)))) as TransactionSearch;
  } catch (error) {
    if (!(error instanceof AssayError)) throw error;
    if (error.code !== 'NOT_READY' && (isOnly || !UNREADABLE.includes(error.code))) throw error;
    return { chain: parseChainId(request.chain), status: 'UNAVAILABLE', transaction: null };
  }
}

/**
 * Creates the search of transactions. It asks the chains one after the other, because it is free and must not fill the queue of the pool.
 *
 * @returns a function that throws INVALID_REQUEST if the text is not a transaction hash, or not one of the given chain; UNKNOWN_CHAIN;
 * OVERLOADED if `transactionSearchesMax` searches run
 */
export function createTransactionSearch(
  deps: TransactionSearchDeps,
): (request: TransactionRequest) => Promise<TransactionAnswer> {
  let running = 0;

  async function search(
    hash: string,
    chains: readonly ChainId[],
    isOnly: boolean,
  ): Promise<TransactionAnswer> {
    const results: TransactionSearch[] = [];
    for (const chain of chains) results.push(await searchChain({ chain, hash }, isOnly, deps));
    return {
      hash,
      transactions: results.flatMap(({ transaction }) => (transaction === null ? [] : [transaction])),
      searched: results.filter(isSearched).map((one) => one.chain),
      notSearched: results.flatMap(({ chain, status }) =>
        status === 'FOUND' || status === 'NOT_FOUND' ? [] : [{ chain, reason: status }],
      ),
      searchedAt: isoTime(deps.clock.now()),
    };
  }

  return async ({ hash: text, chain }) => {
    const hash = text.trim();
    const only = chain === undefined ? null : parseChainId(chain);
    const chains = hashReadings(hash)
      .map((reading) => reading.chain)
      .filter((id) => only === null || id === only);
    if (chains.length === 0)
      throw new AssayError(
        'INVALID_REQUEST',
        `hash: must be a transaction hash${only === null ? '' : ` of ${only}`}, such as 64 hexadecimal digits or, on SOL, 88 characters of base 58.`,
        { field: 'hash' },
      );
    if (running >= SCREENING_LIMITS.transactionSearchesMax)
      throw new AssayError('OVERLOADED', 'Too many transactions are being searched.', {
        retryAfterSeconds: 1,
      });
    running++;
    try {
      return await search(hash, chains, only !== null);
    } finally {
      running--;
    }
  };
}

const isSearched = ({ status }: TransactionSearch): boolean => status === 'FOUND' || status === 'NOT_FOUND';
