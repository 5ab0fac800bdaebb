/** What `scripts/supply/prune.mjs` deletes from installed packages, and what it keeps. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { spawnSync } from '../support/child-process.ts';

const root = mkdtempSync(join(tmpdir(), 'assay-prune-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const { platform, arch } = process;
const abi = process.versions.modules;
const other = platform === 'darwin' ? 'linux' : 'darwin';

const own = {
  uws: `uWebSockets.js/uws_${platform}_${arch}_${abi}.node`,
  prebuild: `addon/prebuilds/${platform}-${arch}/addon.node`,
};
const foreign = {
  uws: `uWebSockets.js/uws_${other}_${arch}_${abi}.node`,
  prebuild: `addon/prebuilds/${other}-${arch}/addon.node`,
};
const otherAbi = [`uWebSockets.js/uws_${platform}_${arch}_1.node`, 'addon/node.abi1.node'];

const kept = [
  'uWebSockets.js/package.json',
  'plain/index.js',
  'plain/LICENSE.md',
  'plain/NOTICE',
  'plain/data.json',
  'plain/dist/doc/code.js',
  'plain/test/code.js',
  'plain/node_modules/inner/index.js',
  'ethers/lib.commonjs/index.js',
  'plain/twin.cjs',
  'zod/v4/index.cjs',
  'zod/v4/classic/index.cjs',
  'zod/v4/locales/en.cjs',
];
const deletedInProduction = [
  'uWebSockets.js/uws.js',
  'uWebSockets.js/examples/HelloWorld.js',
  'plain/index.js.map',
  'plain/index.d.ts',
  'plain/README.md',
  'plain/docs/page.html',
  'plain/node_modules/inner/index.d.mts',
  'plain/node_modules/inner/tests/big.js',
  'ethers/dist/ethers.js',
  'ethers/lib.esm/index.js',
  'typescript/lib/tsc.js',
  'zod/src/index.ts',
  'zod/v3/index.js',
  'zod/v4/index.js',
  'zod/v4/mini/index.js',
];

function install(name: string): string {
  const modules = join(root, name, 'node_modules');
  const files = [
    ...Object.values(own),
    ...Object.values(foreign),
    ...otherAbi,
    ...kept,
    ...deletedInProduction,
  ];
  const manifests = {
    'uWebSockets.js': {},
    addon: {},
    // Its folder `test` is code: the manifest refers to it.
    plain: { exports: { '.': './index.js', './test': './test/code.js' } },
    'plain/node_modules/inner': {},
    ethers: { name: 'ethers' },
    zod: { name: 'zod' },
    typescript: {},
  };
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(modules, path)), { recursive: true });
    writeFileSync(join(modules, path), text);
  };
  for (const file of files) write(file, 'x');
  for (const [path, manifest] of Object.entries(manifests))
    write(`${path}/package.json`, JSON.stringify(manifest));
  return modules;
}

function prune(modules: string, production: boolean): void {
  const url = pathToFileURL(join(projectRoot, 'scripts', 'supply', 'prune.mjs')).href;
  const code = `import { prune } from ${JSON.stringify(url)}; prune(process.argv[1], { production: ${production} });`;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', code, modules], { encoding: 'utf8' });
  expect(run.stderr).toBe('');
  expect(run.status).toBe(0);
}

const present = (modules: string, files: readonly string[]): string[] =>
  files.filter((file) => existsSync(join(modules, file)));

it('keeps of a development installation everything but binaries of other platforms', () => {
  const modules = install('development');
  prune(modules, false);
  const all = [...Object.values(own), ...otherAbi, ...kept, ...deletedInProduction];
  expect(present(modules, all)).toEqual(all);
  expect(present(modules, Object.values(foreign))).toEqual([]);
});

it('keeps of a production installation only what Node loads', () => {
  const modules = install('production');
  prune(modules, true);
  expect(present(modules, [...Object.values(own), ...kept])).toEqual([...Object.values(own), ...kept]);
  expect(present(modules, [...Object.values(foreign), ...otherAbi, ...deletedInProduction])).toEqual([]);
});

/** Serves a tool by both entries of the MCP library, in an installation that has nothing else. */
const SERVE = `
const { createMcpHandler, fromJsonSchema, McpServer } = require('@modelcontextprotocol/server');
const { serveStdio } = require('@modelcontextprotocol/server/stdio');
const handler = createMcpHandler(() => {
  const server = new McpServer({ name: 'a', version: '1' }, { capabilities: { tools: {} } });
  const inputSchema = fromJsonSchema({ type: 'object', required: ['n'] });
  server.registerTool('t', { inputSchema }, async () => ({ content: [{ type: 'text', text: 'served' }] }));
  return server;
});
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't', arguments: { n: 1 } } };
const request = new Request('http://localhost/', { method: 'POST', headers, body: JSON.stringify(message) });
handler.fetch(request).then(async (answer) => console.log(await answer.text(), typeof serveStdio));
`;

it('leaves an MCP library that works, required, at a fifth of its size', async () => {
  const modules = join(root, 'mcp', 'node_modules');
  for (const name of ['zod', '@modelcontextprotocol/core', '@modelcontextprotocol/server'])
    cpSync(join(projectRoot, 'node_modules', name), join(modules, name), {
      recursive: true,
      dereference: true,
    });
  const url = pathToFileURL(join(projectRoot, 'scripts', 'supply', 'prune.mjs')).href;
  const { sizeOf } = (await import(url)) as { readonly sizeOf: (path: string) => number };
  const before = sizeOf(modules);
  prune(modules, true);
  expect(sizeOf(modules)).toBeLessThan(before / 5);
  writeFileSync(join(root, 'mcp', 'serve.cjs'), SERVE);
  const run = spawnSync(process.execPath, [join(root, 'mcp', 'serve.cjs')], { encoding: 'utf8' });
  expect(run.stderr).toBe('');
  expect(run.stdout).toContain('"text":"served"');
  expect(run.stdout).toContain('function');
});
