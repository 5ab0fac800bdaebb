/** Finds the newest block at a moment by the times of block headers. */
import { AssayError } from '../../base/errors.ts';
import type { BlockHeader } from '../families/port.ts';
import type { ChainId } from '../registry.ts';
import type { ContractCalls } from './contract-calls.ts';

/** First step back, which shows the time between blocks. */
const FIRST_STEP = 128;
/**
 * Maximum number of headers per search. A window starts at most 90 minutes ago, which is 22,000 blocks of the fastest chain: 8 steps
 * back, then 15 halvings by every second header. If blocks are evenly spaced, fewer than ten headers are enough.
 */
const HEADERS_MAX = 64;

/**
 * Finds the newest block that is not later than a moment.
 *
 * @param later - a block to search back from, for example the newest one
 * @returns null if the chain is younger
 * @throws SOURCE_UNAVAILABLE if no node answers, or if headers contradict each other
 */
export async function blockAt(
  calls: ContractCalls,
  chain: ChainId,
  atMs: number,
  later: BlockHeader,
  signal?: AbortSignal,
): Promise<BlockHeader | null> {
  if (later.timestampMs <= atMs) return later;
  let above = later;
  let below: BlockHeader | null = null;
  let step = FIRST_STEP;
  for (let tries = 0; tries < HEADERS_MAX; tries++) {
    if (below !== null && above.height - below.height <= 1) return below;
    if (below === null && above.height === 0) return null;
    const height: number =
      below === null ? Math.max(0, above.height - step) : between(below, above, atMs, tries % 2 === 0);
    const found: BlockHeader | null = await calls.header(chain, height, signal);
    if (found === null) break;
    if (found.timestampMs <= atMs) {
      below = found;
      continue;
    }
    above = found;
    const spacingMs = (later.timestampMs - above.timestampMs) / (later.height - above.height);
    const missing = spacingMs > 0 ? Math.ceil((above.timestampMs - atMs) / spacingMs) : 0;
    step = Math.max(2 * step, missing);
  }
  throw new AssayError('SOURCE_UNAVAILABLE', `No block of ${chain} was found for the requested time.`);
}

/** Returns a height strictly between two blocks: the interpolated one, or the middle, which bounds the search if blocks are uneven. */
function between(below: BlockHeader, above: BlockHeader, atMs: number, isMiddle: boolean): number {
  const blocks = above.height - below.height;
  const share = isMiddle ? 0.5 : (atMs - below.timestampMs) / (above.timestampMs - below.timestampMs);
  return below.height + Math.min(blocks - 1, Math.max(1, Math.round(blocks * share)));
}
