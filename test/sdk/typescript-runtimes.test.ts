/** The built TypeScript client where its users run it: the oldest and the newest Node, both module formats, and a browser. */
import { spawn } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildSync } from 'esbuild';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Assay } from '../../sdk/typescript/src/index.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { SANCTIONED } from '../http/world.ts';
import { chromiumProgram, startChromium } from '../setup/chromium.ts';
import { spawnSync } from '../support/child-process.ts';
import { addressOf, openSdkWorld, type SdkWorld } from './world.ts';

/** The last release of the oldest line that the package names in `engines`, and the newest of the newest line. */
const VERSIONS = ['18.20.8', '24.21.0'] as const;
/** The first use of a version installs it, and a browser starts slowly on a busy machine. */
const PATIENCE_MS = 240_000;
const LINES = 30;

const sdk = join(projectRoot, 'sdk', 'typescript');
/** Plain JavaScript, because it also runs before the first build. */
const VERSIONS_SCRIPT = pathToFileURL(join(projectRoot, 'scripts', 'supply', 'node-versions.mjs')).href;

/** One use of each way in which the client depends on its runtime: JSON, errors, abort, pages, an event stream, upload and download. */
const USE = `async function use({ Assay, InvalidRequestError, AbortError }, options, query, lines) {
  const assay = new Assay(options);
  const verdict = await assay.oracle.check(query);
  const invalid = await assay.oracle.check({ ...query, chain: 'NONE' }).catch((error) => error);
  const stop = new AbortController();
  stop.abort();
  const aborted = await assay.oracle.check(query, { signal: stop.signal }).catch((error) => error);
  const paged = [];
  for await (const { title } of assay.alerts.list({ limit: 2 })) paged.push(title);
  const streamed = [];
  for await (const event of assay.alerts.stream({ lastEventId: '0' })) {
    if (event.event === 'alert.created') streamed.push(event.data.alert.title);
    if (streamed.length === paged.length) break;
  }
  const asked = [];
  for await (const result of assay.bulk.screen(lines, { chain: 'ETH', linesPerJob: 20 })) asked.push(JSON.parse(result.asked));
  return {
    verdict: verdict.verdict,
    invalid: invalid instanceof InvalidRequestError,
    aborted: aborted instanceof AbortError,
    paged,
    streamed,
    asked,
  };
}`;

let world: SdkWorld;
let packages: TempFolder;
let apiKey: string;
const lines = Array.from({ length: LINES }, (_, n) => addressOf(n));
const EXPECTED = {
  verdict: 'danger',
  invalid: true,
  aborted: true,
  paged: ['cause 2', 'cause 1', 'cause 0'],
  streamed: ['cause 0', 'cause 1', 'cause 2'],
  asked: lines,
};
/** Arguments of `use` after the classes. */
const values = (): string =>
  [{ baseUrl: world.url, apiKey }, { chain: 'ETH', address: SANCTIONED }, lines]
    .map((value) => JSON.stringify(value))
    .join(', ');

beforeAll(async () => {
  packages = tempFolder();
  const { status, stderr } = spawnSync(process.execPath, [join(sdk, 'build.mjs'), packages.path], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  copyFileSync(join(sdk, 'package.json'), join(packages.path, 'package.json'));
  world = await openSdkWorld();
  const account = await world.account();
  apiKey = account.apiKey;
  const { wallet } = await new Assay({ baseUrl: world.url, apiKey }).wallets.create({
    walletAddress: addressOf(9),
    chain: 'ETH',
  });
  for (let n = 0; n < 3; n++) await world.raise(account.accountId, wallet.id, `cause ${n}`);
}, PATIENCE_MS);
afterAll(async () => {
  await world?.close();
  packages?.remove();
});

/**
 * Runs a program with one version of Node; returns what it printed. The server is in this process, so it must stay responsive. Node 18 warns
 * that `fetch` is experimental.
 */
function printed(node: string, flag: string, program: string): Promise<string> {
  const child = spawn(node, ['--no-warnings', flag, '--eval', program], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  return new Promise((resolve) => child.on('close', () => resolve(text)));
}

const printUse = () => `use(client, ${values()}).then((found) => console.log(JSON.stringify(found)));`;

describe.each(VERSIONS)('on Node %s', (version) => {
  it(
    'works as an ECMAScript module and as CommonJS',
    async () => {
      const { nodeOf } = (await import(VERSIONS_SCRIPT)) as { nodeOf(version: string): string };
      const node = nodeOf(version);
      const forms = {
        '--input-type=module': `import * as client from ${JSON.stringify(join(packages.path, 'esm', 'index.js'))};`,
        '--input-type=commonjs': `const client = require(${JSON.stringify(join(packages.path, 'cjs', 'index.js'))});`,
      };
      for (const [flag, load] of Object.entries(forms))
        expect(JSON.parse(await printed(node, flag, `${load}\n${USE}\n${printUse()}`)), flag).toEqual(
          EXPECTED,
        );
    },
    PATIENCE_MS,
  );
});

describe.runIf(chromiumProgram !== null)('in a browser', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await startChromium();
  }, PATIENCE_MS);
  afterAll(() => browser?.close());

  it(
    'works as a bundle of a page of the same host',
    async () => {
      const { outputFiles } = buildSync({
        entryPoints: [join(packages.path, 'esm', 'index.js')],
        bundle: true,
        write: false,
        format: 'iife',
        globalName: 'client',
        platform: 'browser',
      });
      const page = await browser.newPage({ bypassCSP: true });
      await page.goto(`${world.url}/docs`);
      await page.addScriptTag({ content: `${outputFiles[0]?.text}\n${USE}` });
      expect(await page.evaluate(`use(client, ${values()})`)).toEqual(EXPECTED);
    },
    PATIENCE_MS,
  );
});
