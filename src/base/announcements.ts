/**
 * A word to all nodes at once: that something changed which each of them looks up for itself. Whoever is cut off at that moment hears
 * nothing, and finds it at its next look.
 */
import { messageOf } from './errors.ts';
import type { Logger } from './log.ts';
import type { RedisStore } from './redis.ts';
import { scoped } from './redis-installation.ts';

export interface Announcements {
  /** Tells the other nodes. Never rejects. */
  tell(word: string): Promise<void>;
  /** Told of what other nodes tell, and not of what this one does, until the function it returns is called. */
  hear(listener: (word: string) => void): () => void;
}

export interface AnnouncementsDeps {
  readonly redis: RedisStore;
  readonly log: Logger;
}

/** Over Redis's channels: no key, and in a cluster every server carries them. Ends with the connection to Redis. */
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
