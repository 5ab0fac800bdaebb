/**
 * Broadcasts to all nodes: a message says that something has changed, and each node reads the change itself. A node that is disconnected at
 * that moment misses the message, and finds the change at its next read.
 */
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { RedisStore } from '../state/redis.ts';
import { scoped } from '../state/redis-installation.ts';

export interface Announcements {
  /** Broadcasts to the other nodes. Never rejects. */
  tell(word: string): Promise<void>;
  /** Subscribes to the broadcasts of other nodes; those of this node are not delivered. Returns the function that unsubscribes. */
  hear(listener: (word: string) => void): () => void;
}

export interface AnnouncementsDeps {
  readonly redis: RedisStore;
  readonly log: Logger;
}

/**
 * Opens broadcasts over Redis channels: they use no key, and in Redis Cluster every server carries them. They end with the connection to
 * Redis.
 */
export function openAnnouncements(
  { nodeId, scope = '' }: { readonly nodeId: string; readonly scope?: string },
  deps: AnnouncementsDeps,
): Announcements {
  const { redis, log } = deps;
  const channel = redis.key('nodes', scoped(scope, 'announcements'));
  const listeners = new Set<(word: string) => void>();
  const hearing = redis.another('blocking');
  hearing.on('message', (_, text: string) => {
    const [from, word = ''] = text.split(' ', 2);
    if (from !== nodeId) for (const listener of listeners) listener(word);
  });
  hearing.subscribe(channel).catch((error: unknown) => {
    log.debug({ error: messageOf(error) }, 'The other nodes are not heard yet.');
  });
  return {
    async tell(word) {
      try {
        await redis.guard(redis.connection.publish(channel, `${nodeId} ${word}`));
      } catch (error) {
        log.debug({ error: messageOf(error) }, 'The other nodes find out by themselves what has changed.');
      }
    },
    hear(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
