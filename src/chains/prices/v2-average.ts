/**
 * The average price of a pool with the interface of Uniswap v2 (also SushiSwap, PancakeSwap v2 and other forks). Such a pool
 * accumulates its price over time and keeps only the latest sum (Uniswap v2 whitepaper, section 2.2). An average needs the sums at two
 * blocks, so the node must have the state of the earlier one. A node without it gives no price; the current ratio of the reserves is
 * never used as one.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { BlockHeader } from '../families/port.ts';
import type { ChainId } from '../registry.ts';
import type { ContractCalls } from './contract-calls.ts';
import { blockAt } from './past-blocks.ts';
import { keepNewest, type Pool, type PoolAverage, type ReadAverage, TWAP_SECONDS } from './pool-average.ts';

export interface V2AverageDeps {
  readonly calls: ContractCalls;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The storage of a pair. Sums are UQ112x112 times seconds, modulo 2^256. */
export interface PairState {
  readonly reserve0: bigint;
  readonly reserve1: bigint;
  /** Seconds, modulo 2^32. */
  readonly updatedAt: bigint;
  readonly sum0: bigint;
  readonly sum1: bigint;
}

/** Fractional bits of UQ112x112. */
const Q = 112n;
/**
 * Maximum age of a node's newest block: an older one means that the node is still syncing. Every listed chain has at least one block
 * per minute.
 */
const STALE_MS = 600_000;
/**
 * Number of moments within the window, in addition to its ends, at which the reserves must exceed the floor: a quarter, a half and
 * three quarters. The sums do not reflect liquidity, which can be withdrawn to make a move cheap and added back later.
 */
const CHECKS_WITHIN = 3;
/**
 * Maximum ratio of the average price to the inverse of the average inverse price. Both are equal if the price did not move; a doubling
 * in the middle of the window gives 1.125, a 40-fold price for one block of 12 seconds 1.25. Above this limit the average is
 * meaningless.
 */
const MEANS_RATIO_MAX = 1.25;
/** Time after which a node without past states is asked again: its operator may have replaced it. */
const NO_STATE_PAUSE_MS = 600_000;

/**
 * Extrapolates the sums of a pair to the time of a block, like `UniswapV2OracleLibrary.currentCumulativePrices`: a pair itself updates
 * them only when its reserves change.
 *
 * @param seconds - time of the block
 * @returns the sums of token1 per token0 and of token0 per token1; null if a reserve is empty
 */
export function cumulativePricesAt(state: PairState, seconds: bigint): readonly [bigint, bigint] | null {
  const { reserve0, reserve1, updatedAt, sum0, sum1 } = state;
  if (reserve0 === 0n || reserve1 === 0n) return null;
  const elapsed = BigInt.asUintN(32, seconds - updatedAt);
  return [
    BigInt.asUintN(256, sum0 + ((reserve1 << Q) / reserve0) * elapsed),
    BigInt.asUintN(256, sum1 + ((reserve0 << Q) / reserve1) * elapsed),
  ];
}

/** Returns the average between two values of a sum. The liquidity floor leaves it at least 36 significant bits. */
const averageOf = (first: bigint, last: bigint, seconds: bigint): number =>
  Number(BigInt.asUintN(256, last - first) / seconds) / 2 ** Number(Q);

const secondsOf = ({ timestampMs }: BlockHeader): bigint => BigInt(Math.floor(timestampMs / 1000));

interface Window {
  readonly start: BlockHeader;
  readonly within: readonly BlockHeader[];
  readonly end: BlockHeader;
}

