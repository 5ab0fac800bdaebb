/** Validates receiver URLs: https to the public internet, on a port that is not used by another protocol. */

import { AssayError } from '../../base/errors.ts';
import { checkOutboundUrl, type OutboundPolicy } from '../../base/outbound.ts';
import { isUrl } from '../../base/url.ts';
import { DELIVERY_LIMITS } from './limits.ts';

/**
 * Ports of other protocols: a request to one could make this server talk to a mail server or a database. These are the bad ports of
 * the Fetch Standard (§ 2.9, https://fetch.spec.whatwg.org/#bad-port) and the usual ports of databases.
 */
const FORBIDDEN_PORTS: ReadonlySet<number> = new Set([
  1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1433, 1521, 1719, 1720,
  1723, 2049, 2375, 2376, 2379, 2380, 3306, 3659, 4045, 4190, 5060, 5061, 5432, 5672, 5984, 6000, 6379, 6566,
  6665, 6666, 6667, 6668, 6669, 6679, 6697, 9042, 9200, 9300, 10080, 11211, 27017, 50070,
]);

/** Names that resolve only inside a machine or a network (RFC 6761, RFC 6762, RFC 8375, RFC 9476, and common conventions). */
const LOCAL_NAMES =
  /(^|\.)(localhost|local|localdomain|internal|intranet|lan|home|corp|home\.arpa|alt|test|invalid|onion)\.?$/;

/** Added if the operator may allow a host that is refused by default (docs/OPERATIONS.md names the setting). */
const OF_YOUR_OWN =
  ' It must be on the public internet, unless the operator of this service trusts the host.';

/**
 * Checks the URL of a receiver. The addresses that its name resolves to are checked again at each connection.
 *
 * @param field - field of the request that the error names
 * @returns the URL in canonical form
 * @throws INVALID_REQUEST without repeating the URL, which may contain a secret
 */
export function checkReceiverUrl(text: string, field: string, policy: OutboundPolicy): string {
  const refuse = (reason: string, advice = ''): never => {
    throw new AssayError('INVALID_REQUEST', `${field}: ${reason}.${advice}`, { field });
  };
  if (text.length > DELIVERY_LIMITS.receiverUrlCharsMax)
    refuse(`must have at most ${DELIVERY_LIMITS.receiverUrlCharsMax} characters (got ${text.length})`);
  // The URL parser would silently remove spaces, tabs and line breaks.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  if (/[\s\u0000-\u001f\u007f\\]/.test(text))
    refuse('must not contain spaces, control characters or backslashes');
  const url = isUrl(text) ? new URL(text) : refuse('must be a URL');
  const isTrusted = policy.trustedHosts.has(url.hostname);
  if (url.hash !== '') refuse('must not have a fragment');
  if (url.hostname === '') refuse('must have a host');
  if (!isTrusted && LOCAL_NAMES.test(url.hostname)) refuse('the host is a local name', OF_YOUR_OWN);
  if (!isTrusted && !url.hostname.includes('.') && !url.hostname.startsWith('['))
    refuse('the host is a local name', OF_YOUR_OWN);
  if (!isTrusted && url.port !== '' && FORBIDDEN_PORTS.has(Number(url.port)))
    refuse(`port ${url.port} belongs to another protocol`, OF_YOUR_OWN);
  try {
    checkOutboundUrl(url, policy);
  } catch (error) {
    if (!(error instanceof AssayError)) throw error;
    const reason = error.message.replace(/^.* is refused: /, '').replace(/\.$/, '');
    refuse(reason, isTrusted ? '' : OF_YOUR_OWN);
  }
  return url.href;
}

/** Where a request to a receiver goes. */
export interface ReceiverTarget {
  readonly origin: string;
  /** With the query. */
  readonly path: string;
}

/** Returns the parts of a URL that a request needs. */
export const requestTarget = ({ origin, pathname, search }: URL): ReceiverTarget => ({
  origin,
  path: pathname + search,
});

/**
 * Returns a function that checks the stored URL of a receiver before an attempt, because the policy may be stricter than when the URL was
 * stored. It returns null for a URL that is not allowed. A limited number of results is kept, because parsing and checking take as long as
 * signing. The addresses of a host are not part of them: they are checked at each connection.
 */
export function createReceiverTargets(policy: OutboundPolicy): (url: string) => ReceiverTarget | null {
  const known = new Map<string, ReceiverTarget | null>();
  const check = (url: string): ReceiverTarget | null => {
    try {
      return requestTarget(new URL(checkReceiverUrl(url, 'target', policy)));
    } catch (error) {
      if (error instanceof AssayError) return null;
      throw error;
    }
  };
  return (url) => {
    const target = known.get(url);
    if (target !== undefined) return target;
    const checked = check(url);
    if (known.size >= DELIVERY_LIMITS.receiverTargetsKept) known.delete(known.keys().next().value as string);
    known.set(url, checked);
    return checked;
  };
}
