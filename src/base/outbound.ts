/**
 * Requests to the outside: which URLs may be asked, and an undici agent that refuses to connect to a private address whatever
 * a name resolves to. Lists, prices and webhooks all go through here.
 */
import { type LookupAddress, type LookupAllOptions, lookup as systemLookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { AssayError } from './errors.ts';
import { LIMITS } from './limits.ts';

/** IANA special-purpose registries (IPv4 and IPv6), with multicast and the reserved block: nothing public lives there. */
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

/** Inside the global unicast block 2000::/3; everything outside that block is refused anyway, mapped IPv4 included. */
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

/** Whether an IP address (text) is of the public internet. Anything that is not an IP address is not. */
export function isPublicAddress(ip: string): boolean {
  const family = isIP(ip);
  if (family === 4) return !special.check(ip, 'ipv4');
  if (family === 6) return globalUnicast.check(ip, 'ipv6') && !special.check(ip, 'ipv6');
  return false;
}

export interface OutboundPolicy {
  /** Host names (as in `URL.hostname`) that may be private, and may be asked over plain http. Nobody else may. */
  readonly trustedHosts: ReadonlySet<string>;
}

/** Only https to public hosts. */
export const PUBLIC_HTTPS: OutboundPolicy = { trustedHosts: new Set() };

/**
 * Checks what can be known of a URL before it is asked: https (http for a trusted host), no credentials, no private IP literal.
 * What a name resolves to is checked when the agent of `createOutboundAgent` connects. Throws SOURCE_UNAVAILABLE.
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

/** All addresses of a name, as `dns.lookup` gives them. */
export type ResolveName = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

/** A DNS look-up that fails where any of a name's addresses is private: the socket connects to what was checked. */
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
  /** From the request's end to the last byte of the response's headers. */
  readonly headersMs: number;
  /** Longest silence within a body. */
  readonly stallMs: number;
}

/**
 * An agent that connects to public addresses (and trusted hosts) only, whoever forgot to check the URL. The caller destroys it.
 * A name is resolved once for each connection, and the socket connects to one of the addresses that were checked: a name that
 * resolves to something else a moment later (DNS rebinding) gains nothing.
 */
export function createOutboundAgent(options: {
  readonly policy: OutboundPolicy;
  readonly timeouts: OutboundTimeouts;
  /** Default: the system's resolver. */
  readonly resolveName?: ResolveName;
  /** Connections to one host at once. Default: what a publisher of lists is asked over. */
  readonly connections?: number;
  /** Bytes of one WebSocket message. Default: undici's. */
  readonly messageBytesMax?: number;
}): Agent {
  const { policy, timeouts, resolveName = systemLookup } = options;
  const { connections = LIMITS.outboundConnectionsMax, messageBytesMax } = options;
  const connect = buildConnector({
    lookup: guardedLookup(policy, resolveName),
    timeout: timeouts.connectMs,
  });
  return new Agent({
    connect: (target, callback) => {
      // A literal is never looked up, so the look-up cannot refuse it.
      const literal = target.hostname.replace(/^\[|\]$/g, '');
      const isHidden = isIP(literal) !== 0 && !isPublicAddress(literal);
      if (isHidden && !policy.trustedHosts.has(target.hostname))
        return callback(new Error(`${target.hostname} is not public.`), null);
      return connect(target, callback);
    },
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.stallMs,
    maxHeaderSize: LIMITS.outboundHeaderBytesMax,
    connections,
    ...(messageBytesMax === undefined ? {} : { webSocket: { maxPayloadSize: messageBytesMax } }),
  });
}
