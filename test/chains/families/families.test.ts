/** One descriptor adds a chain family: codec, configuration, adapter and documentation are derived from the list of families. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { projectRoot } from '../../../src/base/paths.ts';
import type { AddressCodec } from '../../../src/chains/address/codec.ts';
import { CHARACTERS, fault, parsed } from '../../../src/chains/address/fault.ts';
import { codecsOf, parseAddress } from '../../../src/chains/address/parse.ts';
import { chainsOf } from '../../../src/chains/chain.ts';
import { publicEndpoints } from '../../../src/chains/endpoints/endpoints.ts';
import { createChainAdapters } from '../../../src/chains/families/adapters.ts';
import { acceptedLayouts, family } from '../../../src/chains/families/descriptor.ts';
import { endpointLayoutsMarkdown } from '../../../src/chains/families/documentation.ts';
import { FAMILIES } from '../../../src/chains/families/index.ts';
import type { AdapterOptions, ChainAdapter } from '../../../src/chains/families/port.ts';
import type { ChainId } from '../../../src/chains/registry.ts';

const deps = { clock: systemClock, log: silentLogger, jitter: () => 0.5 };
const KEY_BYTE = 250;

/** Reads `?` and one digit. */
const codec: AddressCodec = {
  write(bytes, start, end, out, at) {
    const digit = (bytes[start + 1] as number) - 48;
    if (bytes[start] !== 63 || end - start !== 2 || digit < 0 || digit > 9)
      return fault(CHARACTERS, 'must be ? and a digit');
    out.set([KEY_BYTE, 1, digit], at);
    return parsed(3, 'account');
  },
  format: (kindByte, payload) => (kindByte === 1 ? `?${payload[0]}` : null),
};

const THROW_AWAY_CHAINS = chainsOf('throw-away', [
  {
    id: 'ZZZ',
    name: 'Throw-away',
    symbol: 'ZZZ',
    decimals: 2,
    caip2: 'zzz:1',
    explorerUrl: 'https://zzz.example',
    monitored: false,
    keyByte: KEY_BYTE,
  },
]);
const ZZZ = 'ZZZ' as ChainId;

function addedFamily() {
  const opened: AdapterOptions[] = [];
  let imports = 0;
  const throwAway = family({
    chains: THROW_AWAY_CHAINS,
    codec,
    layouts: { rpc: ['zzz-node'], history: ['zzz-index', 'zzz-node'] },
    async adapter() {
      imports++;
      return {
        openAdapter(options) {
          opened.push(options);
          return { chain: options.chain, close: async () => {} } as ChainAdapter;
        },
      };
    },
  });
  return { families: [...FAMILIES, throwAway], opened, imports: () => imports };
}

describe('a chain family added by its descriptor', () => {
  it('parses and formats its addresses by its own codec', () => {
    const codecs = codecsOf(addedFamily().families);
    expect(parseAddress(ZZZ, '?7', 'address', codecs)).toEqual({
      chain: 'ZZZ',
      canonical: '?7',
      kind: 'account',
      key: Uint8Array.of(KEY_BYTE, 1, 7),
      memo: null,
    });
    const evm = '0x0000000000000000000000000000000000000001';
    expect(() => parseAddress(ZZZ, evm, 'address', codecs)).toThrow(/Throw-away address.*ETH/);
    expect(() => parseAddress('ETH', '?7', 'address', codecs)).toThrow(/ZZZ/);
  });

  it('accepts its endpoints and opens them by its adapter, which is imported at the first use', async () => {
    const { families, opened, imports } = addedFamily();
    const endpoints = { rpc: { ZZZ: 'http://127.0.0.1:1' }, history: { ZZZ: 'zzz-node+http://127.0.0.1:2' } };
    const options = { endpoints, publicEndpoints: false, quorum: 1, offchainNames: false };
    const adapters = createChainAdapters(options, deps, families);
    expect(adapters.configured).toEqual(['ZZZ']);
    expect(imports()).toBe(0);
    expect((await adapters.of(ZZZ)).chain).toBe('ZZZ');
    expect(imports()).toBe(1);
    expect(opened[0]?.rpc[0]?.layout).toBe('zzz-node');
    expect(opened[0]?.history[0]?.layout).toBe('zzz-node');
    expect(() => createChainAdapters(options, deps)).toThrow(
      /ASSAY_RPC_ZZZ: chain must be one of .*\(got "ZZZ"\)/,
    );
  });

  it('rejects a layout of another family with the name of the variable', () => {
    const { families } = addedFamily();
    const make = (rpc: Record<string, string>) =>
      createChainAdapters(
        { endpoints: { rpc, history: {} }, publicEndpoints: false, quorum: 1, offchainNames: false },
        deps,
        families,
      );
    expect(() => make({ ZZZ: 'esplora+http://127.0.0.1:1' })).toThrow(
      'ASSAY_RPC_ZZZ: layout must be one of zzz-node, zzz-index (got "esplora").',
    );
    expect(() => make({ BTC: 'zzz-node+http://127.0.0.1:1' })).toThrow(
      /ASSAY_RPC_BTC: layout must be one of/,
    );
  });

  it('is documented', () => {
    expect(endpointLayoutsMarkdown(addedFamily().families)).toContain(
      '| ZZZ | `zzz-node` | `zzz-index`, `zzz-node` |',
    );
  });

  it('does not compile without a codec for each chain', () => {
    const rest = {
      chains: THROW_AWAY_CHAINS,
      layouts: { rpc: ['zzz-node'], history: ['zzz-node'] },
      adapter: async () => ({ openAdapter: () => ({}) as ChainAdapter }),
    } as const;
    // @ts-expect-error: the codec is missing.
    expect(() => family(rest)).toThrow();
    // @ts-expect-error: there is no codec for ZZZ.
    expect(family({ ...rest, codec: { YYY: codec } })).toBeDefined();
    expect(family({ ...rest, codec: { ZZZ: codec } }).codecs.ZZZ).toBe(codec);
  });
});

describe('the list of chain families', () => {
  it('accepts the layouts of the built-in public endpoints', () => {
    const shipped = publicEndpoints();
    for (const role of ['rpc', 'history'] as const)
      for (const [chain, specs] of shipped[role]) {
        const of = FAMILIES.find(({ chains }) => chains.some(({ id }) => id === chain))!;
        for (const { layout } of specs) expect(acceptedLayouts(of, role), chain).toContain(layout);
      }
  });

  it('is documented in docs/reference/endpoint-layouts.md', () => {
    const page = readFileSync(join(projectRoot, 'docs', 'reference', 'endpoint-layouts.md'), 'utf8');
    expect(page).toBe(endpointLayoutsMarkdown());
  });
});
