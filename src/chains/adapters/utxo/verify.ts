/** Whether an endpoint serves the chain that it was named for: by blocks that no other chain has. */
import { AssayError } from '../../../base/errors.ts';
import type { ChainId } from '../../registry.ts';
import type { EndpointSpec } from '../endpoints.ts';
import { networkOf } from './networks.ts';

/** The first block of Bitcoin, and so of the chains that parted from it. */
const SHARED_GENESIS = '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f';

/**
 * Throws CHAIN_MISMATCH where an endpoint serves another chain. `atMark` is its hash at the height of the chain's mark, null where
 * it has no such block; `genesis` is that of its first block, null where it was not asked. The network of `-regtest`, or a chain that
 * has not come as far as the mark, is taken from an operator's own endpoint alone.
 */
export function chainIsKnownBy(
  chain: ChainId,
  found: { readonly genesis: string | null; readonly atMark: string | null },
  endpoint: EndpointSpec,
): void {
  const { mark, regtestGenesis } = networkOf(chain);
  const { genesis, atMark } = found;
  if (atMark === mark.hash) return;
  const isRegtest = genesis === regtestGenesis || (mark.height === 0 && atMark === regtestGenesis);
  const isShort = mark.height > 0 && atMark === null && (genesis === null || genesis === SHARED_GENESIS);
  if (endpoint.own && (isRegtest || isShort)) return;
  throw new AssayError(
    'CHAIN_MISMATCH',
    `${endpoint.source} serves another chain than ${chain}: its block ${mark.height} is ${atMark ?? 'missing'}.`,
  );
}
