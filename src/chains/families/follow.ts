/**
 * Follows a chain, for every chain family: delivers one block after the other and checks that each names the one before it as its
 * parent. If it does not, `follow` goes back to the block that both branches share. It waits for nodes that fail, and does not mistake
 * a lagging node for a reorg.
 */
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import type { Block } from '../block.ts';
import type { ChainId } from '../registry.ts';
import type { BlockAnswer, BlockRef, Call, ChainEvent, FollowFrom } from './port.ts';

export interface FollowSource {
  head(call: Call): Promise<BlockRef>;
  block(height: number, call: Call): Promise<BlockAnswer>;
  /** Returns the hash of the block at a height; null if the chain has no such block. */
  hashAt(height: number, call: Call): Promise<string | null>;
}

export interface FollowOptions {
  readonly chain: ChainId;
  /** Longest interval between two requests for the head. */
  readonly pollMs: number;
  /** First delay after a failure; it doubles with each further failure. Default 250. */
  readonly retryMs?: number;
  /** Registers a callback for "there may be a new block", with its height if known; returns a function that ends the registration. */
  readonly onNudge?: (nudge: (height?: number) => void) => () => void;
  /** Aborted when the adapter closes; ends following like the caller's signal. */
  readonly closed: AbortSignal;
}

/** Temporary faults: following continues after a delay. */
const PASSING: ReadonlySet<string> = new Set([
  'CHAIN_UNREACHABLE',
  'CHAIN_TIMEOUT',
  'CHAIN_BAD_ANSWER',
  'CHAIN_MISMATCH',
  'CHAIN_REFUSED',
]);
/** Longest delay between two attempts on a failing chain. */
const TROUBLE_WAIT_MS_MAX = 30_000;

