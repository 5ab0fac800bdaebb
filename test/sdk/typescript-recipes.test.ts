/** Every recipe of the README of the TypeScript client, run as it is written, against the built server. */

import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { buildSync, transformSync } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { newWorld, type World } from '../e2e/program.ts';
import { freePort } from '../setup/free-port.ts';

const sdk = join(projectRoot, 'sdk', 'typescript');
const readme = readFileSync(join(sdk, 'README.md'), 'utf8');
const recipes = [...readme.matchAll(/^### (\d+)\. (.+)$[\s\S]*?^```ts\n([\s\S]*?)^```$/gm)].map(
  ([, number = '', title = '', code = '']) => ({ number, title, code }),
);

/** The output that each recipe must have. */
const OUTPUTS: Readonly<Record<string, RegExp>> = {
  1: /^refused: .+/,
  2: /^(LOW|MEDIUM|HIGH|CRITICAL) \d+ Binance\n\d+ credits left, request [\w-]+\n$/,
  3: /^BLOCK \[.*'SANCTIONED'/s,
  4: /^UNKNOWN_CHAIN chain chain: /,
  5: /^0 transfers, graph: NONE\n$/,
  6: /^watching \S+ Treasury\n$/,
  7: /^\S+ alert\.test\n$/,
  8: /^wallet\.created \d+\n$/,
  9: /^0xbe0eb53f46cd790cd13851d5eff43d12404d33e8 (safe|warning) Binance.*\nline 2 .+\n$/,
  10: /^(safe|warning)\naborted\n$/,
};

/** Added to the seventh recipe: a message of the server to the receiver, which then stops. */
const RECEIVED = `
const { wallets } = await assay.wallets.list();
await assay.wallets.update(wallets[0].id, { customWebhookUrl: 'http://127.0.0.1:' + process.env.PORT + '/' });
await assay.wallets.test(wallets[0].id);
await new Promise((resolve) => server.on('request', (_, response) => response.on('close', resolve)));
server.close();
`;

/** Copies the package into a folder of packages, as a program has it. */
function installInto(folder: string): void {
  const packages = join(folder, 'node_modules');
  const own = join(packages, 'assay-sdk');
  mkdirSync(own, { recursive: true });
  writeFileSync(join(own, 'package.json'), readFileSync(join(sdk, 'package.json')));
  buildSync({
    entryPoints: [join(sdk, 'src', 'index.ts'), join(sdk, 'src', 'undici.ts')],
    outdir: join(own, 'dist', 'esm'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
  });
  const undici = dirname(createRequire(import.meta.url).resolve('undici/package.json'));
  symlinkSync(undici, join(packages, 'undici'), 'junction');
}

describe('the recipes of the TypeScript client', () => {
  let world: World;
  const outputs = new Map<string, string>();
  let failure = '';

  beforeAll(async () => {
    world = newWorld();
    const server = await world.serve({ ASSAY_WEBHOOK_TRUSTED_HOSTS: '127.0.0.1' });
    installInto(world.folder);
    // One process for all: each recipe is a module.
    const runner = recipes.map(
      ({ number }) => `console.log('--- recipe ${number}'); await import('./recipe-${number}.mjs');`,
    );
    for (const { number, code } of recipes) {
      const source = number === '7' ? code + RECEIVED : code;
      writeFileSync(join(world.folder, `recipe-${number}.mjs`), transformSync(source, { loader: 'ts' }).code);
    }
    writeFileSync(join(world.folder, 'run.mjs'), runner.join('\n'));
    const child = spawn(process.execPath, ['run.mjs'], {
      cwd: world.folder,
      env: {
        PATH: process.env.PATH,
        ASSAY_BASE_URL: server.url,
        ASSAY_API_KEY: server.firstKey,
        PORT: String(await freePort()),
      },
    });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (failure += text));
    await new Promise((resolve) => child.on('close', resolve));
    for (const part of out.split('--- recipe ').slice(1)) {
      const end = part.indexOf('\n');
      outputs.set(part.slice(0, end), part.slice(end + 1));
    }
  });
  afterAll(() => world.end());

  it('are ten', () => {
    expect(recipes.map(({ number }) => Number(number))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it.each(recipes)('recipe $number runs: $title', ({ number }) => {
    expect(outputs.get(number) || failure).toMatch(OUTPUTS[number] ?? /^$/);
  });
});
