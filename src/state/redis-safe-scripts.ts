/** Scripts with writes that must reach replicas before they are acknowledged: each is sent with a WAIT in the same round trip. */
import { createHash } from 'node:crypto';
import { AssayError, messageOf } from '../base/errors.ts';
import { STATE_LIMITS } from './limits.ts';
import { notReady, type RedisConnection } from './redis-connection.ts';

/** One call of a safe script. */
export interface SafeCall {
  readonly lua: string;
  readonly binary: boolean;
  readonly keys: readonly string[];
  readonly args: readonly (string | number | Buffer)[];
}

/** Maximum number of times a safe script is sent: once with its text, and then again for moved slots. */
const ATTEMPTS_MAX = 8;

/** Runs safe scripts on one connection of their own. */
export class SafeScripts {
  readonly #replicas: number;
  readonly #connect: () => RedisConnection;
  /** A separate connection: while it waits for replicas, it cannot process other commands. */
  #connection: RedisConnection | null = null;
  #callsInProgress = 0;
  /** True if too few replicas acknowledged the last call. */
  #isLagging = false;

  /** @param replicas - number of replicas that must acknowledge a write */
  constructor(replicas: number, connect: () => RedisConnection) {
    this.#replicas = replicas;
    this.#connect = connect;
  }

  /**
   * Runs a script, and waits until its writes have reached the replicas.
   *
   * @param digest - `digestOf` the script
   * @throws NOT_READY if too few replicas acknowledge; the script may have been executed
   */
  async run(digest: string, call: SafeCall): Promise<unknown> {
    // If replicas lag, one call at a time probes them; further calls would only queue behind it.
    if (this.#isLagging && this.#callsInProgress > 0) throw tooFewReplicas('nothing was done');
    this.#connection ??= this.#connect();
    this.#callsInProgress++;
    try {
      const { reply, acknowledged } = await this.#sendUntilAccepted(this.#connection, digest, call);
      this.#isLagging = acknowledged < this.#replicas;
      if (this.#isLagging) throw tooFewReplicas('it may be done');
      return reply;
    } finally {
      this.#callsInProgress--;
    }
  }

  /** Sends a script by its digest; with its text if the server does not know the digest; again if its slot has moved. */
  async #sendUntilAccepted(client: RedisConnection, digest: string, call: SafeCall) {
    let command: readonly ['eval' | 'evalsha', string] = ['evalsha', digest];
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#send(client, command, call);
      } catch (error) {
        const isUnknown = messageOf(error).startsWith('NOSCRIPT');
        const hasMoved = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)/.test(messageOf(error));
        if (attempt >= ATTEMPTS_MAX || !(isUnknown || hasMoved)) throw error;
        if (isUnknown) command = ['eval', call.lua];
        // ioredis follows a moved slot for a single command, but not for a pipeline.
        else await client.exists(...call.keys.slice(0, 1));
      }
    }
  }

  /** Sends a script followed by WAIT; returns the script's reply and the number of replicas that have acknowledged. */
  async #send(
    client: RedisConnection,
    command: readonly [name: 'eval' | 'evalsha', text: string],
    { binary, keys, args }: SafeCall,
  ): Promise<{ readonly reply: unknown; readonly acknowledged: number }> {
    const pipeline = client.pipeline();
    const rest = [command[1], keys.length, ...keys, ...args] as const;
    if (binary) pipeline.callBuffer(command[0], ...rest);
    else pipeline.call(command[0], ...rest);
    const [done, waited] = (await pipeline.wait(this.#replicas, STATE_LIMITS.redisReplicasMs).exec()) ?? [];
    if (done === undefined || waited === undefined)
      throw new Error('Redis returned no reply for a pipeline.');
    if (done[0] !== null) throw done[0];
    // The master was replaced during the wait: its writes may be lost.
    if (waited[0] !== null) throw notReady(waited[0]);
    return { reply: done[1], acknowledged: Number(waited[1]) };
  }
}

/** Returns the digest by which Redis knows a script. */
export const digestOf = (lua: string): string => createHash('sha1').update(lua).digest('hex');

const tooFewReplicas = (outcome: string): AssayError =>
  new AssayError('NOT_READY', `Too few replicas of Redis follow their master; ${outcome}. Try again.`, {
    retryAfterSeconds: 1,
  });
