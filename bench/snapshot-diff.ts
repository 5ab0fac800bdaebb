/**
 * `assay snapshot diff` of 40,000 wallets against two snapshots of ten million synthetic labels, as a user runs it: the whole command, in a
 * process of its own, with CSV, JSON and a webhook whose receiver is in this process. The control is a command that reads nothing.
 * Run: node dist/bench/snapshot-diff.js [--count N] [--wallets N] [--no-save]
 */
import { spawn } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { formatAddressKey } from '../src/chains/address/parse.ts';
import { buildSnapshot } from '../src/labels/index/build.ts';
import { currentSnapshot } from '../src/labels/index/folder.ts';
import { createSegmentWriter } from '../src/labels/index/segment.ts';
import { loadSynthProfile, synthesise } from '../src/labels/index/synth.ts';
import type { LabelTemplate } from '../src/labels/label.ts';
import { primaryOrder } from '../src/labels/primary.ts';
import { loadSourceTable } from '../src/labels/source-table.ts';
import { argument, publish, report, row, runChild } from './harness.ts';

const SELF = fileURLToPath(import.meta.url);
const PROGRAM = fileURLToPath(new URL('../joined/main.cjs', import.meta.url));
const SEED = 1;
/** Of twenty labels, the second snapshot has one with another confidence, and lacks one. */
const CHANGE_EVERY = 20;

/** Child: writes a snapshot of synthetic labels, the second one with changes, and optionally a list of labelled wallets. */
async function build(folder: string, count: number, isChanged: boolean, wallets: number): Promise<string> {
  mkdirSync(folder);
  const segment = createSegmentWriter(join(folder, 'segment'));
  const changed = new WeakMap<LabelTemplate, LabelTemplate>();
  const changedOf = (template: LabelTemplate): LabelTemplate => {
    const known = changed.get(template) ?? {
      ...template,
      confidence: template.confidence === 0.5 ? 0.4 : 0.5,
    };
    changed.set(template, known);
    return known;
  };
  const lines = ['chain,address,reference'];
  const every = Math.max(1, Math.floor(count / wallets));
  let label = 0;
  await synthesise({ count, seed: SEED }, loadSynthProfile(), (key, length, chain, template, first, last) => {
    const at = label++;
    if (at % every === 0 && lines.length <= wallets)
      lines.push(`${chain},${formatAddressKey(key.slice(0, length), chain)},customer-${at}`);
    if (isChanged && at % CHANGE_EVERY === 1) return;
    const own = isChanged && at % CHANGE_EVERY === 0 ? changedOf(template) : template;
    segment.add(key, 0, length, segment.template(own), first, last);
  });
  await segment.close();
  if (!isChanged) writeFileSync(join(folder, 'wallets.csv'), `${lines.join('\n')}\n`);
  const source = { id: 'synthetic', dataset: 'bench', publishedAt: null, url: null, lists: [] };
  await buildSnapshot(
    {
      segments: [
        { path: join(folder, 'segment'), source: { ...source, importedAt: isoTime(systemClock.now()) } },
      ],
      folder: join(folder, 'snapshots'),
      compareLabels: primaryOrder(loadSourceTable()),
    },
    { clock: systemClock, log: silentLogger },
  );
  const path = currentSnapshot(join(folder, 'snapshots'));
  if (path === null) throw new Error('The build published nothing.');
  return path;
}

/**
 * Checks that the output of a diff names each wallet whose label changed.
 *
 * @throws if it does not
 */
export function requireChanges(output: string, wallets: string): void {
  const named = new Set(output.match(/customer-\d+/g));
  const changed = (wallets.match(/customer-\d+/g) ?? []).filter(
    (reference) => Number(reference.slice('customer-'.length)) % CHANGE_EVERY === 0,
  );
  const missing = changed.filter((reference) => !named.has(reference));
  if (changed.length === 0 || missing.length > 0)
    throw new Error(
      `${missing.length} of ${changed.length} changed wallets are not in the diff: ${missing[0]}.`,
    );
}

/** Runs a command of the program and returns its seconds; its output goes to a file. */
function run(args: readonly string[], dataDir: string, output: string): Promise<number> {
  const out = openSync(output, 'w');
  const start = systemClock.monotonic();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], {
      stdio: ['ignore', out, 'inherit'],
      env: { ...process.env, ASSAY_DATA_DIR: dataDir },
    });
    child.on('error', reject);
    child.on('close', (code) => {
      closeSync(out);
      if (code === 0) resolve((systemClock.monotonic() - start) / 1000);
      else reject(new Error(`assay ${args.join(' ')} ended with ${code}.`));
    });
  });
}

async function main(): Promise<void> {
  const startedAt = isoTime(systemClock.now());
  const count = argument('--count', 10_000_000);
  const wallets = argument('--wallets', 40_000);
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-diff-'));
  const bodies: Buffer[] = [];
  let received = 0;
  let messages = 0;
  const server = createServer((request, response) => {
    messages++;
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
      bodies.push(chunk);
    });
    request.on('end', () => response.writeHead(200).end());
  });
  try {
    const paths: string[] = [];
    for (const name of ['before', 'after'])
      paths.push(
        await runChild<string>(SELF, ['build', join(folder, name), String(count), name, String(wallets)]),
      );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const secret = join(folder, 'secret');
    writeFileSync(secret, `whsec_${Buffer.alloc(32, 7).toString('base64')}`);
    const data = join(folder, 'data');
    const output = join(folder, 'output');
    const diff = (...more: string[]): Promise<number> =>
      run(
        ['snapshot', 'diff', ...paths, '--customers', join(folder, 'before', 'wallets.csv'), ...more],
        data,
        output,
      );
    const control = await run(['--version'], data, output);
    const csv = await diff('--format', 'csv');
    const csvBytes = statSync(output).size;
    const customers = readFileSync(join(folder, 'before', 'wallets.csv'), 'utf8');
    requireChanges(readFileSync(output, 'utf8'), customers);
    const json = await diff('--json');
    const jsonBytes = statSync(output).size;
    requireChanges(readFileSync(output, 'utf8'), customers);
    const hook = await diff('--webhook', `http://127.0.0.1:${port}/`, '--webhook-secret-file', secret);
    requireChanges(Buffer.concat(bodies).toString(), customers);
    publish(
      report('snapshot-diff', startedAt, { labels: count, wallets, seed: SEED, data: 'synthetic' }, [
        row('CSV', csv, 's', { atMost: 10 }, control),
        row('  its size', csvBytes / 1e6, 'MB'),
        row('JSON', json, 's', { atMost: 10 }, control),
        row('  its size', jsonBytes / 1e6, 'MB'),
        row('signed webhook', hook, 's', { atMost: 10 }, control),
        row('  messages', messages, ''),
        row('  bytes received', received / 1e6, 'MB'),
      ]),
    );
  } finally {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const [task, folder = '', count = '', name = '', wallets = ''] = process.argv.slice(2);
if (task === 'build')
  process.stdout.write(JSON.stringify(await build(folder, Number(count), name === 'after', Number(wallets))));
else await main();
