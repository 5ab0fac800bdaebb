/** Verifies that an endpoint serves the configured chain, by blocks that no other chain has. */
import { AssayError } from '../../../base/errors.ts';
import type { EndpointSpec } from '../../endpoints/endpoints.ts';
import type { ChainId } from '../../registry.ts';
import { networkOf } from './networks.ts';

/** The genesis block of Bitcoin and of the chains that split from it. */
const SHARED_GENESIS = '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f';

/**
 * Verifies the chain of an endpoint. A `-regtest` network, or a chain that has not reached the height of the mark, is accepted only
 * from an operator's own endpoint.
 *
 * @param found - `atMark` is the hash at the height of the chain's mark, null if the endpoint has no such block; `genesis` is the hash of
 *   its first block, null if it was not requested
 * @throws CHAIN_MISMATCH if the endpoint serves another chain
 */
export function verifyChainOf(
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
