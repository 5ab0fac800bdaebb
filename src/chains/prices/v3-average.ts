/** The average price of a Uniswap v3 pool, from its own observations (`observe`, Uniswap v3 whitepaper, section 5). */
import type { Clock } from '../../base/clock.ts';
import type { ContractCalls } from './contract-calls.ts';
import { type ReadAverage, TWAP_SECONDS } from './pool-average.ts';

/** Greatest tick of Uniswap v3. */
const TICK_MAX = 887_272;

/** Creates a reader of Uniswap v3 averages at the newest block; the reader returns null if the pool no longer has the window. */
export function createV3Averages({ calls, clock }: { calls: ContractCalls; clock: Clock }): ReadAverage {
  return async ({ chain, address, isToken0 }, atMs, signal) => {
    const endSecondsAgo = Math.max(0, Math.floor((clock.now() - atMs) / 1000));
    const values = await calls.call(
      chain,
      address,
      'observe(uint32[])',
      [[endSecondsAgo + TWAP_SECONDS, endSecondsAgo]],
      ['int56[]', 'uint160[]'],
      signal,
    );
    if (values === null) return null;
    const [ticks, perLiquidity] = values as [readonly bigint[], readonly bigint[]];
    if (ticks.length !== 2 || perLiquidity.length !== 2) return null;
    const tick = Number((ticks[1] as bigint) - (ticks[0] as bigint)) / TWAP_SECONDS;
    // Both accumulators wrap around, like those of the contract.
    const spent = BigInt.asUintN(160, (perLiquidity[1] as bigint) - (perLiquidity[0] as bigint));
    if (spent === 0n || Math.abs(tick) > TICK_MAX) return null;
    const liquidity = Number((BigInt(TWAP_SECONDS) << 128n) / spent);
    // token1 for one token0.
    const ratio = 1.0001 ** tick;
    const root = Math.sqrt(ratio);
    // The depth is the amount of quote tokens that the harmonic mean of the liquidity equals around the average price.
    return isToken0
      ? { price: ratio, depth: liquidity * root }
      : { price: 1 / ratio, depth: liquidity / root };
  };
}
