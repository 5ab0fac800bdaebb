/** The server's side of the snapshot replication thread: starts it, receives its events, and restarts it if it dies. */
import { Worker } from 'node:worker_threads';
import { type Clock, isoTime } from '../base/clock.ts';
import { type ErrorData, errorFromData, messageOf } from '../base/errors.ts';
import type { Logger, LogLevel } from '../base/log.ts';
import { workerUrl } from '../base/paths.ts';
import type { Announcements } from '../nodes/broadcast.ts';
import type { PullState, TravelEvent, TravelSettings } from './follow.ts';

/** The start parameters of the thread. */
export interface TravelJob {
  readonly settings: TravelSettings;
  readonly logLevel: LogLevel;
}

/** Messages of the thread: events, or that it could not start. */
export type TravelMessage = TravelEvent | { readonly type: 'failed'; readonly error: ErrorData };

export type TravelOrder = 'look' | 'stop';

/** The broadcast message about a new release. */
const NEWS = 'snapshot';

export interface TravelWiring {
  readonly clock: Clock;
  readonly log: Logger;
  /** Broadcasts between nodes, which are faster than polling; null if each node only polls. */
  readonly news?: Announcements | null;
  /** Called when another release is in force on this node. */
  readonly onSwapped: () => void;
}

export interface Travel {
  /** URL from which other nodes can pull; null if they cannot. */
  readonly url: string | null;
  /** Null if this node does not pull. */
  readonly state: PullState | null;
  /** Checks the publisher now. */
  look(): void;
  close(): Promise<void>;
}

const RESTART_MS = 5_000;

/**
 * Starts the thread, and waits until it serves.
 *
 * @throws LISTEN_FAILED
 */
export async function openTravel(job: TravelJob, wiring: TravelWiring): Promise<Travel> {
  const { log, news = null } = wiring;
  let state: PullState | null = null;
  let worker: Worker | null = null;
  let restart: NodeJS.Timeout | undefined;
  let closing = false;
  let unhear: (() => void) | null = null;

  const start = (): Promise<string | null> =>
    new Promise((resolve, reject) => {
      const thread = new Worker(workerUrl('replication'), { workerData: job, execArgv: [] });
      worker = thread;
      thread.on('message', (message: TravelMessage) => {
        if (message.type === 'failed') {
          reject(errorFromData(message.error));
          thread.postMessage('stop' satisfies TravelOrder);
        } else if (message.type === 'started') resolve(message.url);
        else if (message.type === 'published') void news?.tell(NEWS);
        else {
          ({ state } = message);
          if (message.type === 'swapped') wiring.onSwapped();
        }
      });
      thread.on('error', (error) => {
        log.error({ reason: messageOf(error) }, 'the thread that carries snapshots failed');
        reject(error);
      });
      thread.on('exit', () => {
        worker = null;
        if (closing) return;
        restart = setTimeout(() => {
          start().catch((error: unknown) =>
            log.error({ reason: messageOf(error) }, 'snapshots do not travel'),
          );
        }, RESTART_MS);
        restart.unref();
      });
    });

  const order = (what: TravelOrder): void => worker?.postMessage(what);
  async function close(): Promise<void> {
    closing = true;
    unhear?.();
    unhear = null;
    clearTimeout(restart);
    const thread = worker;
    if (thread === null) return;
    const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
    order('stop');
    await ended;
  }

  let url: string | null;
  try {
    url = await start();
  } catch (error) {
    await close();
    throw error;
  }
  if (job.settings.from !== null) unhear = news?.hear((word) => word === NEWS && order('look')) ?? null;
  return {
    url,
    get state() {
      return state;
    },
    look: () => order('look'),
    close,
  };
}

/** Returns why a node is too far behind to receive requests, as a sentence; null if it is not. With `maxSeconds` 0 it never is. */
export function tooFarBehind(state: PullState | null, nowMs: number, maxSeconds: number): string | null {
  if (state === null || maxSeconds === 0) return null;
  const since = lateSince(state);
  if (since === null || nowMs - Date.parse(since) <= maxSeconds * 1_000) return null;
  const what =
    state.behindSince === null
      ? `${state.from} could not be followed since ${since}`
      : `Snapshot ${state.published?.dataVersion ?? ''} was seen at ${state.from} at ${since} and is not served yet`;
  return `${what}, more than ${maxSeconds} s before ${isoTime(nowMs)}.`;
}

/** Returns the seconds since when this node is behind its publisher or has not heard from it; 0 if it is current, or does not pull. */
export function behindSeconds(state: PullState | null, nowMs: number): number {
  const since = state === null ? null : lateSince(state);
  return since === null ? 0 : Math.max(0, nowMs - Date.parse(since)) / 1_000;
}

/** Returns since when the node is behind, or has only had errors. */
function lateSince({ behindSince, errorSince }: PullState): string | null {
  return behindSince ?? errorSince;
}
