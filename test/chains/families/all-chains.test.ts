import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { projectRoot } from '../../../src/base/paths.ts';
import { createChainAdapters } from '../../../src/chains/families/adapters.ts';
import { CHAINS } from '../../../src/chains/registry.ts';
import { spawnSync } from '../../support/child-process.ts';

const deps = { clock: systemClock, log: silentLogger, jitter: () => 0.5 };

describe('each of the 36 chains', () => {
  it.each(CHAINS.map(({ id }) => id))('%s has an adapter for endpoints of the operator', async (id) => {
    const url = 'http://127.0.0.1:9/';
    const adapters = createChainAdapters(
      {
        endpoints: { rpc: { [id]: url }, history: { [id]: url } },
        publicEndpoints: false,
        quorum: 1,
        offchainNames: false,
      },
      deps,
    );
    const adapter = await adapters.of(id);
    expect(adapter.chain).toBe(id);
    expect(adapter.health()).toMatchObject({ chain: id, reachable: true });
    await adapters.close();
  });

  it.each(CHAINS.map(({ id }) => id))('%s opens with the shipped public endpoints', async (id) => {
    const adapters = createChainAdapters(
      { endpoints: { rpc: {}, history: {} }, publicEndpoints: true, quorum: 1, offchainNames: false },
      deps,
    );
    const adapter = await adapters.of(id);
    expect(adapter.health().endpoints.every(({ state }) => state === 'UNTRIED')).toBe(true);
    await adapters.close();
  });
});

/** Per family with a library of its own: one of its chains, and the libraries that the adapter of that chain imports. */
const LIBRARIES = [
  { chain: 'ETH', library: 'ethers', loaded: ['ethers'] },
  { chain: 'SOL', library: '@solana/web3.js', loaded: ['@solana/web3.js'] },
  // tronweb itself is built on ethers.
  { chain: 'TRON', library: 'tronweb', loaded: ['tronweb', 'ethers'] },
] as const;

describe('chain libraries', () => {
  /** Lists the libraries imported before and after adapters are opened, in a process of its own over the built program. */
  function libraries(chains: readonly string[]): { readonly before: string[]; readonly after: string[] } {
    const registry = pathToFileURL(
      join(projectRoot, 'dist', 'src', 'chains', 'families', 'adapters.js'),
    ).href;
    const names = JSON.stringify(LIBRARIES.map(({ library }) => library));
    // The hook runs on a thread of its own and reports by a line on stderr.
    const hook = `import { writeSync } from 'node:fs';
      export async function resolve(specifier, context, next) {
        if (${names}.includes(specifier)) writeSync(2, specifier + '\\n');
        return next(specifier, context);
      }`;
    const code = `
      import { writeSync } from 'node:fs';
      import { register } from 'node:module';
      register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));
      const { createChainAdapters } = await import(${JSON.stringify(registry)});
      const adapters = createChainAdapters(
        { endpoints: { rpc: {}, history: {} }, publicEndpoints: true, quorum: 1, offchainNames: false },
        { clock: { monotonic: () => 0, now: () => 0 }, log: {}, jitter: () => 0 });
      writeSync(2, 'opening\\n');
      for (const id of ${JSON.stringify(chains)}) await adapters.of(id);
      await adapters.close();`;
    const ran = spawnSync(process.execPath, ['--no-warnings', '--input-type=module', '--eval', code], {
      encoding: 'utf8',
    });
    expect(ran.status, ran.stderr).toBe(0);
    const lines = ran.stderr.split('\n').filter((line) => line !== '');
    const opening = lines.indexOf('opening');
    expect(opening).toBeGreaterThanOrEqual(0);
    return { before: lines.slice(0, opening), after: [...new Set(lines.slice(opening + 1))] };
  }

  it.each(LIBRARIES)(
    '$library is imported at the first request of $chain, and no other with it',
    ({ chain, loaded }) => {
      expect(libraries([chain])).toEqual({ before: [], after: [...loaded] });
    },
  );

  it('are not loaded for chains that use plain HTTP', () => {
    const plain = ['XRP', 'XLM', 'ADA', 'DOT', 'TON', 'XMR', 'ATOM', 'ALGO', 'XTZ'];
    expect(libraries(plain)).toEqual({ before: [], after: [] });
  });
});
