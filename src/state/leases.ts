/**
 * Leases: they decide which node runs work that only one node may run at a time, for example following a chain. Writes under a lease carry
 * its fencing token, so a former holder that does not know that it lost the lease cannot write. The embedded implementation serves a single
 * process; leases-redis.ts serves many nodes. (file-lease.ts has the leases of files on one machine.)
 */
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { sleep } from '../base/retry.ts';
import type { Fence } from './live-store.ts';

export interface HeldLease {
  readonly name: string;
  /** Fencing token that writes under this lease carry; null if no other process could write. */
  readonly fence: Fence | null;
  /** Aborted before the lease can have expired, by this node's own clock, or when another node is found to hold it. */
  readonly lost: AbortSignal;
  /** The last holder, if it was another node; null if it is not known. */
  readonly previous: { readonly holder: string; readonly wasReleased: boolean } | null;
  /** Returns true if the lease is held now, by the clock: after a process was stopped for a while, it must not rely on its timers. */
  isHeld(): boolean;
  /** Releases the lease, so that another node may take it at once. Never rejects: if the release fails, the lease expires. */
  release(): Promise<void>;
}

/** A lease of the installation, as this node last read it. */
export interface LeaseState {
  readonly name: string;
  /** Null if no node holds it. */
  readonly holder: string | null;
  /** True if this node holds it. */
  readonly isHere: boolean;
  /** When its last holder took it: ms since the epoch, by the clock of Redis. */
  readonly sinceMs: number;
}

/** The interface of leases. Every implementation passes test/conformance/leases.ts. */
export interface Leases {
  /** Returns all leases that were ever taken, as of the last `look`; empty on a standalone machine. */
  states(): readonly LeaseState[];
  /** Reads the states of the leases of these stores. Rejects with NOT_READY. */
  look(stores: readonly string[]): Promise<void>;
  /**
   * Takes the lease `name` of a store. Returns null if it is held, by this node or another. Rejects with NOT_READY if Redis is unavailable.
   */
  take(store: string, name: string): Promise<HeldLease | null>;
}

const NEVER = new AbortController().signal;

/** Creates leases within one process: each is held until it is released. */
export function createEmbeddedLeases(): Leases {
  const held = new Set<string>();
  return {
    states: () => [],
    look: async () => {},
    async take(store, name) {
      const place = `${store} ${name}`;
      if (held.has(place)) return null;
      held.add(place);
      let isHeld = true;
      return {
        name,
        fence: null,
        previous: null,
        lost: NEVER,
        isHeld: () => isHeld,
        async release() {
          if (!isHeld) return;
          isHeld = false;
          held.delete(place);
        },
      };
    },
  };
}

export interface LeasedWork {
  readonly store: string;
  readonly name: string;
  /** Must end soon after `signal` is aborted: the lease was lost, or the work is no longer wanted. When it ends, the lease is released. */
  readonly work: (lease: HeldLease, signal: AbortSignal) => Promise<void>;
  /**
   * Why this node cannot do the work at the moment, as a sentence; null if it can. Called before the lease is requested, so that a node
   * that cannot do the work leaves it to another node. Default: always null.
   */
  readonly obstacle?: () => Promise<string | null>;
}

/** Polling interval of a node that waits for a lease: together with the life of a lease it is the time of a take-over. */
const ASK_MS = 500;
const TAKEN_OVER = 'lease taken over';

/**
 * Runs the work whenever its lease can be taken, until `signal` is aborted and the work has ended. If the work rejects, the error is logged
 * and the work starts again. Never rejects.
 */
export async function underLease(
  leased: LeasedWork,
  signal: AbortSignal,
  { leases, log }: { readonly leases: Leases; readonly log: Logger },
): Promise<void> {
  const { store, name, work, obstacle = async () => null } = leased;
  let wasLost = false;
  let reported: string | null = null;
  while (!signal.aborted) {
    let lease: HeldLease | null = null;
    try {
      const reason = await obstacle();
      if (reason !== reported) {
        if (reason === null) log.info({ lease: name }, 'lease can be taken again');
        else log.error({ lease: name, reason }, 'lease left to other nodes');
        reported = reason;
      }
      if (reason !== null) {
        await sleep(ASK_MS, signal);
        continue;
      }
      lease = await leases.take(store, name);
      const from = lease?.previous ?? null;
      if (from !== null)
        log[from.wasReleased ? 'info' : 'warn']({ lease: name, from: from.holder }, TAKEN_OVER);
      else if (lease !== null && wasLost) log.info({ lease: name }, 'lease held again');
      wasLost = false;
      if (lease !== null) await work(lease, AbortSignal.any([signal, lease.lost]));
    } catch (error) {
      if (!signal.aborted && !wasLost)
        log.warn({ lease: name, error: messageOf(error) }, 'work under lease interrupted');
      wasLost = true;
    }
    await lease?.release();
    if (!signal.aborted) await sleep(ASK_MS, signal);
  }
}
