/** Address and scheme of the client. Forwarding headers are trusted only if a trusted proxy wrote them. */
import { BlockList, isIP } from 'node:net';
import type { Exchange } from './port.ts';

export interface ClientOrigin {
  /** The client's address: the nearest one that does not belong to a trusted proxy. */
  address(exchange: Exchange): string;
  /** Whether the client connected by TLS. */
  isSecure(exchange: Exchange): boolean;
}

/** IPv4 mapped to IPv6, as a socket gives it that listens on both. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Returns an address that is mapped to IPv6 as IPv4, and any other text as it is. */
export const unmapped = (address: string): string => MAPPED.exec(address)?.[1] ?? address;

/** Forms in which proxies write an address beside the plain one: IPv4 with a port (Azure), and IPv6 in brackets with or without one. */
const WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/;
const IN_BRACKETS = /^\[([^\]]*)\](?::\d{1,5})?$/;

/**
 * Reads one element of X-Forwarded-For.
 *
 * @returns the address without a port, IPv4 if it is mapped to IPv6; null if it is no address
 */
function readHop(text: string): string | null {
  const hop = text.trim();
  const address = unmapped((WITH_PORT.exec(hop) ?? IN_BRACKETS.exec(hop))?.[1] ?? hop);
  return isIP(address) === 0 ? null : address;
}

const kindOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/**
 * Creates the reader of client addresses and schemes.
 *
 * @param options - `trustedProxies`: addresses and CIDR ranges
 */
export function createClientOrigin(options: {
  readonly trustedProxies: readonly string[];
  readonly tls: boolean;
}): ClientOrigin {
  const trusted = new BlockList();
  for (const range of options.trustedProxies) {
    const [address = '', bits] = range.split('/');
    if (bits === undefined) trusted.addAddress(address, kindOf(address));
    else trusted.addSubnet(address, Number(bits), kindOf(address));
  }
  const isTrusted = (address: string): boolean =>
    isIP(address) !== 0 && trusted.check(address, kindOf(address));

  return {
    address(exchange) {
      const peer = exchange.remoteAddress();
      if (!isTrusted(peer)) return peer;
      // Read from the right: everything to the left of the first untrusted address can be forged by the client.
      const hops = exchange.header('x-forwarded-for').split(',');
      let nearest = peer;
      while (isTrusted(nearest)) {
        const hop = readHop(hops.pop() ?? '');
        if (hop === null) break;
        nearest = hop;
      }
      return nearest;
    },
    isSecure(exchange) {
      if (options.tls) return true;
      return isTrusted(exchange.remoteAddress()) && exchange.header('x-forwarded-proto') === 'https';
    },
  };
}
