/** The choice between the two HTTP servers, made once at the start. */
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { CreateServer } from './server.ts';

/**
 * Picks the implementation: 'uws' and 'node' as named; 'auto' is uWebSockets.js, or node:http with a loud line where its binding
 * does not load. Throws LISTEN_FAILED for 'uws' without a binding.
 */
export async function chooseServer(backend: 'auto' | 'uws' | 'node', log: Logger): Promise<CreateServer> {
  if (backend !== 'node') {
    try {
      const { createUwsServer } = await import('./uws-server.ts');
      return createUwsServer;
    } catch (cause) {
      const reason = messageOf(cause).split('\n')[0];
      if (backend === 'uws') {
        throw new AssayError('LISTEN_FAILED', `uWebSockets.js does not load here: ${reason}`, { cause });
      }
      log.warn(
        { reason },
        'uWebSockets.js does not load here; serving through node:http, several times slower',
      );
    }
  }
  const { createNodeServer } = await import('./node-server.ts');
  return createNodeServer;
}
