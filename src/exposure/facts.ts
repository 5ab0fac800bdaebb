/** Computes one version for all facts that entries depend on: if it differs, the index is rebuilt. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { shippedData } from '../base/paths.ts';
import type { ChainId } from '../chains/registry.ts';
import { ENTRY_HOPS } from './evaluate.ts';
import type { IndexInputs } from './format.ts';

/** Files of data/: categories and policy, curated tokens, assets with a price, bridge contracts, and owners of listed parties. */
const FILES = [
  'categories.json',
  'policy.json',
  'tokens.json',
  'prices.json',
  'bridges.json',
  'entity-parties.json',
];

/**
 * Returns the first 16 digits of a digest over the files that entries depend on.
 *
 * @param tokensFile - the operator's own token list; null if it is not configured
 */
export function factsVersion(tokensFile: string | null): string {
  const digest = createHash('sha256');
  if (tokensFile !== null && existsSync(tokensFile)) digest.update('own').update(readFileSync(tokensFile));
  for (const name of FILES) {
    const path = shippedData(name);
    if (existsSync(path)) digest.update(name).update(readFileSync(path));
  }
  return digest.digest('hex').slice(0, 16);
}

/** Creates a function that returns the inputs of an up-to-date index. */
export function createInputs(deps: {
  readonly dataVersion: () => string;
  readonly policyVersion: () => string;
  /** The operator's own token list; null if it is not configured. */
  readonly tokensFile: string | null;
}): (chain: ChainId) => IndexInputs {
  let facts: string | null = null;
  return (chain) => {
    facts ??= factsVersion(deps.tokensFile);
    return {
      chain,
      dataVersion: deps.dataVersion(),
      policyVersion: deps.policyVersion(),
      facts,
      maxHops: ENTRY_HOPS,
    };
  };
}
