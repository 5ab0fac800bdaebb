/**
 * Looks up the decimals of assets if their transfers do not include them: requests each asset once, caches the result, and leaves it
 * unknown on failure.
 */
import { AssayError } from '../../base/errors.ts';
import type { ChainId } from '../registry.ts';
import { chainOf } from '../registry.ts';
import type { Transfer } from '../transfer.ts';
import type { Call } from './port.ts';

/** Maximum number of cached assets: 150 bytes each. */
const KEPT_MAX = 10_000;
/** Maximum number of assets to request for one result, and in parallel; the others are requested for later results. */
const ASKED_MAX = 32;
const AT_ONCE = 8;
/** Share of the remaining budget of a call: an amount without decimals is better than no result. */
const SHARE = 0.25;

export interface AssetDecimals {
  /** Returns the same transfers with all decimals that are known now. Rejects only if the caller aborts or on a program error. */
  fill(transfers: readonly Transfer[], call: Call): Promise<readonly Transfer[]>;
}

/**
 * Wraps a reader of the metadata of an asset so that invalid data means "unknown": the issuer of the asset chose that data, so it must
 * not count as a failure of the endpoint.
 */
export const orUnknown =
  <A>(read: (json: A) => number | null) =>
  (json: A): number | null => {
    try {
      return read(json);
    } catch (error) {
      if (error instanceof AssayError) return null;
      throw error;
    }
  };

/** Creates the cache; `ask` returns null if the source does not know the decimals either. */
export function createAssetDecimals(
  chain: ChainId,
  ask: (asset: string, call: Call) => Promise<number | null>,
): AssetDecimals {
  const { symbol } = chainOf(chain);
  const known = new Map<string, number | null>();

  async function learn(asset: string, call: Call): Promise<void> {
    try {
      const decimals = await ask(asset, call);
      const [oldest] = known.keys();
      if (known.size >= KEPT_MAX && oldest !== undefined) known.delete(oldest);
      known.set(asset, decimals);
    } catch (error) {
      call.signal.throwIfAborted();
      // Not cached: the next result that needs the asset requests it again.
      if (!(error instanceof AssayError)) throw error;
    }
  }

  return {
    async fill(transfers, call) {
      const isOpen = ({ asset, decimals }: Transfer): boolean => decimals === null && asset !== symbol;
      const wanted = [
        ...new Set(transfers.filter((row) => isOpen(row) && !known.has(row.asset)).map(({ asset }) => asset)),
      ].slice(0, ASKED_MAX);
      const part: Call = { signal: call.signal, budgetMs: call.budgetMs * SHARE };
      for (let at = 0; at < wanted.length; at += AT_ONCE)
        await Promise.all(wanted.slice(at, at + AT_ONCE).map((asset) => learn(asset, part)));
      return transfers.map((row) => (isOpen(row) ? { ...row, decimals: known.get(row.asset) ?? null } : row));
    },
  };
}