/** Creates a reader of averages of pools with the interface of Uniswap v2, at past blocks. */
export function createV2Averages({ calls, clock, log }: V2AverageDeps): ReadAverage {
  const windows = new Map<string, Promise<Window | null>>();
  const pausedUntil = new Map<ChainId, number>();

  async function findWindow(chain: ChainId, atMs: number, signal?: AbortSignal): Promise<Window | null> {
    const newest = await calls.header(chain, 'newest', signal);
    const end = newest && (await blockAt(calls, chain, atMs, newest, signal));
    if (!end || atMs - end.timestampMs > STALE_MS) return null;
    const start = await blockAt(calls, chain, end.timestampMs - TWAP_SECONDS * 1000, end, signal);
    if (start === null) return null;
    const blocks = end.height - start.height;
    const within: BlockHeader[] = [];
    for (let part = 1; part <= CHECKS_WITHIN; part++) {
      const height = start.height + Math.round((blocks * part) / (CHECKS_WITHIN + 1));
      const header = await calls.header(chain, height, signal);
      if (header === null) return null;
      within.push(header);
    }
    return { start, within, end };
  }

  /** Finds the window of a moment. Tokens of one block are priced together and share the search. */
  function windowAt(chain: ChainId, atMs: number, signal?: AbortSignal): Promise<Window | null> {
    const key = `${chain} ${atMs}`;
    const known = windows.get(key);
    if (known !== undefined) return known;
    const found = findWindow(chain, atMs, signal);
    found.then(
      (window) => window === null && windows.delete(key),
      () => windows.delete(key),
    );
    return keepNewest(windows, key, found);
  }

  async function read(
    chain: ChainId,
    pair: string,
    signature: string,
    returns: readonly string[],
    block: BlockHeader,
    signal?: AbortSignal,
  ): Promise<readonly bigint[] | null> {
    return (await calls.call(chain, pair, signature, [], returns, signal, block.hash)) as
      | readonly bigint[]
      | null;
  }

  const reservesAt = (chain: ChainId, pair: string, block: BlockHeader, signal?: AbortSignal) =>
    read(chain, pair, 'getReserves()', ['uint112', 'uint112', 'uint32'], block, signal);

  async function stateAt(
    chain: ChainId,
    pair: string,
    block: BlockHeader,
    signal?: AbortSignal,
  ): Promise<PairState | null> {
    const reserves = await reservesAt(chain, pair, block, signal);
    if (reserves === null) return null;
    const first = await read(chain, pair, 'price0CumulativeLast()', ['uint256'], block, signal);
    const second = await read(chain, pair, 'price1CumulativeLast()', ['uint256'], block, signal);
    if (first === null || second === null) return null;
    const [reserve0, reserve1, updatedAt] = reserves as [bigint, bigint, bigint];
    return { reserve0, reserve1, updatedAt, sum0: first[0] as bigint, sum1: second[0] as bigint };
  }

  async function averageWithin(
    { chain, address: pair, isToken0 }: Pool,
    { start, within, end }: Window,
    signal?: AbortSignal,
  ): Promise<PoolAverage | null> {
    // Read the oldest state first: if the node lacks a state, it is this one.
    const before = await stateAt(chain, pair, start, signal);
    const after = before && (await stateAt(chain, pair, end, signal));
    if (before === null || after === null) return null;
    const sumsBefore = cumulativePricesAt(before, secondsOf(start));
    const sumsAfter = cumulativePricesAt(after, secondsOf(end));
    if (sumsBefore === null || sumsAfter === null) return null;
    const seconds = secondsOf(end) - secondsOf(start);
    const average0 = averageOf(sumsBefore[0], sumsAfter[0], seconds);
    const average1 = averageOf(sumsBefore[1], sumsAfter[1], seconds);
    if (!(average0 * average1 <= MEANS_RATIO_MAX)) return null;
    const reserves = [
      [before.reserve0, before.reserve1],
      [after.reserve0, after.reserve1],
    ];
    for (const block of within) {
      const found = await reservesAt(chain, pair, block, signal);
      if (found === null) return null;
      reserves.push([found[0] as bigint, found[1] as bigint]);
    }
    const depth = Math.min(...reserves.map((pairs) => Number(pairs[isToken0 ? 1 : 0])));
    return { price: isToken0 ? average0 : average1, depth };
  }

  return async (pool, atMs, signal) => {
    const { chain } = pool;
    if ((pausedUntil.get(chain) ?? Number.NEGATIVE_INFINITY) > clock.monotonic()) return null;
    const window = await windowAt(chain, atMs, signal);
    if (window === null) return null;
    try {
      return await averageWithin(pool, window, signal);
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'CHAIN_REFUSED') throw error;
      windows.delete(`${chain} ${atMs}`);
      pausedUntil.set(chain, clock.monotonic() + NO_STATE_PAUSE_MS);
      log.warn({ chain, reason: missingState(chain, window.start, error) }, 'no price from Uniswap v2 pools');
      return null;
    }
  };
}

const missingState = (chain: ChainId, { height }: BlockHeader, { message }: AssayError): string =>
  `The node of ${chain} does not have the state of block ${height}, which an average of half an hour needs. Name a node in ` +
  `ASSAY_RPC_${chain} that keeps the states of the last 90 minutes (an archive node, or a longer history of states). ${message}`;
