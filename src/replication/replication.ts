/** The server's side of the snapshot replication thread: starts it, receives its events, and restarts it if it dies. */
import { Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.ts';
import { type ErrorData, errorFromData, messageOf } from '../base/errors.ts';
import type { Logger, LogLevel } from '../base/log.ts';
import { workerUrl } from '../base/paths.ts';
import type { Broadcast } from '../nodes/broadcast.ts';
import type { PullState, ReplicationEvent, ReplicationSettings } from './follow.ts';

/** The start parameters of the thread. */
export interface ReplicationJob {
  readonly settings: ReplicationSettings;
  readonly logLevel: LogLevel;
}

/** Messages of the thread: events, or that it could not start. */
export type ReplicationMessage = ReplicationEvent | { readonly type: 'failed'; readonly error: ErrorData };

export type ReplicationCommand = 'look' | 'stop';

/** The broadcast message about a new release. */
const SNAPSHOT_PUBLISHED = 'snapshot';

export interface ReplicationThreadDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Broadcasts between nodes, which are faster than polling; null if each node only polls. */
  readonly broadcast?: Broadcast | null;
  /** Called when another release is in force on this node. */
  readonly onSwapped: () => void;
}

export interface Replication {
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
export async function openReplication(
  job: ReplicationJob,
  deps: ReplicationThreadDeps,
): Promise<Replication> {
  const { log, broadcast = null } = deps;
  let state: PullState | null = null;
  let worker: Worker | null = null;
  let restart: NodeJS.Timeout | undefined;
  let isClosing = false;
  let unsubscribe: (() => void) | null = null;

  const start = (): Promise<string | null> =>
    new Promise((resolve, reject) => {
      const thread = new Worker(workerUrl('replication'), { workerData: job, execArgv: [] });
      worker = thread;
      thread.on('message', (message: ReplicationMessage) => {
        if (message.type === 'failed') {
          reject(errorFromData(message.error));
          thread.postMessage('stop' satisfies ReplicationCommand);
        } else if (message.type === 'started') resolve(message.url);
        else if (message.type === 'published') void broadcast?.publish(SNAPSHOT_PUBLISHED);
        else {
          ({ state } = message);
          if (message.type === 'swapped') deps.onSwapped();
        }
      });
      thread.on('error', (error) => {
        log.error({ reason: messageOf(error) }, 'replication thread failed');
        reject(error);
      });
      thread.on('exit', () => {
        worker = null;
        if (isClosing) return;
        restart = setTimeout(() => {
          start().catch((error: unknown) =>
            log.error({ reason: messageOf(error) }, 'snapshot replication stopped'),
          );
        }, RESTART_MS);
        restart.unref();
      });
    });

  const send = (command: ReplicationCommand): void => worker?.postMessage(command);
  async function close(): Promise<void> {
    isClosing = true;
    unsubscribe?.();
    unsubscribe = null;
    clearTimeout(restart);
    const thread = worker;
    if (thread === null) return;
    const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
    send('stop');
    await ended;
  }

  let url: string | null;
  try {
    url = await start();
  } catch (error) {
    await close();
    throw error;
  }
  if (job.settings.from !== null)
    unsubscribe = broadcast?.subscribe((message) => message === SNAPSHOT_PUBLISHED && send('look')) ?? null;
  return {
    url,
    get state() {
      return state;
    },
    look: () => send('look'),
    close,
  };
}

/** Returns why a node is too far behind to receive requests, as a sentence; null if it is not. With `maxSeconds` 0 it never is. */
export function tooFarBehind(state: PullState | null, nowMs: number, maxSeconds: number): string | null {
  if (state === null || maxSeconds === 0) return null;
  const since = lateSince(state);
  if (since === null || nowMs - Date.parse(since) <= maxSeconds * 1_000) return null;
  const cause =
    state.behindSince === null
      ? `${state.from} could not be followed since ${since}`
      : `Snapshot ${state.published?.dataVersion ?? ''} was seen at ${state.from} at ${since} and is not served yet`;
  return `${cause}, which is more than ${maxSeconds} s ago.`;
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
