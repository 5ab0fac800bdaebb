/** The folders that take the place of packages, as the libraries that load them see them. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Connection, PublicKey } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';

const require = createRequire(import.meta.url);
const installed = (name: string): string => require.resolve(name);
const stub = (name: string): string => join(projectRoot, 'supply', 'stubs', name, 'index.cjs');

describe('the stub of rpc-websockets', () => {
  it('is the one that @solana/web3.js loads', () => {
    expect(installed('rpc-websockets')).toBe(stub('rpc-websockets'));
    expect(new PublicKey(1).toBase58()).toBe('11111111111111111111111111111112');
  });

  it('lets a connection be constructed, and refuses its use with the reason', () => {
    const connection = new Connection('http://127.0.0.1:1') as unknown as {
      readonly _rpcWebSocket: { connect(): void };
    };
    expect(() => connection._rpcWebSocket.connect()).toThrow(
      /^rpc-websockets: connect\(\) was called, but Assay does not ship this package because of its licence/,
    );
  });
});

describe('the stub of text-encoding-utf-8', () => {
  it('is loaded, and encodes as the platform does', () => {
    expect(installed('text-encoding-utf-8')).toBe(stub('text-encoding-utf-8'));
    const { TextEncoder: Encoder, TextDecoder: Decoder } = require('text-encoding-utf-8') as {
      TextEncoder: typeof TextEncoder;
      TextDecoder: typeof TextDecoder;
    };
    expect(new Decoder().decode(new Encoder().encode('Zürich ✓'))).toBe('Zürich ✓');
  });
});

it.each(['anvil', 'biome', 'duckdb', 'litesvm', 'msgpackr'])(
  'the stub of the binaries of %s refuses to be loaded',
  (name) => {
    expect(() => require(stub(`${name}-binary`))).toThrow(
      /the lockfile of Assay has no hash of the binary for this platform/,
    );
  },
);
