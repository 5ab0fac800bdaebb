/** Decimals of assets whose transfers do not tell them: asked of the source once each, remembered, and left unknown where it fails. */
import { AssayError } from '../../base/errors.ts';
import type { ChainId } from '../registry.ts';
import { chainOf } from '../registry.ts';
import type { Transfer } from '../transfer.ts';
import type { Call } from './port.ts';

/** Assets that are remembered: 150 bytes each. */
const KEPT_MAX = 10_000;
/** Assets asked for one answer, and of those at once: further ones are known with a later answer. */
const ASKED_MAX = 32;
const AT_ONCE = 8;
/** Of what is left of a call: an amount without its decimals is worth more than none at all. */
const SHARE = 0.25;

export interface AssetDecimals {
  /** The same transfers, with the decimals that could be learnt. Rejects only where the caller ends the call, or the program is at fault. */
  fill(transfers: readonly Transfer[], call: Call): Promise<readonly Transfer[]>;
}

/**
 * A reader of an answer about one asset that takes what it does not understand for nothing known: whoever made the asset says what it
 * is, and an endpoint is none the worse for a question that it need not answer.
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

/** `ask` answers null for an asset whose decimals the source does not know either. */
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
      // Asked again with the next answer that needs it.
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
