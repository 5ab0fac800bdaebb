/**
 * Broadcasts to all nodes: a message says that something has changed, and each node reads the change itself. A node that is disconnected at
 * that moment misses the message, and finds the change at its next read.
 */
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { RedisStore } from '../state/redis.ts';
import { scoped } from '../state/redis-installation.ts';

export interface Broadcast {
  /** Publishes a message to the other nodes. Never rejects. */
  publish(message: string): Promise<void>;
  /** Subscribes to the messages of other nodes; those of this node are not delivered. Returns the function that unsubscribes. */
  subscribe(listener: (message: string) => void): () => void;
}

export interface BroadcastDeps {
  readonly redis: RedisStore;
  readonly log: Logger;
}

/**
 * Opens broadcasts over Redis channels: they use no key, and in Redis Cluster every server carries them. They end with the connection to
 * Redis.
 */
export function openBroadcast(
  { nodeId, scope = '' }: { readonly nodeId: string; readonly scope?: string },
  deps: BroadcastDeps,
): Broadcast {
  const { redis, log } = deps;
  const channel = redis.key('nodes', scoped(scope, 'announcements'));
  const listeners = new Set<(message: string) => void>();
  const subscriber = redis.another('blocking');
  subscriber.on('message', (_, text: string) => {
    const [from, message = ''] = text.split(' ', 2);
    if (from !== nodeId) for (const listener of listeners) listener(message);
  });
  subscriber.subscribe(channel).catch((error: unknown) => {
    log.debug({ error: messageOf(error) }, 'subscription to broadcasts failed, retrying');
  });
  return {
    async publish(message) {
      try {
        await redis.guard(redis.connection.publish(channel, `${nodeId} ${message}`));
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'broadcast failed, other nodes read the change by polling');
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
