/**
 * Protection against DNS rebinding: a page of another site must not reach the MCP endpoint through a name that its owner points at this
 * server. Browsers send such a name as the Host, and the page as the Origin.
 */

import { isIP } from 'node:net';
import { AssayError } from '../../base/errors.ts';
import { isUrl } from '../../base/url.ts';

const LOCAL_HOST = 'localhost';

/** Returns the name in a Host header, without its port and brackets, in lower case; null if the header is malformed. */
function hostNameOf(host: string): string | null {
  if (!isUrl(`http://${host}`)) return null;
  const { hostname, pathname, search, username } = new URL(`http://${host}`);
  if (pathname !== '/' || search !== '' || username !== '') return null;
  return hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

export interface OwnPages {
  /**
   * Checks the Host and the Origin of a request.
   *
   * @param origin - the header; empty if it is absent, as for clients that are not browsers
   * @throws FORBIDDEN
   */
  require(host: string, origin: string): void;
}

/**
 * Creates the check. An address as the Host is accepted: no name was resolved, so none was rebound.
 *
 * @param hosts - names of this server, with or without a port
 * @param origins - origins of pages of others that may send requests; their hosts are accepted too
 */
export function createOwnPages(hosts: readonly string[], origins: readonly string[]): OwnPages {
  const allowedOrigins = new Set(origins.map((one) => one.toLowerCase()));
  const names = new Set([
    LOCAL_HOST,
    ...hosts.flatMap((one) => hostNameOf(one) ?? []),
    ...origins.flatMap((one) => hostNameOf(new URL(one).host) ?? []),
  ]);
  const isOwnHost = (host: string): boolean => {
    const name = hostNameOf(host);
    return name !== null && (names.has(name) || isIP(name) !== 0);
  };
  return {
    require(host, origin) {
      if (!isOwnHost(host))
        throw new AssayError(
          'FORBIDDEN',
          'Host: must be localhost, an IP address, or a name of this service that its operator has set.',
          { field: 'Host' },
        );
      if (origin === '' || allowedOrigins.has(origin.toLowerCase())) return;
      if (isUrl(origin) && new URL(origin).host === host.toLowerCase()) return;
      throw new AssayError(
        'FORBIDDEN',
        'Origin: must be this service, or a site that its operator allows, because pages of other sites may not call tools.',
        { field: 'Origin' },
      );
    },
  };
}
