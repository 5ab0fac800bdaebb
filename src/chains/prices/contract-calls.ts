/** Read-only contract calls through the operator's own EVM nodes, with a pause after a node fails. */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { BlockHeader, Call, ChainAdapter } from '../families/port.ts';
import type { ChainId } from '../registry.ts';

type EvmCalls = Pick<ChainAdapter, 'callContract' | 'header' | 'head'>;

export interface ContractCallsDeps {
  /** Opens the adapter of a chain. */
  readonly adapter: (chain: ChainId) => Promise<EvmCalls>;
  /** Chains with a node of the operator; public nodes are not trusted for prices. */
  readonly chains: ReadonlySet<ChainId>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface ContractCalls {
  readonly chains: ReadonlySet<ChainId>;
  /** Returns false during the pause after a failure. */
  isReachable(chain: ChainId): boolean;
  /**
   * Calls a function and decodes its result.
   *
   * @param signature - as in `getPool(address,address,uint24)`
   * @param returns - types of the result
   * @param blockHash - the block with the state that the call sees; absent for the newest block
   * @returns the decoded values; null if the contract reverts or its result does not decode
   * @throws SOURCE_UNAVAILABLE if no node answers; CHAIN_REFUSED if no node has the state of `blockHash`
   */
  call(
    chain: ChainId,
    to: string,
    signature: string,
    args: readonly unknown[],
    returns: readonly string[],
    signal?: AbortSignal,
    blockHash?: string,
  ): Promise<readonly unknown[] | null>;
  /**
   * Reads the header of a block.
   *
   * @returns null if the chain has no block of this height
   * @throws SOURCE_UNAVAILABLE if no node answers
   */
  header(chain: ChainId, height: number | 'newest', signal?: AbortSignal): Promise<BlockHeader | null>;
}

/** Budget of one call: a price may delay a transfer only briefly. */
const CALL_MS = 3_000;
/** After a failure, the nodes of the chain are not asked for prices for this long. */
const PAUSE_MS = 60_000;
/** Longer than any result that is read here; a longer one is not decoded. */
const ANSWER_HEX_MAX = 16_384;

const typesOf = (signature: string): string[] =>
  signature
    .slice(signature.indexOf('(') + 1, -1)
    .split(',')
    .filter((type) => type !== '');

/** Creates the calls; it opens no adapter before the first one. */
export function createContractCalls({ adapter, chains, clock, log }: ContractCallsDeps): ContractCalls {
  const pausedUntil = new Map<ChainId, number>();

  /** Asks the nodes of a chain, and pauses the chain after a failure. A node that lacks a past state is not a failure. */
  async function ask<T>(
    chain: ChainId,
    isOfPast: boolean,
    signal: AbortSignal | undefined,
    question: (adapter: EvmCalls, call: Call) => Promise<T> | undefined,
  ): Promise<T> {
    try {
      const call = { signal: signal ?? new AbortController().signal, budgetMs: CALL_MS };
      const response = question(await adapter(chain), call);
      if (response === undefined)
        throw new AssayError('SOURCE_UNAVAILABLE', `${chain} has no contracts that can be called.`);
      return await response;
    } catch (error) {
      signal?.throwIfAborted();
      if (isOfPast && error instanceof AssayError && error.code === 'CHAIN_REFUSED') throw error;
      pausedUntil.set(chain, clock.monotonic() + PAUSE_MS);
      log.warn({ chain, reason: messageOf(error) }, 'no prices from the node');
      throw error;
    }
  }

  return {
    chains,
    isReachable: (chain) => (pausedUntil.get(chain) ?? Number.NEGATIVE_INFINITY) <= clock.monotonic(),
    async call(chain, to, signature, args, returns, signal, blockHash) {
      signal?.throwIfAborted();
      // Imported by the first call, so that a start without nodes never loads it.
      const { AbiCoder, id } = await import('ethers');
      const coder = AbiCoder.defaultAbiCoder();
      const data = id(signature).slice(0, 10) + coder.encode(typesOf(signature), [...args]).slice(2);
      const request = { to, data, ...(blockHash === undefined ? {} : { blockHash }) };
      const isOfPast = blockHash !== undefined;
      const found = await ask(chain, isOfPast, signal, (node, call) => node.callContract?.(request, call));
      if (found === null || found.length > ANSWER_HEX_MAX) return null;
      try {
        // ethers decodes lazily: `toArray` throws if something does not decode.
        return coder.decode([...returns], found).toArray(true);
      } catch {
        return null;
      }
    },
    header(chain, height, signal) {
      return ask(chain, false, signal, (node, call) =>
        height === 'newest' ? newestHeader(node, call) : node.header?.(height, call),
      );
    },
  };
}

async function newestHeader(node: EvmCalls, call: Call): Promise<BlockHeader | null> {
  const { height, hash, timestampMs } = await node.head(call);
  return timestampMs === null ? null : { height, hash, timestampMs };
}
