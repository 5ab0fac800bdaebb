/**
 * Follows a chain, for every chain family: delivers one block after the other and checks that each names the one before it as its
 * parent. If it does not, `follow` goes back to the block that both branches share. It waits for nodes that fail, and does not mistake
 * a lagging node for a reorg.
 */
import { type Clock, isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Block } from '../block.ts';
import { CHAIN_LIMITS } from '../limits.ts';
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

export interface FollowDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
  readonly jitter: () => number;
}

/** Temporary faults: following continues after a delay. */
const TEMPORARY: ReadonlySet<string> = new Set([
  'CHAIN_UNREACHABLE',
  'CHAIN_TIMEOUT',
  'CHAIN_BAD_ANSWER',
  'CHAIN_MISMATCH',
  'CHAIN_REFUSED',
]);
/** Longest delay between two attempts on a failing chain. */
const FAULT_WAIT_MS_MAX = 30_000;

/** Follows a chain until `call.signal` aborts. See `ChainAdapter.subscribe`. */
export async function* follow(
  source: FollowSource,
  options: FollowOptions,
  from: FollowFrom,
  call: Call,
  deps: FollowDeps,
): AsyncGenerator<ChainEvent, void, undefined> {
  yield* new Follower(source, options, from, call, deps).events();
}

class Follower {
  readonly #source: FollowSource;
  readonly #options: FollowOptions;
  readonly #clock: FollowDeps['clock'];
  readonly #log: Logger;
  readonly #jitter: () => number;
  readonly #signal: AbortSignal;
  readonly #call: Call;
  /** The newest delivered blocks, oldest first. */
  readonly #delivered: BlockRef[];
  /** Prefetched blocks, by height. Their errors are handled when their turn comes. */
  readonly #ahead = new Map<number, Promise<BlockAnswer>>();
  /** Height of the next block to deliver; null until the first head is known. */
  #nextHeight: number | null;
  /** Height up to which the chain has blocks as far as is known; -1 if the head must be requested. */
  #headHeight = -1;
  /** Height that a nudge announced; -1 if none did since the last step. */
  #announcedHeight = -1;
  #isNudged = false;
  #wake: () => void = () => {};
  /** Number of consecutive temporary faults. */
  #faults = 0;
  /** Whether the chain was read since the start or the last fault. */
  #isRead = false;
  readonly #onFault: (fault: AssayError | null) => void;
  readonly #onHead: (height: number) => void;
  /** Null if the blocks before the first known one are not needed, or were read. */
  #onEarlier: FollowFrom['onEarlier'] | null;

  constructor(source: FollowSource, options: FollowOptions, from: FollowFrom, call: Call, deps: FollowDeps) {
    this.#source = source;
    this.#options = options;
    this.#clock = deps.clock;
    this.#log = deps.log;
    this.#jitter = deps.jitter;
    this.#signal = AbortSignal.any([call.signal, options.closed]);
    this.#call = { signal: this.#signal, budgetMs: call.budgetMs };
    this.#onFault = from.onFault ?? (() => {});
    this.#onHead = from.onHead ?? (() => {});
    this.#onEarlier = from.known.length === 1 ? (from.onEarlier ?? null) : null;
    this.#delivered = from.known.slice(-CHAIN_LIMITS.reorgBlocksMax);
    this.#nextHeight = from.fromHeight;
    const newest = this.#delivered.at(-1);
    if (newest !== undefined && from.fromHeight !== newest.height + 1)
      throw new AssayError(
        'INVALID_REQUEST',
        `fromHeight: must be ${newest.height + 1}, the height after the last known block (got ${from.fromHeight}).`,
      );
  }

