/** The built package of the TypeScript client: both module formats, its types in a program, and its size. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { buildSync } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Assay } from '../../sdk/typescript/src/index.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { spawnSync } from '../support/child-process.ts';

/** Goal: one call, with all that it needs. */
const BYTES_MAX = 12 * 1024;

const sdk = join(projectRoot, 'sdk', 'typescript');
const require = createRequire(import.meta.url);
let program: TempFolder;

/** Runs Node in the folder of the program; returns its output. */
function node(args: readonly string[]): { readonly code: number | null; readonly text: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: program.path,
    encoding: 'utf8',
  });
  return { code: status, text: stdout + stderr };
}

beforeAll(() => {
  program = tempFolder();
  const packages = join(program.path, 'node_modules');
  const own = join(packages, 'assay-sdk');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'package.json'), readFileSync(join(sdk, 'package.json')));
  for (const name of ['undici', '@types'])
    symlinkSync(join(projectRoot, 'node_modules', name), join(packages, name), 'junction');
  expect(node([join(sdk, 'build.mjs'), join(own, 'dist')])).toEqual({ code: 0, text: '' });
});
afterAll(() => program.remove());

const CHECK = `
const secret = 'whsec_' + Buffer.from('0123456789abcdef01234567').toString('base64');
const id = 'msg_1';
const timestamp = String(Math.floor(Date.now() / 1000));
const body = '{"type":"alert.test"}';
const key = Buffer.from(secret.slice(6), 'base64');
const signature = createHmac('sha256', key).update(id + '.' + timestamp + '.' + body).digest('base64');
const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': 'v1,' + signature };
const assay = new Assay({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k', maxRetries: 0 });
(async () => {
  const event = await assay.webhooks.unwrap(body, headers, { secret });
  const error = await assay.kyt.check({ chain: 'ETH', address: 'x' }).catch((thrown) => thrown);
  console.log(event.type, error instanceof ConnectionError, error.name, typeof undiciTransport);
})();
`;
const OUTPUT = { code: 0, text: 'alert.test true ConnectionError function\n' };

it.each([
  ['an ECMAScript module', ''],
  // Node 18 has no global Web Crypto.
  ['an ECMAScript module without a global Web Crypto', 'delete globalThis.crypto;\n'],
])('works as %s', (_, before) => {
  const imports = `import { createHmac } from 'node:crypto';
    import { Assay, ConnectionError } from 'assay-sdk';
    import { undiciTransport } from 'assay-sdk/undici';\n`;
  writeFileSync(join(program.path, 'program.mjs'), imports + before + CHECK);
  expect(node(['program.mjs'])).toEqual(OUTPUT);
});

it.each([
  ['CommonJS', ''],
  ['CommonJS without a global Web Crypto', 'delete globalThis.crypto;\n'],
])('works as %s', (_, before) => {
  const imports = `const { createHmac } = require('node:crypto');
    const { Assay, ConnectionError } = require('assay-sdk');
    const { undiciTransport } = require('assay-sdk/undici');\n`;
  writeFileSync(join(program.path, 'program.cjs'), imports + before + CHECK);
  expect(node(['program.cjs'])).toEqual(OUTPUT);
});

it('names a timeout of undici in CommonJS, where each entry has classes of its own', () => {
  const code = `
    const { Assay, TimeoutError } = require('assay-sdk');
    const { undiciTransport } = require('assay-sdk/undici');
    const { request } = require('undici');
    const server = require('node:http').createServer(() => {}).listen(0, '127.0.0.1', async () => {
      const transport = undiciTransport(request);
      const baseUrl = 'http://127.0.0.1:' + server.address().port;
      const assay = new Assay({ baseUrl, apiKey: 'k', timeout: 50, maxRetries: 0, transport });
      console.log(await assay.usage.get().catch((error) => error instanceof TimeoutError));
      process.exit();
    });`;
  writeFileSync(join(program.path, 'timeout.cjs'), code);
  expect(node(['timeout.cjs'])).toEqual({ code: 0, text: 'true\n' });
});

