/**
 * Outbound requests: checks which URLs may be requested, and provides an undici agent that refuses to connect to a private address,
 * whatever a name resolves to. Lists, prices and webhooks all use it.
 */
import { type LookupAddress, type LookupAllOptions, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import type { Agent } from 'undici';
import { AssayError } from './errors.ts';
import { LIMITS } from './limits.ts';
import { mendParser } from './paused-parser.ts';
import { undici } from './undici.ts';

/** IANA special-purpose registries (IPv4 and IPv6), with multicast and the reserved block: none of these is public. */
const SPECIAL_IPV4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

/** Inside the global unicast block 2000::/3; everything outside that block is rejected anyway, including mapped IPv4. */
const SPECIAL_IPV6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const special = new BlockList();
for (const [net, prefix] of SPECIAL_IPV4) special.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of SPECIAL_IPV6) special.addSubnet(net, prefix, 'ipv6');
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

/** Returns true if a text is an IP address of the public internet. */
export function isPublicAddress(ip: string): boolean {
  const family = isIP(ip);
  if (family === 4) return !special.check(ip, 'ipv4');
  if (family === 6) return globalUnicast.check(ip, 'ipv6') && !special.check(ip, 'ipv6');
  return false;
}

export interface OutboundPolicy {
  /** Host names (as in `URL.hostname`) that may have private addresses and may be requested over plain http. All others may not. */
  readonly trustedHosts: ReadonlySet<string>;
}

/** Allows only https to public hosts. */
export const PUBLIC_HTTPS: OutboundPolicy = { trustedHosts: new Set() };

/**
 * Checks a URL before the request: https (http for a trusted host), no credentials, no private IP literal. The agent of
 * `createOutboundAgent` checks the addresses of a name when it connects.
 *
 * @throws SOURCE_UNAVAILABLE if the URL is not allowed
 */
export function checkOutboundUrl(url: URL, policy: OutboundPolicy): void {
  const trusted = policy.trustedHosts.has(url.hostname);
  const refuse = (reason: string): never => {
    throw new AssayError('SOURCE_UNAVAILABLE', `${url.protocol}//${url.host} is refused: ${reason}.`);
  };
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && trusted)) refuse('only https is allowed');
  if (url.username !== '' || url.password !== '') refuse('a URL must not carry credentials');
  const literal = url.hostname.replace(/^\[|\]$/g, '');
  if (!trusted && isIP(literal) !== 0 && !isPublicAddress(literal)) refuse('the address is not public');
}

/** Returns all addresses of a name, like `dns.lookup`. */
export type ResolveName = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/** A DNS lookup that fails if any address of a name is private: the socket connects to a checked address. */
function guardedLookup(policy: OutboundPolicy, resolveName: ResolveName): LookupFunction {
  return (hostname, options, callback) => {
    resolveName(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
      const fail = (reason: NodeJS.ErrnoException): void => callback(reason, '', 0);
      if (error) return fail(error);
      const first = found[0];
      if (first === undefined) return fail(new Error(`${hostname} has no address.`));
      const hidden = policy.trustedHosts.has(hostname)
        ? undefined
        : found.find(({ address }) => !isPublicAddress(address));
      if (hidden) return fail(new Error(`${hostname} resolves to ${hidden.address}, which is not public.`));
      if (options.all) return callback(null, found);
      return callback(null, first.address, first.family);
    });
  };
}

export interface OutboundTimeouts {
  readonly connectMs: number;
  /** From the end of the request to the last byte of the response headers. */
  readonly headersMs: number;
  /** Longest silence within a body. */
  readonly stallMs: number;
}

/**
 * Creates an agent that connects only to public addresses and trusted hosts, even if the URL was not checked. A name is resolved once per
 * connection, and the socket connects to one of the checked addresses, which defeats DNS rebinding. The caller destroys the agent.
 */
export function createOutboundAgent(options: {
  readonly policy: OutboundPolicy;
  readonly timeouts: OutboundTimeouts;
  /** Default: the resolver of the system. */
  readonly resolveName?: ResolveName;
  /** Maximum concurrent connections to one host. Default: the limit for list publishers. */
  readonly connections?: number;
  /** Maximum bytes of one WebSocket message. Default: that of undici. */
  readonly messageBytesMax?: number;
}): Agent {
  const { policy, timeouts, resolveName = systemLookup } = options;
  const { connections = LIMITS.outboundConnectionsMax, messageBytesMax } = options;
  const connect = undici().buildConnector({
    lookup: guardedLookup(policy, resolveName),
    timeout: timeouts.connectMs,
  });
  return new (undici().Agent)({
    connect: (target, callback) => {
      // A literal address is never looked up, so the lookup cannot reject it.
      const literal = target.hostname.replace(/^\[|\]$/g, '');
      const isHidden = isIP(literal) !== 0 && !isPublicAddress(literal);
      if (isHidden && !policy.trustedHosts.has(target.hostname))
        return callback(new Error(`${target.hostname} is not public.`), null);
      return connect(target, (...result) => {
        const [error, socket] = result;
        if (error === null) mendParser(socket);
        callback(...result);
      });
    },
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.stallMs,
    maxHeaderSize: LIMITS.outboundHeaderBytesMax,
    connections,
    ...(messageBytesMax === undefined ? {} : { webSocket: { maxPayloadSize: messageBytesMax } }),
  });
}
