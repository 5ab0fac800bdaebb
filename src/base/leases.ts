/**
 * Leases: which of many nodes does what only one may do at a time, following a chain say. What is written under a lease carries its
 * fence, so that a holder who was away and does not know it writes nothing. Embedded, this process is the only one there is; over
 * Redis, see leases-redis.ts. (Who uses a file on this machine is said by file-lease.ts.)
 */
import { messageOf } from './errors.ts';
import type { Fence } from './live-store.ts';
import type { Logger } from './log.ts';

export interface HeldLease {
  readonly name: string;
  /** What writes under this lease carry; null where nobody else could write. */
  readonly fence: Fence | null;
  /** Aborted before the lease can have ended, by this node's own clock, and when it is found to be another's. */
  readonly lost: AbortSignal;
  /** The node that held it last, if that was another one; null if it is not known. */
  readonly previous: { readonly holder: string; readonly wasReleased: boolean } | null;
  /** Whether it is held now, by the clock: a process that was stopped for a while asks before its timers have told it. */
  isHeld(): boolean;
  /** Gives it up, so that another may take it at once. Never rejects: what cannot be given up ends by itself. */
  release(): Promise<void>;
}

/** A lease of the installation, as this node last read it. */
export interface LeaseState {
  readonly name: string;
  /** Null while no node holds it. */
  readonly holder: string | null;
  /** Whether that is this node. */
  readonly isHere: boolean;
  /** When its last holder took it; ms of the epoch, by the clock of Redis. */
  readonly sinceMs: number;
}

/** Every implementation passes test/conformance/leases.ts. */
export interface Leases {
  /** All leases that were ever taken, as of the last look; none on a machine that is alone. */
  states(): readonly LeaseState[];
  /** Reads the states of the leases of these stores. Rejects with NOT_READY. */
  look(stores: readonly string[]): Promise<void>;
  /**
   * Takes the lease `name` of a store; null while it is held, here or elsewhere. Rejects with NOT_READY where nobody can say.
   */
  take(store: string, name: string): Promise<HeldLease | null>;
}

const NEVER = new AbortController().signal;

/** Leases of one process: held until they are given up. */
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
  /** Ends soon after `signal` is aborted: the lease was lost, or the work is not wanted any more. Its end gives the lease up. */
  readonly work: (lease: HeldLease, signal: AbortSignal) => Promise<void>;
  /**
   * Why this node cannot do the work at the moment, in a sentence; null if it can. Called before the lease is asked for, so that a node
   * which cannot do the work leaves it to another. Default: it always can.
   */
  readonly obstacle?: () => Promise<string | null>;
}

/** How often a node that waits for a lease asks for it: with the time a lease lives for, what a take-over takes. */
const ASK_MS = 500;
const TAKEN_OVER = 'This node took a lease over.';

/**
 * Does the work whenever its lease can be had, until `signal` is aborted and the work has ended. What the work rejects with is logged,
 * and the work begins anew. Never rejects.
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
        if (reason === null) log.info({ lease: name }, 'This node can take a lease again.');
        else log.error({ lease: name, reason }, 'This node leaves a lease to others.');
        reported = reason;
      }
      if (reason !== null) {
        await pause(ASK_MS, signal);
        continue;
      }
      lease = await leases.take(store, name);
      const from = lease?.previous ?? null;
      if (from !== null)
        log[from.wasReleased ? 'info' : 'warn']({ lease: name, from: from.holder }, TAKEN_OVER);
      else if (lease !== null && wasLost) log.info({ lease: name }, 'A lease is held again.');
      wasLost = false;
      if (lease !== null) await work(lease, AbortSignal.any([signal, lease.lost]));
    } catch (error) {
      if (!signal.aborted && !wasLost)
        log.warn({ lease: name, error: messageOf(error) }, 'Work under a lease was interrupted.');
      wasLost = true;
    }
    await lease?.release();
    if (!signal.aborted) await pause(ASK_MS, signal);
  }
}

/** Waits, or until the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
  });
}