const compilers = {
  'TypeScript of this repository': join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc'),
  'TypeScript 5': join(sdk, 'tools', 'node_modules', 'typescript', 'bin', 'tsc'),
};
it.each(Object.entries(compilers).filter(([, path]) => existsSync(path)))(
  'has types that %s accepts in both formats, and that the recipes fit',
  (_, compiler) => {
    const readme = readFileSync(join(sdk, 'README.md'), 'utf8');
    const recipes = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
    expect(recipes).toHaveLength(10);
    for (const [n, code] of recipes.entries()) writeFileSync(join(program.path, `recipe-${n + 1}.mts`), code);
    const typed = `
      const assay = new Assay({ apiKey: 'k', baseUrl: 'http://127.0.0.1' });
      export async function verdict(): Promise<'safe' | 'warning' | 'danger'> {
        // @ts-expect-error: the address is missing.
        void assay.oracle.check({ chain: 'ETH' });
        for await (const { severity } of assay.alerts.list({ status: 'NEW' })) severity satisfies Severity;
        for await (const result of assay.bulk.screen([''], { kind: 'kyt' }))
          if (result.error === undefined) result.decision satisfies 'ALLOW' | 'REVIEW' | 'BLOCK';
        return (await assay.oracle.check({ chain: 'ETH', address: '' })).verdict;
      }`;
    const named = `import { Assay, type Severity } from 'assay-sdk';\n${typed}`;
    for (const name of ['typed.mts', 'typed.cts']) writeFileSync(join(program.path, name), named);
    const compilerOptions = {
      ...{ target: 'es2022', lib: ['es2022'], module: 'nodenext', types: ['node'], noEmit: true },
      ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
      skipLibCheck: false,
    };
    const include = ['*.mts', '*.cts'];
    writeFileSync(join(program.path, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
    expect(node([compiler, '-p', '.'])).toEqual({ code: 0, text: '' });
  },
);

it.runIf(existsSync(compilers['TypeScript 5']))('has types for the resolution node10 of TypeScript 5', () => {
  const code = `import { Assay } from 'assay-sdk';
    import { undiciTransport } from 'assay-sdk/undici';
    export const create = (request: Parameters<typeof undiciTransport>[0]): Assay =>
      new Assay({ transport: undiciTransport(request) });`;
  writeFileSync(join(program.path, 'classic.ts'), code);
  const options = ['--module', 'commonjs', '--moduleResolution', 'node10', '--target', 'es2022', '--strict'];
  const compiled = node([compilers['TypeScript 5'], ...options, '--noEmit', 'classic.ts']);
  expect(compiled).toEqual({ code: 0, text: '' });
});

it('names every method in its README', () => {
  const readme = readFileSync(join(sdk, 'README.md'), 'utf8');
  const table = readme.slice(readme.indexOf('## Methods'), readme.indexOf('## Retries'));
  const rows = table.split('\n').flatMap((line) => {
    const [, resources, methods] = line.split('|');
    return resources === undefined || methods === undefined ? [] : [{ resources, methods }];
  });
  const missing = Object.entries(new Assay({ baseUrl: 'http://127.0.0.1' })).flatMap(([name, resource]) => {
    const row = rows.find(({ resources }) => resources.includes(`\`${name}\``));
    return Object.getOwnPropertyNames(Object.getPrototypeOf(resource))
      .filter((method) => method !== 'constructor' && !row?.methods.includes(`\`${method}\``))
      .map((method) => `${name}.${method}`);
  });
  expect(missing).toEqual([]);
});

it('is at most 12 kB gzipped for a single call in a browser', () => {
  const contents = `import { Assay } from 'assay-sdk';
    export const verdict = (address) => new Assay({ baseUrl: location.origin }).oracle.check({ chain: 'ETH', address });`;
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: program.path },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    conditions: ['import'],
  });
  const code = outputFiles[0]?.contents ?? new Uint8Array();
  expect(code.length).toBeGreaterThan(1_000);
  expect(gzipSync(code).length).toBeLessThanOrEqual(BYTES_MAX);
});
