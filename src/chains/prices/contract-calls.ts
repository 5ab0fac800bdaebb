/** Read-only calls of contracts through the operator's own EVM nodes, with a pause after a node failed. */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { ChainAdapter } from '../adapters/port.ts';
import type { ChainId } from '../registry.ts';

export interface ContractCallsDeps {
  /** Opens the adapter of a chain. */
  readonly adapter: (chain: ChainId) => Promise<Pick<ChainAdapter, 'callContract'>>;
  /** Chains for which the operator named a node; a public node is not trusted with prices. */
  readonly chains: ReadonlySet<ChainId>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ContractCalls {
  readonly chains: ReadonlySet<ChainId>;
  /** Returns false while a node of the chain is left alone after a failure. */
  isReachable(chain: ChainId): boolean;
  /**
   * Calls a function and decodes its result.
   *
   * @param signature - as in `getPool(address,address,uint24)`
   * @param returns - types of the result
   * @returns the decoded values; null if the contract reverts or its answer does not decode
   * @throws SOURCE_UNAVAILABLE if no node answers
   */
  call(
    chain: ChainId,
    to: string,
    signature: string,
    args: readonly unknown[],
    returns: readonly string[],
    signal?: AbortSignal,
  ): Promise<readonly unknown[] | null>;
}

/** One call. A price may delay a transfer, but not hold it up. */
const CALL_MS = 3_000;
/** After a failure the chain's nodes are not asked for prices for this long. */
const PAUSE_MS = 60_000;
/** More bytes than any answer that is read here has; a longer one is not decoded. */
const ANSWER_HEX_MAX = 16_384;

const typesOf = (signature: string): string[] =>
  signature
    .slice(signature.indexOf('(') + 1, -1)
    .split(',')
    .filter((type) => type !== '');

export function createContractCalls({ adapter, chains, clock, log }: ContractCallsDeps): ContractCalls {
  const pausedUntil = new Map<ChainId, number>();
  return {
    chains,
    isReachable: (chain) => (pausedUntil.get(chain) ?? Number.NEGATIVE_INFINITY) <= clock.monotonic(),
    async call(chain, to, signature, args, returns, signal) {
      signal?.throwIfAborted();
      // Imported by the first call: a start without nodes never loads it.
      const { AbiCoder, id } = await import('ethers');
      const coder = AbiCoder.defaultAbiCoder();
      const data = id(signature).slice(0, 10) + coder.encode(typesOf(signature), [...args]).slice(2);
      let found: string | null;
      try {
        const { callContract } = await adapter(chain);
        if (callContract === undefined)
          throw new AssayError('SOURCE_UNAVAILABLE', `${chain} has no contracts that can be called.`);
        found = await callContract(
          { to, data },
          { signal: signal ?? new AbortController().signal, budgetMs: CALL_MS },
        );
      } catch (error) {
        signal?.throwIfAborted();
        pausedUntil.set(chain, clock.monotonic() + PAUSE_MS);
        log.warn({ chain, reason: messageOf(error) }, 'no prices from the node');
        throw error;
      }
      if (found === null || found.length > ANSWER_HEX_MAX) return null;
      try {
        // ethers decodes lazily: toArray raises what does not decode.
        return coder.decode([...returns], found).toArray(true);
      } catch {
        return null;
      }
    },
  };
}