/** Follows a chain until `call.signal` aborts. See `ChainAdapter.subscribe`. */
export async function* follow(
  source: FollowSource,
  options: FollowOptions,
  from: FollowFrom,
  caller: Call,
  deps: { readonly log: Logger; readonly jitter: () => number },
): AsyncGenerator<ChainEvent, void, undefined> {
  const { chain, pollMs, onNudge, retryMs = 250 } = options;
  const signal = AbortSignal.any([caller.signal, options.closed]);
  const call: Call = { signal, budgetMs: caller.budgetMs };
  const { log, jitter } = deps;
  /** The newest delivered blocks, oldest first. */
  const taken: BlockRef[] = from.known.slice(-LIMITS.reorgBlocksMax);
  let nextHeight = from.fromHeight;
  const newest = taken.at(-1);
  if (newest !== undefined && nextHeight !== newest.height + 1)
    throw new AssayError(
      'INVALID_REQUEST',
      `Following from ${nextHeight} does not continue block ${newest.height}.`,
    );

  let wake: () => void = () => {};
  let isNudged = false;
  let toldHeight = -1;
  const endNudges = onNudge?.((height = -1) => {
    toldHeight = height;
    isNudged = true;
    wake();
  });

  /** Waits `ms`, or until the next nudge. Removes its listener from the signal, which may live as long as the program. */
  async function pause(ms: number): Promise<void> {
    signal.throwIfAborted();
    if (!isNudged)
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        signal.addEventListener('abort', done, { once: true });
        wake = done;
      });
    isNudged = false;
    signal.throwIfAborted();
  }

  let troubles = 0;
  /** Waits after a temporary fault, longer each time; throws any other error. */
  async function endure(error: unknown): Promise<void> {
    signal.throwIfAborted();
    if (!(error instanceof AssayError) || !PASSING.has(error.code)) throw error;
    if (troubles === 0) log.warn({ chain, error: error.message }, 'following waits for a chain');
    const waitMs = Math.min(TROUBLE_WAIT_MS_MAX, retryMs * 2 ** Math.min(troubles, 10));
    troubles++;
    await pause(waitMs * (0.75 + jitter() / 2));
  }
  function recovered(): void {
    if (troubles > 0) log.info({ chain }, 'following goes on');
    troubles = 0;
  }

  /** Prefetched blocks, by height. Their errors are handled when their turn comes. */
  const ahead = new Map<number, Promise<BlockAnswer>>();
  function fetchBlock(height: number, headHeight: number): Promise<BlockAnswer> {
    const last = Math.min(headHeight, height + LIMITS.followAheadBlocks - 1);
    for (let wanted = height; wanted <= last; wanted++) {
      if (ahead.has(wanted)) continue;
      const answer = source.block(wanted, call);
      answer.catch(() => {});
      ahead.set(wanted, answer);
    }
    const answer = ahead.get(height) ?? source.block(height, call);
    ahead.delete(height);
    return answer;
  }

  /** Walks down to the newest delivered block that is still on the chain, and drops the blocks above it. */
  async function undo(): Promise<ChainEvent | null> {
    ahead.clear();
    const dropped: BlockRef[] = [];
    let keep = taken.length;
    while (keep > 0) {
      const ref = taken[keep - 1] as BlockRef;
      const hash = await source.hashAt(ref.height, call);
      if (hash === ref.hash) break;
      dropped.push(ref);
      keep--;
    }
    if (dropped.length === 0) return null;
    const ancestor = taken[keep - 1] ?? null;
    // All remembered blocks were reverted, and they do not reach the start of the chain: the common ancestor is deeper.
    const isBottomless =
      ancestor === null && (dropped.at(-1)?.height ?? 0) > 0 && dropped.length >= LIMITS.reorgBlocksMax;
    if (isBottomless)
      throw new AssayError(
        'CHAIN_REORG_TOO_DEEP',
        `${chain} left more than ${LIMITS.reorgBlocksMax} blocks, down to ${dropped.at(-1)?.height}: this is no accident, and is left to a person.`,
      );
    taken.length = keep;
    nextHeight = ancestor === null ? (dropped.at(-1)?.height ?? 0) : ancestor.height + 1;
    return { type: 'reorg', ancestor, dropped };
  }

  const follows = (block: Block): boolean => {
    const tip = taken.at(-1);
    return tip === undefined || block.parentHash === null || block.parentHash === tip.hash;
  };

  try {
    let headHeight = -1;
    while (!signal.aborted) {
      try {
        // Fetch an announced block at once; its parent hash shows whether it is the next.
        if (headHeight < toldHeight) headHeight = toldHeight;
        toldHeight = -1;
        if (nextHeight === null || headHeight < nextHeight) {
          const head = await source.head(call);
          headHeight = head.height;
          nextHeight ??= head.height;
          const tip = taken.at(-1);
          // The head is not above the newest delivered block: it is on another branch, or the node lags. A different hash proves the
          // former.
          const own = taken.find(({ height }) => height === head.height);
          if (tip !== undefined && head.height <= tip.height && own !== undefined && own.hash !== head.hash) {
            const event = await undo();
            recovered();
            if (event !== null) yield event;
            headHeight = -1;
            continue;
          }
          if (headHeight < nextHeight) {
            recovered();
            await pause(pollMs);
            continue;
          }
        }
        const { block, completeness } = await fetchBlock(nextHeight, headHeight);
        recovered();
        if (block === null) {
          // The node that returned the head is ahead of this one.
          ahead.clear();
          headHeight = -1;
          await pause(Math.min(pollMs, 100));
          continue;
        }
        if (!follows(block)) {
          const event = await undo();
          if (event !== null) yield event;
          // The branch changed between two responses: try again after a short delay.
          else await pause(Math.min(pollMs, 250));
          headHeight = -1;
          continue;
        }
        taken.push({ height: block.height, hash: block.hash });
        if (taken.length > LIMITS.reorgBlocksMax) taken.shift();
        nextHeight = block.height + 1;
        yield { type: 'block', block, completeness };
      } catch (error) {
        ahead.clear();
        headHeight = -1;
        await endure(error);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    endNudges?.();
  }
}