  async *events(): AsyncGenerator<ChainEvent, void, undefined> {
    const endNudges = this.#options.onNudge?.((height = -1) => {
      this.#announcedHeight = height;
      this.#isNudged = true;
      this.#wake();
    });
    try {
      while (!this.#signal.aborted) {
        const event = await this.#step();
        if (event !== null) yield event;
      }
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    } finally {
      endNudges?.();
    }
  }

  /** Takes one step; after a temporary fault it waits instead. Returns null if there is nothing to deliver. */
  async #step(): Promise<ChainEvent | null> {
    try {
      return await this.#advance();
    } catch (error) {
      this.#ahead.clear();
      this.#headHeight = -1;
      await this.#waitAfter(error);
      return null;
    }
  }

  async #advance(): Promise<ChainEvent | null> {
    const { pollMs } = this.#options;
    // Fetch an announced block at once; its parent hash shows whether it is the next.
    if (this.#headHeight < this.#announcedHeight) {
      this.#headHeight = this.#announcedHeight;
      this.#onHead(this.#headHeight);
    }
    this.#announcedHeight = -1;
    await this.#readEarlier();
    if (this.#nextHeight === null || this.#headHeight < this.#nextHeight) {
      const head = await this.#source.head(this.#call);
      this.#headHeight = head.height;
      this.#onHead(head.height);
      this.#nextHeight ??= head.height;
      if (this.#isOnOtherBranch(head)) {
        const event = await this.#revert(head.height);
        this.#recovered();
        this.#headHeight = -1;
        if (event === null) await this.#pause(Math.min(pollMs, 250));
        return event;
      }
      if (head.height < this.#nextHeight) {
        this.#recovered();
        await this.#pause(pollMs);
        return null;
      }
    }
    const { block, completeness } = await this.#fetchBlock(this.#nextHeight);
    if (block !== null) this.#checkTime(block);
    this.#recovered();
    if (block === null) {
      // The node that returned the head is ahead of this one.
      this.#ahead.clear();
      this.#headHeight = -1;
      await this.#pause(Math.min(pollMs, 100));
      return null;
    }
    if (!this.#continuesChain(block)) {
      const event = await this.#revert(block.height - 1);
      // The branch changed between two responses: try again after a short delay.
      if (event === null) await this.#pause(Math.min(pollMs, 250));
      this.#headHeight = -1;
      return event;
    }
    this.#delivered.push({ height: block.height, hash: block.hash });
    if (this.#delivered.length > CHAIN_LIMITS.reorgBlocksMax) this.#delivered.shift();
    this.#nextHeight = block.height + 1;
    return { type: 'block', block, completeness };
  }

  /**
   * Reads the hashes of the blocks before the only known one. Without effect if a node lags or does not have them, or if the chain has reverted
   * that one already.
   */
  async #readEarlier(): Promise<void> {
    const [first] = this.#delivered;
    const onEarlier = this.#onEarlier;
    if (onEarlier === null || onEarlier === undefined || first === undefined) return;
    const earlier = await this.#earlierThan(first);
    this.#onEarlier = null;
    if (earlier === null) return;
    await onEarlier(earlier);
    this.#delivered.unshift(...earlier);
  }

  async #earlierThan(first: BlockRef): Promise<readonly BlockRef[] | null> {
    const count = Math.min(CHAIN_LIMITS.earlierBlocks, first.height);
    const heights = Array.from({ length: count }, (_, index) => first.height - count + index);
    const earlier: BlockRef[] = [];
    try {
      for (const height of heights) {
        const hash = await this.#source.hashAt(height, this.#call);
        if (hash === null) return null;
        earlier.push({ height, hash });
      }
      // Read last: if the block is still on the chain, those before it were, too.
      return (await this.#source.hashAt(first.height, this.#call)) === first.hash ? earlier : null;
    } catch (error) {
      // A node that began at a snapshot may not have them. Other faults are those of the chain itself, and it is tried again.
      if (error instanceof AssayError && error.code === 'CHAIN_REFUSED') return null;
      throw error;
    }
  }

  /**
   * Returns whether a head that is not above the newest delivered block proves a reorg: its hash differs from that of the block delivered
   * at its height. Otherwise the node lags.
   */
  #isOnOtherBranch(head: BlockRef): boolean {
    const tip = this.#delivered.at(-1);
    const own = this.#delivered.find(({ height }) => height === head.height);
    return tip !== undefined && head.height <= tip.height && own !== undefined && own.hash !== head.hash;
  }

  #continuesChain(block: Block): boolean {
    const tip = this.#delivered.at(-1);
    return tip === undefined || block.parentHash === null || block.parentHash === tip.hash;
  }

  /** @throws CHAIN_BAD_ANSWER for a block that the chain cannot have yet, or if the clock of this machine is wrong */
  #checkTime({ chain, height, timestampMs }: Block): void {
    const nowMs = this.#clock.now();
    if (timestampMs <= nowMs + CHAIN_LIMITS.blockAheadMsMax) return;
    throw new AssayError(
      'CHAIN_BAD_ANSWER',
      `Block ${height} of ${chain} is of ${isoTime(timestampMs)}, and the clock of this machine says ${isoTime(nowMs)}: one of them is wrong.`,
    );
  }

  #fetchBlock(height: number): Promise<BlockAnswer> {
    const last = Math.min(this.#headHeight, height + CHAIN_LIMITS.followAheadBlocks - 1);
    for (let wanted = height; wanted <= last; wanted++) {
      if (this.#ahead.has(wanted)) continue;
      const answer = this.#source.block(wanted, this.#call);
      answer.catch(() => {});
      this.#ahead.set(wanted, answer);
    }
    const answer = this.#ahead.get(height) ?? this.#source.block(height, this.#call);
    this.#ahead.delete(height);
    return answer;
  }

  /**
   * Walks down to the newest delivered block that is still on the chain, and drops the blocks above it. Returns null if all of them are, or
   * if a node that lags answered: it has no block at a height that the new branch has, and would make the reorg look deeper than it is.
   *
   * @param branchHeight - the new branch has blocks up to this height
   * @throws CHAIN_REORG_TOO_DEEP if none of the remembered blocks is
   */
  async #revert(branchHeight: number): Promise<ChainEvent | null> {
    this.#ahead.clear();
    const dropped: BlockRef[] = [];
    let keep = this.#delivered.length;
    while (keep > 0) {
      const ref = this.#delivered[keep - 1] as BlockRef;
      const hash = await this.#source.hashAt(ref.height, this.#call);
      if (hash === ref.hash) break;
      if (hash === null && ref.height <= branchHeight) return null;
      dropped.push(ref);
      keep--;
    }
    const lowest = dropped.at(-1)?.height;
    if (lowest === undefined) return null;
    const ancestor = this.#delivered[keep - 1] ?? null;
    // All remembered blocks were reverted, and they do not reach the start of the chain: the common ancestor is deeper.
    if (ancestor === null && lowest > 0 && dropped.length >= CHAIN_LIMITS.reorgBlocksMax)
      throw new AssayError(
        'CHAIN_REORG_TOO_DEEP',
        `${this.#options.chain}: more than ${CHAIN_LIMITS.reorgBlocksMax} blocks were reverted, down to ${lowest}; an operator must decide how to continue.`,
      );
    this.#delivered.length = keep;
    this.#nextHeight = ancestor === null ? lowest : ancestor.height + 1;
    return { type: 'reorg', ancestor, dropped };
  }

  /** Waits `ms`, or until the next nudge. Removes its listener from the signal, which may live as long as the program. */
  async #pause(ms: number): Promise<void> {
    this.#signal.throwIfAborted();
    if (!this.#isNudged)
      await new Promise<void>((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          this.#signal.removeEventListener('abort', done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        this.#signal.addEventListener('abort', done, { once: true });
        this.#wake = done;
      });
    this.#isNudged = false;
    this.#signal.throwIfAborted();
  }

  /** Waits after a temporary fault, longer each time; throws any other error. */
  async #waitAfter(error: unknown): Promise<void> {
    const { chain, retryMs = 250 } = this.#options;
    this.#signal.throwIfAborted();
    if (!(error instanceof AssayError) || !TEMPORARY.has(error.code)) throw error;
    if (this.#faults === 0) {
      this.#log.warn({ chain, error: error.message }, 'chain unavailable, following paused');
      this.#onFault(error);
    }
    this.#isRead = false;
    const waitMs = Math.min(FAULT_WAIT_MS_MAX, retryMs * 2 ** Math.min(this.#faults, 10));
    this.#faults++;
    await this.#pause(waitMs * (0.75 + this.#jitter() / 2));
  }

  #recovered(): void {
    if (this.#faults > 0) this.#log.info({ chain: this.#options.chain }, 'following resumed');
    this.#faults = 0;
    if (!this.#isRead) this.#onFault(null);
    this.#isRead = true;
  }
}
