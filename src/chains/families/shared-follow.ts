/**
 * Several parts of the program follow the same chain, each from its own position and at its own pace. They share what they read: a block
 * is requested and decoded once, and all followers get the same object. A follower that lags requests its blocks itself until it reaches
 * the others. A follower that asks a second time never gets an answer that it had before: after a reorg or a fault, it wants a new one.
 */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { CHAIN_LIMITS } from '../limits.ts';
import { type FollowOptions, type FollowSource, follow } from './follow.ts';
import type { BlockAnswer, BlockRef, Call, ChainEvent, FollowFrom } from './port.ts';

export interface SharedFollowDeps {
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly log: Logger;
  readonly jitter: () => number;
}

/** One follower. */
class Member {
  /** The greatest height that it has requested; -1 before the first. */
  position = -1;
  /** The greatest height of the chain that it knows. */
  head = -1;
  nudge: ((height?: number) => void) | null = null;
}

/** A request that several followers wait for. It is aborted when none of them waits any more. */
class SharedRequest<T> {
  readonly #stop = new AbortController();
  readonly #answer: Promise<T>;
  readonly #onGone: (shared: SharedRequest<T>) => void;
  #waiting = 0;
  readonly takers = new Set<Member>();

  /**
   * @param onGone - called when its answer must not be given to further followers: it failed or was aborted
   */
  constructor(
    request: (call: Call) => Promise<T>,
    budgetMs: number,
    onGone: (shared: SharedRequest<T>) => void,
  ) {
    this.#onGone = onGone;
    this.#answer = request({ signal: this.#stop.signal, budgetMs });
    this.#answer.catch(() => onGone(this));
  }

  /** Waits for the answer, or until `signal` aborts. */
  take(member: Member, signal: AbortSignal): Promise<T> {
    this.takers.add(member);
    this.#waiting++;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        if (--this.#waiting === 0) {
          this.#onGone(this);
          this.#stop.abort(signal.reason);
        }
        reject(signal.reason as Error);
      };
      const answered = (): void => {
        signal.removeEventListener('abort', leave);
        if (!signal.aborted) this.#waiting--;
      };
      this.#answer.then(resolve, reject).finally(answered);
      if (signal.aborted) leave();
      else signal.addEventListener('abort', leave, { once: true });
    });
  }
}

/** The requests of all followers of one chain. */
class SharedSource {
  readonly #source: FollowSource;
  readonly #pollMs: number;
  readonly #clock: SharedFollowDeps['clock'];
  readonly #members = new Set<Member>();
  /** Blocks that some follower has and another one will need, in the order of their requests. */
  readonly #blocks = new Map<number, SharedRequest<BlockAnswer>>();
  #head: { readonly request: SharedRequest<BlockRef>; readonly atMs: number } | null = null;

  constructor(source: FollowSource, pollMs: number, clock: SharedFollowDeps['clock']) {
    this.#source = source;
    this.#pollMs = pollMs;
    this.#clock = clock;
  }

  join(): Member {
    const member = new Member();
    this.#members.add(member);
    return member;
  }

  leave(member: Member): void {
    this.#members.delete(member);
    if (this.#members.size > 1) return;
    this.#blocks.clear();
    this.#head = null;
  }

  /** Returns the source as one follower uses it. */
  of(member: Member): FollowSource {
    return {
      head: (call) => this.#headFor(member, call),
      block: (height, call) => this.#blockFor(member, height, call),
      hashAt: (height, call) => this.#source.hashAt(height, call),
    };
  }

  /** Requests the head, unless another follower did so since this one asked, within the interval at which both ask. */
  async #headFor(member: Member, call: Call): Promise<BlockRef> {
    const nowMs = this.#clock.monotonic();
    let shared = this.#head;
    if (shared === null || shared.request.takers.has(member) || nowMs - shared.atMs >= this.#pollMs) {
      const request = new SharedRequest(
        (each) => this.#source.head(each),
        call.budgetMs,
        (gone) => {
          if (this.#head?.request === gone) this.#head = null;
        },
      );
      shared = { request, atMs: nowMs };
      if (this.#members.size > 1) this.#head = shared;
    }
    const head = await shared.request.take(member, call.signal);
    member.head = Math.max(member.head, head.height);
    // The others need not wait for their next look.
    for (const other of this.#members)
      if (other.head < head.height) {
        other.head = head.height;
        other.nudge?.(head.height);
      }
    return head;
  }

  async #blockFor(member: Member, height: number, call: Call): Promise<BlockAnswer> {
    // After a reorg, the others will ask again, too.
    const isAgain = height <= member.position;
    member.position = Math.max(member.position, height);
    let shared = this.#blocks.get(height);
    if (shared === undefined || shared.takers.has(member)) {
      shared = new SharedRequest(
        (each) => this.#source.block(height, each),
        call.budgetMs,
        (gone) => this.#forget(height, gone),
      );
      this.#blocks.delete(height);
      this.#blocks.set(height, shared);
      for (const oldest of this.#blocks.keys()) {
        if (this.#blocks.size <= CHAIN_LIMITS.sharedBlocksMax) break;
        this.#blocks.delete(oldest);
      }
    }
    const answer = shared.take(member, call.signal);
    const { takers } = shared;
    const isWanted = [...this.#members].some(
      (other) => !takers.has(other) && (isAgain || other.position < height),
    );
    if (!isWanted) this.#forget(height, shared);
    const taken = await answer;
    // The chain has no such block yet, but may have it when another follower asks.
    if (taken.block === null) this.#forget(height, shared);
    return taken;
  }

  #forget(height: number, shared: SharedRequest<BlockAnswer>): void {
    if (this.#blocks.get(height) === shared) this.#blocks.delete(height);
  }
}

/**
 * Creates the `subscribe` of an adapter, whose followers share their requests. See `ChainAdapter.subscribe`.
 *
 * @param options.pollMs - also the greatest age of a head that one follower takes from another
 */
export function createFollowing(
  source: FollowSource,
  options: FollowOptions,
  deps: SharedFollowDeps,
): (from: FollowFrom, call: Call) => AsyncIterable<ChainEvent> {
  const shared = new SharedSource(source, options.pollMs, deps.clock);
  return async function* (from, call) {
    const member = shared.join();
    const onNudge = (nudge: (height?: number) => void): (() => void) => {
      member.nudge = nudge;
      const end = options.onNudge?.((height) => {
        member.head = Math.max(member.head, height ?? -1);
        nudge(height);
      });
      return () => {
        member.nudge = null;
        end?.();
      };
    };
    try {
      yield* follow(shared.of(member), { ...options, onNudge }, from, call, deps);
    } finally {
      shared.leave(member);
    }
  };
}
