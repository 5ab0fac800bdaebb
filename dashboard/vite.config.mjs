/**
 * Settings of the build. The dashboard imports the chains and the address parser of the server, so that both recognise the same addresses;
 * adapters, which those import when a chain is used, are left out, and a library hashes instead of the server's kernel.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Replaces the adapters of chains, which talk to nodes, by an empty module. */
const withoutAdapters = {
  name: 'without-adapters',
  enforce: 'pre',
  resolveId(source, importer) {
    const isAdapter = source.endsWith('/adapter.ts') && importer?.includes('/src/chains/families/') === true;
    return isAdapter ? '\0no-adapter' : null;
  },
  load(id) {
    return id === '\0no-adapter' ? 'export {};' : null;
  },
};

/** Gives the parser of addresses the part of Buffer that it uses. */
const withBuffer = {
  name: 'with-buffer',
  enforce: 'pre',
  transform(code, id) {
    if (!id.includes('/src/chains/address/') || !code.includes('Buffer.from')) return null;
    return `import { Buffer } from ${JSON.stringify(here('./src/search/buffer.ts'))};\n${code}`;
  },
};

/** Replaces the hash of the server, a WebAssembly kernel that is read from its disk, by that of a library. */
const withoutKernel = {
  name: 'without-kernel',
  enforce: 'pre',
  load(id) {
    if (!id.endsWith('/src/chains/address/keccak.ts')) return null;
    return `import { keccak_256 } from '@noble/hashes/sha3.js';
export const ONE_BLOCK_MAX = 135;
export const digest = new Uint8Array(32);
export const keccak256Block = (bytes, start, length) => digest.set(keccak_256(bytes.subarray(start, start + length)));`;
  },
};

const dataOf = (name) => JSON.parse(readFileSync(here(`../data/${name}.json`), 'utf8'));

/** Facts of the shipped data that the pages need: the whole files would be most of the first load. */
const shippedFacts = {
  name: 'shipped-facts',
  resolveId: (source) => (source === 'assay:facts' ? '\0facts' : null),
  load(id) {
    if (id !== '\0facts') return null;
    const { categories } = dataOf('categories');
    const { jurisdictions } = dataOf('jurisdictions');
    const levels = Object.fromEntries(categories.map((row) => [row.id, row.threatLevel]));
    return `export const THREAT_LEVELS = ${JSON.stringify(levels)};
export const JURISDICTIONS = ${JSON.stringify(jurisdictions.map((row) => row.code))};`;
  },
};

export default defineConfig({
  root: here('.'),
  base: '/',
  publicDir: false,
  plugins: [withoutAdapters, withoutKernel, withBuffer, shippedFacts],
  resolve: {
    alias: {
      'assay:addresses': here('../src/chains/address/parse.ts'),
      'assay:chains': here('../src/chains/registry.ts'),
    },
  },
  build: {
    target: 'es2022',
    // Firefox and Safari have had it for years; the polyfill would be a part of the first load.
    modulePreload: { polyfill: false },
    // Everything is a file of its own: the policy allows no inline scripts.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
    // The licences of the packages ask for their texts beside their code.
    license: { fileName: 'assets/licences.txt' },
    rolldownOptions: {
      // `use client` is for servers that render React.
      onLog: (level, log, report) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log);
      },
    },
  },
  server: { proxy: { '/api': process.env.ASSAY_BASE_URL ?? 'http://127.0.0.1:8080' } },
});
