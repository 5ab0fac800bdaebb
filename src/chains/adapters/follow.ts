/**
 * Following a chain, the same for every family: blocks one after the other, each naming the one before as its parent; where it does
 * not, back to the block that both branches share. Waits for nodes that fail, and never takes a lagging node for a reorg.
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
  /** Hash of the block at a height; null where there is none. */
  hashAt(height: number, call: Call): Promise<string | null>;
}

export interface FollowOptions {
  readonly chain: ChainId;
  /** Longest wait between two looks at the head. */
  readonly pollMs: number;
  /** First wait after a fault; doubled with each further one. Default 250. */
  readonly retryMs?: number;
  /** Registers a callback for "there may be a new block now", with its height where it is said; returns the way to end it. */
  readonly onNudge?: (nudge: (height?: number) => void) => () => void;
  /** Aborted when the adapter closes: ends following as the caller's signal does. */
  readonly closed: AbortSignal;
}

/** Faults that time may heal: following goes on after a wait. */
const PASSING: ReadonlySet<string> = new Set([
  'CHAIN_UNREACHABLE',
  'CHAIN_TIMEOUT',
  'CHAIN_BAD_ANSWER',
  'CHAIN_MISMATCH',
  'CHAIN_REFUSED',
]);
/** Looks at a failing chain come at most this far apart. */
const TROUBLE_WAIT_MS_MAX = 30_000;

/** Follows a chain until `call.signal` ends it. See `ChainAdapter.subscribe`. */
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
  /** The newest blocks that were delivered, oldest first. */
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

  /** Until the next look: `ms`, or less where somebody nudges. Leaves nothing on the signal, which may live as long as the program. */
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
  /** Waits out a passing fault, longer each time; throws any other. */
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

  /** Blocks asked for ahead of their turn, by height. Their errors are met when their turn comes. */
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

  /** Walks down to the newest delivered block that the chain still has, and forgets those above. */
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
    // Everything that is remembered is gone, and it was not the beginning: the common ancestor lies deeper.
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
        // A block that was announced is fetched at once; whether it is the next is seen by its parent.
        if (headHeight < toldHeight) headHeight = toldHeight;
        toldHeight = -1;
        if (nextHeight === null || headHeight < nextHeight) {
          const head = await source.head(call);
          headHeight = head.height;
          nextHeight ??= head.height;
          const tip = taken.at(-1);
          // A head below or beside what was delivered: another branch, or a node that lags. Only another hash tells.
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
          // The head was told by a node that is ahead of this one.
          ahead.clear();
          headHeight = -1;
          await pause(Math.min(pollMs, 100));
          continue;
        }
        if (!follows(block)) {
          const event = await undo();
          if (event !== null) yield event;
          // The branch changed between two answers: looked at again, not in a hurry.
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
