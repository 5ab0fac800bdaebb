/** Exports of snapshots with a signed manifest, and what changed between two of them for a list of wallets. */
import { createHmac } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCommand } from '../cli/run-command.ts';
import { type ListServer, startListServer } from '../setup/list-server.ts';
import { makeWorld, type World } from './world.ts';

const A = '0x28c6c06298d514db089934071355e5743bf21d60';
const B = '0x10ed43c718714eb63d5aa57b78b54704e256024e';
const C = '0xc2132d05d31c914a87c6611c10748aeb04b58e8f';
const HEADER = 'address,chain,entity,category,confidence';

let world: World;
let server: ListServer;
let dataDir: string;
beforeEach(async () => {
  world = makeWorld();
  server = await startListServer();
  dataDir = join(world.folder, 'installation');
  mkdirSync(dataDir);
});
afterEach(async () => {
  await server.close();
  world.end();
});

const assay = (...args: readonly string[]) => runCommand(dataDir, args);

async function importOwn(...rows: readonly string[]): Promise<void> {
  const file = world.file('own.csv', `${[HEADER, ...rows].join('\n')}\n`);
  expect((await assay('import', 'own', file)).code).toBe(0);
  expect((await assay('index', 'build')).code).toBe(0);
}

it('says what changed for a list of wallets, as text, CSV, JSON and signed webhook', async () => {
  await importOwn(`${A},ETH,Acme,EXCHANGE,0.9`, `${B},ETH,Gone,DEX,0.9`);
  const before = join(world.folder, 'before');
  const exported = await assay('snapshot', 'export', before);
  expect(exported.out).toContain('signed with key');
  expect((await assay('snapshot', 'export', before)).code).toBe(2);
  await importOwn(`${A},ETH,Acme,EXCHANGE,0.5`, `${C},ETH,=New,PHISHING,0.9`);

  const customers = world.file(
    'customers.csv',
    [
      'chain,address,reference',
      `ETH,${A},c-1`,
      `ETH,${B},c-2`,
      `ETH,${C},c-3`,
      'ETH,nonsense,c-4',
      `ETH,0x${'0'.repeat(39)}9,c-5`,
    ].join('\n'),
  );
  const json = await assay('snapshot', 'diff', before, 'current', '--customers', customers, '--json');
  const report = JSON.parse(json.out);
  expect(report.counts).toMatchObject({ wallets: 4, changedWallets: 3, added: 1, removed: 1, changed: 1 });
  expect(report.rejected).toMatchObject([{ line: 5 }]);
  const byReference = Object.fromEntries(
    report.changes.map((one: { reference: string }) => [one.reference, one]),
  );
  expect(byReference['c-1']).toMatchObject({
    change: 'changed',
    fields: ['confidence'],
    entity: 'Acme',
    class: 'published',
  });
  expect(byReference['c-2']).toMatchObject({ change: 'removed', category: 'DEX' });
  expect(byReference['c-3']).toMatchObject({ change: 'added', category: 'PHISHING' });

  const csv = await assay('snapshot', 'diff', before, 'current', '--customers', customers, '--format', 'csv');
  expect(csv.out.split('\n')[0]).toMatch(/^chain,address,reference,change,source,class/);
  // A name that a spreadsheet would execute is quoted.
  expect(csv.out).toContain(",'=New,");

  const received: { body: string; headers: Record<string, unknown> }[] = [];
  server.paths.set('/hook', (request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      received.push({ body, headers: request.headers });
      response.writeHead(received.length === 1 ? 503 : 200).end();
    });
  });
  const secret = `whsec_${Buffer.from('a secret of a receiver, 32 bytes').toString('base64')}`;
  const file = world.file('secret', secret);
  const hooked = await assay(
    'snapshot',
    'diff',
    before,
    'current',
    '--customers',
    customers,
    '--webhook',
    `${server.url}hook`,
    '--webhook-secret-file',
    file,
  );
  expect(hooked.code).toBe(0);
  expect(received).toHaveLength(2);
  const { body, headers } = received[1] as (typeof received)[number];
  expect(JSON.parse(body)).toMatchObject({ type: 'snapshot.diff', part: 1, parts: 1, counts: { added: 1 } });
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const key = Buffer.from(secret.slice(6), 'base64');
  expect(headers['webhook-signature']).toBe(
    `v1,${createHmac('sha256', key).update(content).digest('base64')}`,
  );
});

it('exports a manifest of sources, licences and counts by class, and detects a changed one', async () => {
  await importOwn(`${A},ETH,Acme,EXCHANGE,0.9`);
  const mbal = world.file(
    'mbal.csv',
    `chain,address,categories,entity,source\nethereum_mainnet,${B},exchange,binance,external\n`,
  );
  await assay('import', 'mbal', mbal);
  await assay('index', 'build');
  const folder = join(world.folder, 'product');
  expect((await assay('snapshot', 'export', folder)).code).toBe(0);
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
  expect(manifest).toMatchObject({ format: 1, byClass: { inferred: 1 } });
  expect(manifest.sources.find((one: { id: string }) => one.id === 'mbal')).toMatchObject({
    licence: 'CC0 1.0',
    class: 'inferred',
    labels: 1,
    independenceGroup: 'mbal',
  });
  expect((await assay('snapshot', 'check', folder)).out).toContain('sound');
  // People read the copy of the manifest beside its signature.
  const copy = join(folder, 'manifest.json');
  const text = readFileSync(copy, 'utf8');
  expect(manifest.licences).toContain('CC0 1.0');
  expect(manifest.withoutLicence).toContain('own');
  for (const other of [text.replace('CC0 1.0', 'MIT'), '{', '']) {
    writeFileSync(copy, other);
    const forged = await assay('snapshot', 'check', folder);
    expect([forged.code, forged.out]).toEqual([
      1,
      expect.stringContaining('manifest.json is not the manifest'),
    ]);
  }
  writeFileSync(copy, text);
  // The manifest of another snapshot, rightly signed, does not belong to these files.
  const jws = readFileSync(join(folder, 'manifest.jws'), 'utf8');
  const [header, payload, signature] = jws.trim().split('.') as [string, string, string];
  const other = Buffer.from(payload, 'base64url').toString().replace('"inferred":1', '"inferred":9');
  writeFileSync(
    join(folder, 'manifest.jws'),
    `${header}.${Buffer.from(other).toString('base64url')}.${signature}\n`,
  );
  const changed = await assay('snapshot', 'check', folder);
  expect([changed.code, changed.err]).toEqual([1, expect.stringContaining('the signature does not hold')]);
});
