/** Chooses between the two HTTP servers once, at the start. */
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { CreateServer } from './port.ts';

/**
 * Returns the HTTP server implementation. `auto` is uWebSockets.js; if its binding does not load, it is node:http, with a warning.
 *
 * @throws LISTEN_FAILED if `uws` is requested and its binding does not load
 * @throws BINARY_MISMATCH if the binding is not the recorded file: another server would only hide that
 */
export async function chooseServer(backend: 'auto' | 'uws' | 'node', log: Logger): Promise<CreateServer> {
  if (backend !== 'node') {
    try {
      const { createUwsServer } = await import('./uws.ts');
      return createUwsServer;
    } catch (cause) {
      if (cause instanceof AssayError && cause.code === 'BINARY_MISMATCH') throw cause;
      const reason = messageOf(cause).split('\n')[0];
      if (backend === 'uws') {
        throw new AssayError('LISTEN_FAILED', `uWebSockets.js cannot be loaded: ${reason}`, { cause });
      }
      log.warn({ reason }, 'uWebSockets.js cannot be loaded; using node:http, which is several times slower');
    }
  }
  const { createNodeServer } = await import('./node.ts');
  return createNodeServer;
}

/** Whether the chosen server is uWebSockets.js. */
export async function isUws(createServer: CreateServer): Promise<boolean> {
  const { createNodeServer } = await import('./node.ts');
  return createServer !== createNodeServer;
}
