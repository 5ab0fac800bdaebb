import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { buildLabelIndex, ensureShipped } from '../../src/labels/build-index.ts';
import { freshnessOf, readListChecks } from '../../src/labels/freshness.ts';
import { importFiles } from '../../src/labels/import.ts';
import { currentSnapshot } from '../../src/labels/index/folder.ts';
import { openLabelStore } from '../../src/labels/store.ts';
import { SOURCE_LIMITS } from '../../src/sources/limits.ts';
import { makeWorld, NOW, type World } from './world.ts';

let world: World;
beforeEach(() => {
  world = makeWorld();
});
afterEach(() => world.end());

const HEADER = 'address,chain,entity,category,confidence,tags,last_seen\n';
const BINANCE = '0x28C6c06298d514Db089934071355E5743bf21d60';
const OWN = `${HEADER}${BINANCE},ETH,Binance,EXCHANGE,0.9,hot wallet,2025-01-01
1BoatSLRHtKNngkdXEeobR76b53LETtpyT,BTC,Somebody,INDIVIDUAL,,,
0x28c6c06298d514db089934071355e5743bf21d61,ETH,Nobody,NO_SUCH_THING,,,
0x0000000000000000000000000000000000000000,ETH,Nobody,SCAM,,,
1BoatSLRHtKNngkdXEeobR76b53LETtpyU,BTC,Broken checksum,SCAM,,,
atomichub1234,eos,EOS account,SCAM,,,
`;

describe('importing own labels', () => {
  it('keeps valid rows, and every other row with its line and reason', async () => {
    const { datasets, changed } = await world.import({ source: 'own', files: [world.file('mine.csv', OWN)] });
    expect(changed).toBe(true);
    const [report] = datasets;
    expect(report).toMatchObject({ dataset: 'mine', status: 'imported', records: 6, labels: 2, rejected: 4 });
    const rejects = readFileSync(report!.rejectsFile!, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { file: string; line: number; reason: string });
    expect(rejects.map((one) => one.line)).toEqual([4, 5, 6, 7]);
    expect(rejects.every((one) => one.file === 'mine.csv')).toBe(true);
    expect(rejects[0]!.reason).toMatch(/NO_SUCH_THING/);
    expect(rejects[1]!.reason).toMatch(/zero address/);
    expect(rejects[2]!.reason).toMatch(/checksum/i);
    expect(rejects[3]!.reason).toMatch(/EOS/);
  });

  it.each(['csv', 'ndjson'])(
    'rejects a future date in each row of %s, and names the field',
    async (layout) => {
      const day = (days: number): string => new Date(NOW + days * 86_400_000).toISOString().slice(0, 10);
      const rows = [
        { address: BINANCE, first_seen: day(0), last_seen: '' },
        { address: BINANCE.replace('21d60', '21d61').toLowerCase(), first_seen: day(2), last_seen: '' },
        { address: BINANCE.replace('21d60', '21d62').toLowerCase(), first_seen: '', last_seen: day(300) },
      ].map((row) => ({ ...row, chain: 'ETH', entity: 'Binance', category: 'EXCHANGE' }));
      const columns = ['address', 'first_seen', 'last_seen', 'chain', 'entity', 'category'] as const;
      const text =
        layout === 'csv'
          ? [columns.join(','), ...rows.map((row) => columns.map((name) => row[name]).join(','))].join('\n')
          : rows.map((row) => JSON.stringify(row)).join('\n');
      const file = world.file(`dates.${layout}`, `${text}\n`);
      const [report] = (await world.import({ source: 'own', files: [file] })).datasets;
      expect(report).toMatchObject({ labels: 1, rejected: 2 });
      const reasons = readFileSync(report!.rejectsFile!, 'utf8');
      expect(reasons).toContain(`first_seen: ${day(2)} is in the future`);
      expect(reasons).toContain(`last_seen: ${day(300)} is in the future`);
    },
  );

  it('is a no-op for the same content under any name', async () => {
    const first = await world.import({ source: 'own', files: [world.file('mine.csv', OWN)] });
    const revision = world.deps.store.revision();
    const again = await world.import({ source: 'own', files: [world.file('mine.csv', OWN)] });
    expect(again.changed).toBe(false);
    expect(again.datasets[0]).toMatchObject({ status: 'unchanged', labels: first.datasets[0]!.labels });
    expect(world.deps.store.revision()).toBe(revision);
  });

  it.each([
    ['missing', 'records'],
    ['truncated', 'records'],
    ['altered', 'records'],
    ['missing', 'templates'],
    ['altered', 'templates'],
  ])('replaces %s %s by the same content, and a build names that remedy before', async (harm, part) => {
    const files = [world.file('mine.csv', OWN)];
    await world.import({ source: 'own', files });
    const { store } = world.deps;
    const [row] = store.catalogue().datasets;
    const path = `${store.segmentPath(row!, row!.segments[0]!)}.${part}`;
    const bytes = readFileSync(path);
    if (harm === 'missing') rmSync(path);
    else if (harm === 'truncated') writeFileSync(path, bytes.subarray(0, bytes.length / 2));
    else writeFileSync(path, bytes.fill(0x20, bytes.length - 4, bytes.length - 3));
    await expect(world.build()).rejects.toThrow(
      harm === 'missing' && part === 'records' ? /ENOENT/ : /Import the files of its dataset again/,
    );
    const { datasets } = await world.import({ source: 'own', files });
    expect(datasets[0]).toMatchObject({ status: 'imported' });
    expect(world.lookup(await world.build(), 'ETH', BINANCE)).toHaveLength(1);
    expect((await world.import({ source: 'own', files })).changed).toBe(false);
  });

  it('replaces a dataset by the next file of the same name, and removes the old files', async () => {
    await world.import({ source: 'own', files: [world.file('mine.csv', OWN)] });
    const less = `${HEADER}${BINANCE},ETH,Binance,EXCHANGE,1,,\n`;
    const { datasets } = await world.import({ source: 'own', files: [world.file('mine.csv', less)] });
    expect(datasets[0]).toMatchObject({ status: 'imported', labels: 1, rejected: 0, rejectsFile: null });
    expect(world.deps.store.catalogue().datasets).toHaveLength(1);
    expect(readdirSync(join(world.deps.store.folder, 'datasets'))).toHaveLength(1);
    expect(existsSync(join(world.deps.store.folder, 'rejects', 'own-mine.ndjson'))).toBe(false);
    const labels = world.lookup(await world.build(), 'ETH', BINANCE);
    expect(labels).toHaveLength(1);
    expect(labels[0]!.confidence).toBe(1);
  });

  it.each([
    ['of the same name', 'own', ['mine.csv', 'mine.ndjson'], undefined, 'mine'],
    ['of one --dataset', 'own', ['mine.csv', 'yours.csv'], 'all of it', 'all-of-it'],
    [
      'of the layout of a publisher',
      'exchanges',
      ['june.csv', 'july.csv'],
      undefined,
      'defillama-cex-owners',
    ],
  ] as const)(
    'rejects files %s in one call, of which only the last would stay',
    async (_, source, fileNames, name, dataset) => {
      const text = (entity: string): string =>
        source === 'own'
          ? `${HEADER}${BINANCE},ETH,${entity},EXCHANGE,1,,\n`
          : `exchange,chain,address\n${entity},ethereum,${BINANCE}\n`;
      const files = fileNames.map((fileName) => world.file(fileName, text(fileName)));
      for (const force of [false, true])
        await expect(
          world.import({ source, files, force, ...(name === undefined ? {} : { dataset: name }) }),
        ).rejects.toMatchObject({
          code: 'INVALID_FILE',
          message: `file: ${files.join(' and ')} would both be the dataset '${dataset}', and only the last would stay. Join them to one file, or import each by a call of its own with another --dataset. No file of this call was imported.`,
        });
      expect(world.deps.store.catalogue().datasets).toEqual([]);
    },
  );

  it('rejects a file with only invalid rows, which would replace valid labels, unless forced', async () => {
    await world.import({ source: 'own', files: [world.file('mine.csv', OWN)] });
    const revision = world.deps.store.revision();
    const bad = `${HEADER}no address at all,ETH,Somebody,SCAM,,,\n`;
    const files = [world.file('mine.csv', bad)];
    await expect(world.import({ source: 'own', files })).rejects.toThrow(
      /has no usable row: 1 rejected.*mine\.csv, line 2: .*no address at all/,
    );
    expect(world.deps.store.revision()).toBe(revision);
    const forced = await world.import({ source: 'own', files, force: true });
    expect(forced.datasets[0]).toMatchObject({ labels: 0, rejected: 1 });
  });

  it('rebuilds if the published snapshot is missing, even if its folder exists', async () => {
    await world.import({ source: 'own', files: [world.file('mine.csv', OWN)] });
    const { snapshotsFolder, deps } = world;
    await buildLabelIndex({ snapshotsFolder }, deps);
    rmSync(join(currentSnapshot(snapshotsFolder)!, 'labels.mdb'));
    expect(await buildLabelIndex({ snapshotsFolder }, deps)).toMatchObject({ built: true });
  });

  it('builds nothing again in a copied data folder, until its labels change', async () => {
    await world.import({ source: 'own', files: [world.file('mine.csv', OWN)] });
    await buildLabelIndex({ snapshotsFolder: world.snapshotsFolder }, world.deps);
    const copy = join(world.folder, 'copy');
    cpSync(world.snapshotsFolder, join(copy, 'snapshots'), { recursive: true });
    cpSync(world.deps.store.folder, join(copy, 'labels'), { recursive: true });
    const options = { snapshotsFolder: join(copy, 'snapshots') };
    const deps = { ...world.deps, store: openLabelStore({ dataDir: copy }) };
    expect(await buildLabelIndex(options, deps)).toMatchObject({ built: false });
    // Another snapshot of the same labels is not the one that was built.
    world.now += 60_000;
    await buildLabelIndex({ ...options, force: true }, { ...deps, store: world.deps.store });
    expect(await buildLabelIndex(options, deps)).toMatchObject({ built: true });
    const other = world.file('other.csv', `${HEADER}${BINANCE},ETH,Binance,EXCHANGE,1,,\n`);
    await importFiles({ source: 'own', files: [other] }, deps);
    expect(await buildLabelIndex(options, deps)).toMatchObject({ built: true });
  });

  it('labels an account on every EVM chain, and a contract on its own', async () => {
    const rows = `address,chain,entity,category,is_contract
${BINANCE},POLYGON,Binance,EXCHANGE,
0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D,ETH,Uniswap,DEX,true
`;
    await world.import({ source: 'own', files: [world.file('mine.csv', rows)] });
    const snapshots = await world.build();
    expect(world.lookup(snapshots, 'BASE', BINANCE)).toHaveLength(1);
    const router = '0x7a250d5630B4cF539739dF2C5dAcb4c659F2488D';
    expect(world.lookup(snapshots, 'ETH', router)[0]!.scope).toBe('ETH');
    expect(world.lookup(snapshots, 'BASE', router)).toHaveLength(0);
  });

  it('merges an entity with many names, but not a scam that uses one of them', async () => {
    const rows = `address,chain,entity,category
${BINANCE},ETH,OKEx,EXCHANGE
1BoatSLRHtKNngkdXEeobR76b53LETtpyT,BTC,okx.com,EXCHANGE
`;
    await world.import({ source: 'own', files: [world.file('mine.csv', rows)] });
    const snapshots = await world.build();
    const ids = [
      ...world.lookup(snapshots, 'ETH', BINANCE),
      ...world.lookup(snapshots, 'BTC', '1BoatSLRHtKNngkdXEeobR76b53LETtpyT'),
    ].map((label) => label.entity.id);
    expect(ids).toEqual(['okx', 'okx']);
    const scams =
      'banned_address,wallet_tag,data_source\n0x80d7bb18521acbef32d7906502ebe94928690e93,Binance,etherscan-phish-hack-list\n';
    await world.import({ source: 'scams', files: [world.file('scams.csv', scams)] });
    const [scam] = world.lookup(await world.build(), 'ETH', '0x80d7bb18521acbef32d7906502ebe94928690e93');
    expect(scam).toMatchObject({ category: 'PHISHING', entity: { id: 'phishing:binance', name: 'Binance' } });
  });

  it('returns all labels of an address, the primary one by the written rule', async () => {
    const row = (entity: string, category: string, confidence: string, seen: string): string =>
      `${HEADER}${BINANCE},ETH,${entity},${category},${confidence},,${seen}\n`;
    await world.import({
      source: 'own',
      files: [world.file('a.csv', row('Older', 'OTHER', '0.6', '2020-01-01'))],
    });
    await world.import({
      source: 'own',
      files: [world.file('b.csv', row('Newer', 'OTHER', '0.6', '2024-01-01'))],
    });
    await world.import({ source: 'own', files: [world.file('c.csv', row('Sure', 'EXCHANGE', '0.8', ''))] });
    const listed = `exchange,chain,address\nbinance,ethereum,${BINANCE}\n`;
    await world.import({ source: 'exchanges', files: [world.file('cex.csv', listed)] });
    const labels = world.lookup(await world.build(), 'ETH', BINANCE);
    // 0.8 twice: the label of the user ranks above the exchange list; then 0.6 by recency.
    expect(labels.map((label) => label.entity.name)).toEqual(['Sure', 'Binance', 'Newer', 'Older']);
  });

  it('gives the same result by the fast path as row by row', async () => {
    const odd = `${OWN}"0x28c6c06298d514db089934071355e5743bf21d62",ETH,"Quoted, Inc.",EXCHANGE,1,"a;b",2024-02-03
 0x28c6c06298d514db089934071355e5743bf21d63 ,eth,Spaces,EXCHANGE,,,
0x28c6c06298d514db089934071355e5743bf21d64,BTC,Wrong chain,EXCHANGE,,,
0x28c6c06298d514db089934071355e5743bf21d65,USDT,A token,EXCHANGE,,,
0x28c6c06298d514db089934071355e5743bf21d66,ETH,Too,EXCHANGE,,,2024-01-01,many
0x28c6c06298d514db089934071355e5743bf21d67,ETH,Bad date,EXCHANGE,,,2024-13-01
0x28c6c06298d514db089934071355e5743bf21d68,ETH,Windows,EXCHANGE,,,2024-01-01\r

TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq,TRX,Last row without an end,SCAM,0.5,,2024-01-01`;
    const outcome = async (name: string, bytes: Uint8Array): Promise<unknown> => {
      const other = makeWorld();
      try {
        const path = other.file(name, '');
        writeFileSync(path, bytes);
        const { datasets } = await other.import({ source: 'own', files: [path] });
        const { dataVersion, real } = (await other.build()).current.meta;
        const rejects = readFileSync(datasets[0]!.rejectsFile!, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as { line: number; reason: string });
        const { records, labels, rejected } = datasets[0]!;
        const places = rejects.map((one) => `${one.line}: ${one.reason}`);
        return { dataVersion, real, records, labels, rejected, places };
      } finally {
        other.end();
      }
    };
    const quick = await outcome('mine.csv', Buffer.from(odd));
    expect(quick).toEqual(await outcome('mine.csv.gz', gzipSync(odd)));
    expect(quick).toMatchObject({ real: { labels: 8, addresses: 8 }, rejected: 6 });
  });

  it('rejects an unknown chain with an error', async () => {
    const rows = `${HEADER}${BINANCE},ETHERIUM,Binance,EXCHANGE,,,\n`;
    const files = [world.file('mine.csv', rows)];
    await expect(world.import({ source: 'own', files })).rejects.toThrow(/'ETHERIUM' is not a known chain/);
    const { datasets } = await world.import({ source: 'own', files, force: true });
    expect(datasets[0]!.rejected).toBe(1);
    expect(readFileSync(datasets[0]!.rejectsFile!, 'utf8')).toMatch(/ETHERIUM/);
  });
});

const SDN = (date: string, wallets: readonly string[]): string =>
  `<?xml version="1.0" encoding="utf-8"?>
<sdnList xmlns="https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/XML">
  <publshInformation><Publish_Date>${date}</Publish_Date><Record_Count>3</Record_Count></publshInformation>
  ${['101', '102', '103']
    .map(
      (uid, at) => `<sdnEntry><uid>${uid}</uid><lastName>PARTY ${uid}</lastName><sdnType>Entity</sdnType>
    <programList><program>CYBER2</program></programList>
    ${wallets[at] ? `<idList><id><uid>9${uid}</uid><idType>Digital Currency Address - ETH</idType><idNumber>${wallets[at]}</idNumber></id></idList>` : ''}
  </sdnEntry>`,
    )
    .join('\n')}
</sdnList>`;

const WALLETS = ['0x098b716b8aaf21512996dc57eb0615e2383e2f96', '0xa0e1c89ef1a489c9c7de96311ed5ce5d32c20e4b'];

describe('importing a sanctions list', () => {
  it.each([
    ['a misprinted wallet', (text: string) => text.replace(WALLETS[0]!, WALLETS[0]!.slice(0, -1))],
    ['a wallet without an address', (text: string) => text.replace(WALLETS[0]!, '')],
    ['a party without a name', (text: string) => text.replace('PARTY 101', '')],
  ])('keeps a wallet in force if the newer file has %s in its place, unless forced', async (_, harm) => {
    await world.import({ source: 'ofac', files: [world.file('old.xml', SDN('03/04/2025', WALLETS))] });
    const files = [world.file('new.xml', harm(SDN('03/21/2025', WALLETS)))];
    const { datasets } = await world.import({ source: 'ofac', files });
    expect(datasets[0]).toMatchObject({ rejected: 1, lists: [{ inForce: 2, delisted: 0, heldBack: 1 }] });
    expect(world.lookup(await world.build(), 'ETH', WALLETS[0]!)[0]).toMatchObject({
      category: 'SANCTIONED_ENTITY',
      sanctions: [{ entityId: '101', delistedAt: null }],
    });
    const forced = await world.import({ source: 'ofac', files, force: true });
    expect(forced.datasets[0]!.lists[0]).toMatchObject({ inForce: 1, delisted: 1, heldBack: 0 });
  });

  it('keeps a wallet in force if the row in its place is one of more than a state names', async () => {
    const nameless = Array.from(
      { length: SOURCE_LIMITS.unreadableRowsMax + 1 },
      (_, at) =>
        `<sdnEntry><uid>${1_000 + at}</uid><lastName></lastName><sdnType>Entity</sdnType></sdnEntry>`,
    ).join('');
    const withNameless = (text: string): string => text.replace('<sdnEntry>', `${nameless}<sdnEntry>`);
    const old = withNameless(SDN('03/04/2025', WALLETS));
    await world.import({ source: 'ofac', files: [world.file('old.xml', old)] });
    const broken = withNameless(SDN('03/21/2025', WALLETS)).replace('PARTY 101', '');
    const { datasets } = await world.import({ source: 'ofac', files: [world.file('new.xml', broken)] });
    expect(datasets[0]!.lists).toMatchObject([{ inForce: 2, delisted: 0, heldBack: 1 }]);
  });

  it.each([
    ['delists', 'downloaded', '2025-03-22T08:00:00.000Z', '2025-03-21'],
    ['keeps', 'fetched before the known check', '2025-03-21T08:00:00.000Z', null],
  ])(
    '%s a wallet that another file of the same date lacks, if that was %s',
    async (_, __, checkedAt, delisted) => {
      const sdn = (name: string, wallets: readonly string[]): string =>
        world.file(name, SDN('03/21/2025', wallets));
      const fetched = '2025-03-21T18:00:00.000Z';
      await world.import({ source: 'ofac', files: [sdn('a.xml', WALLETS)], checkedAt: fetched });
      await world.import({ source: 'ofac', files: [sdn('b.xml', WALLETS.slice(0, 1))], checkedAt });
      expect(world.lookup(await world.build(), 'ETH', WALLETS[1]!)[0]).toMatchObject({
        tags: expect.arrayContaining([delisted === null ? 'sanctioned' : 'delisted']),
        sanctions: [{ entityId: '102', delistedAt: delisted }],
      });
    },
  );

  it('is not checked by the download of an older file', async () => {
    const load = (name: string, day: string, checkedAt: string) =>
      world.import({ source: 'ofac', files: [world.file(name, SDN(day, WALLETS))], checkedAt });
    const checkedAt = '2025-03-21T18:00:00.000Z';
    await load('new.xml', '03/21/2025', checkedAt);
    // A mirror that was not updated.
    await load('old.xml', '03/04/2025', '2025-03-25T18:00:00.000Z');
    expect(readListChecks(world.deps.store.folder).OFAC_SDN).toMatchObject({
      publishedAt: '2025-03-21',
      checkedAt,
    });
  });

  it('shows each period of a wallet that was delisted and listed again', async () => {
    const days = [
      ['03/04/2025', WALLETS],
      ['03/21/2025', WALLETS.slice(0, 1)],
      ['04/01/2025', WALLETS],
    ] as const;
    for (const [at, [day, wallets]] of days.entries())
      await world.import({ source: 'ofac', files: [world.file(`${at}.xml`, SDN(day, wallets))] });
    const labels = world
      .lookup(await world.build(), 'ETH', WALLETS[1]!)
      .filter((one) => one.source === 'ofac');
    expect(
      labels.map((one) => [one.category, one.sanctions[0]?.listedAt, one.sanctions[0]?.delistedAt]),
    ).toEqual([
      ['SANCTIONED_ENTITY', '2025-04-01', null],
      ['OTHER', '2025-03-04', '2025-03-21'],
    ]);
    expect(labels.map((one) => [one.confidence, one.firstSeen, one.lastSeen])).toEqual([
      [1, '2025-04-01', '2025-04-01'],
      [0.5, '2025-03-04', '2025-03-04'],
    ]);
    expect(labels.map((one) => one.entity.category)).toEqual(['SANCTIONED_ENTITY', 'SANCTIONED_ENTITY']);
  });

  it('keeps history if an older file comes later, and reports it as older', async () => {
    await world.import({
      source: 'ofac',
      files: [world.file('new.xml', SDN('03/21/2025', WALLETS.slice(0, 1)))],
    });
    const before = world.deps.store.revision();
    const report = await world.import({
      source: 'ofac',
      files: [world.file('old.xml', SDN('03/04/2025', WALLETS))],
    });
    expect(report.datasets[0]).toMatchObject({ status: 'history', publishedAt: '2025-03-04' });
    expect(report.datasets[0]!.lists[0]).toMatchObject({
      list: 'OFAC_SDN',
      inForce: 1,
      delisted: 1,
      newestAt: '2025-03-21',
    });
    expect(world.deps.store.revision()).not.toBe(before);
    const snapshots = await world.build();
    const [listed] = world.lookup(snapshots, 'BASE', WALLETS[0]!);
    expect(listed).toMatchObject({
      category: 'SANCTIONED_ENTITY',
      threatLevel: 'CRITICAL',
      scope: 'EVM',
      source: 'ofac',
    });
    expect(listed!.sanctions[0]).toMatchObject({
      list: 'OFAC_SDN',
      entityId: '101',
      delistedAt: null,
      matchType: 'DIRECT',
    });
    const [delisted] = world.lookup(snapshots, 'ETH', WALLETS[1]!);
    expect(delisted).toMatchObject({ category: 'OTHER', entity: { category: 'OTHER' }, confidence: 0.5 });
    expect(delisted!.sanctions[0]).toMatchObject({ entityName: 'PARTY 102', delistedAt: '2025-03-21' });
  });

  it('ignores the same file the second time', async () => {
    const path = world.file('new.xml', SDN('03/21/2025', WALLETS));
    await world.import({ source: 'ofac', files: [path] });
    const again = await world.import({ source: 'ofac', files: [path] });
    expect(again).toMatchObject({ changed: false, datasets: [{ status: 'unchanged', labels: 2 }] });
  });

  it('dates the check of the list by its publication, unless the import gives a fetch time', async () => {
    const path = world.file('new.xml', SDN('03/21/2025', WALLETS));
    await world.import({ source: 'ofac', files: [path] });
    const group = () => freshnessOf(readListChecks(world.deps.store.folder), NOW, 7).groups.US;
    expect(readListChecks(world.deps.store.folder).OFAC_SDN).toMatchObject({
      publishedAt: '2025-03-21',
      checkedAt: '2025-03-21',
      records: 3,
    });
    expect(group()).toMatchObject({ loaded: false, fresh: false });
    await world.import({ source: 'ofac', files: [path], checkedAt: '2026-11-20T00:00:00.000Z' });
    expect(readListChecks(world.deps.store.folder).OFAC_SDN?.checkedAt).toBe('2026-11-20T00:00:00.000Z');
  });

  it('lets a loaded list override a seeded sanction', async () => {
    const fact = (category: string, address: string): string =>
      JSON.stringify({
        chain: 'ETH',
        address,
        entity: category === 'MIXER' ? 'tornado-cash' : 'ofac-102',
        name: 'A seeded party',
        category,
        tags: [],
        confidence: 1,
        sanctions: { list: 'OFAC_SDN', entityId: '39796', program: 'CYBER2', listedAt: '2022-08-08' },
        sourceUrl: 'https://example.org',
        date: '2025-03-01',
        verified: true,
      });
    const pool = '0x12d66f87a04a9e220743712ce6d9bb1b5616b8fc';
    const seed = [fact('MIXER', pool), fact('SANCTIONED_ENTITY', WALLETS[1]!)].join('\n');
    await world.import({ source: 'seed', files: [world.file('seed.ndjson', seed)] });
    const before = await world.build();
    const sanctionedIn = (snapshots: typeof before, address: string): boolean =>
      world
        .lookup(snapshots, 'ETH', address)
        .some((label) => label.sanctions.some((one) => one.delistedAt === null));
    expect([pool, WALLETS[1]!].map((one) => sanctionedIn(before, one))).toEqual([true, true]);
    await world.import({
      source: 'ofac',
      files: [world.file('new.xml', SDN('03/21/2025', WALLETS.slice(0, 1)))],
    });
    const after = await world.build();
    expect([pool, WALLETS[1]!].map((one) => sanctionedIn(after, one))).toEqual([false, false]);
    // The other information of the fact about the mixer remains. If a fact has no other information, it is gone.
    expect(world.lookup(after, 'ETH', pool).map((label) => label.category)).toEqual(['MIXER']);
    expect(world.lookup(after, 'ETH', WALLETS[1]!)).toEqual([]);
  });
});

describe('the store', () => {
  it('allows one writer at a time', async () => {
    const other = openLabelStore({ dataDir: join(world.folder, 'store') });
    await other.locked(async () => {
      const busy = world.import({ source: 'own', files: [world.file('mine.csv', OWN)] });
      await expect(busy).rejects.toMatchObject({ code: 'STORE_BUSY' });
    });
    await world.import({ source: 'own', files: [world.file('mine.csv', OWN)] });
  });

  it('rejects files of another format version, without overwriting them', async () => {
    await world.import({ source: 'own', files: [world.file('mine.csv', OWN)] });
    const path = join(world.deps.store.folder, 'catalogue.json');
    writeFileSync(path, JSON.stringify({ format: 99, datasets: [], lists: [] }));
    expect(() => world.deps.store.catalogue()).toThrow(/format version 99/);
    const refused = world.import({ source: 'own', files: [world.file('other.csv', OWN)] });
    await expect(refused).rejects.toMatchObject({ code: 'STORE_VERSION' });
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ format: 99 });
  });

  it('reports its progress after every 4,096 records and at the end', async () => {
    const rows = Array.from(
      { length: 8_193 },
      (_, at) => `0x${(at + 1).toString(16).padStart(40, '0')},ETH,A,SCAM,,,\n`,
    );
    const seen: number[] = [];
    // A header in quotes is read record by record; a plain one is read in whole windows.
    const importOf = (count: number) =>
      world.import({
        source: 'own',
        files: [
          world.file(`rows-${count}.csv`, `"address"${HEADER.slice(7)}${rows.slice(0, count).join('')}`),
        ],
        onProgress: ({ records }) => seen.push(records),
      });
    await importOf(3);
    await importOf(8_193);
    expect(seen).toEqual([3, 4_096, 8_192, 8_193]);
  });

  it('is unchanged if an import fails half way', async () => {
    await world.import({ source: 'own', files: [world.file('mine.csv', OWN)] });
    const before = readFileSync(join(world.deps.store.folder, 'catalogue.json'), 'utf8');
    const stop = new AbortController();
    const stopped = world.import({
      source: 'own',
      files: [world.file('mine.csv', `${OWN}${BINANCE},BSC,Another,SCAM,,,\n`)],
      signal: stop.signal,
      onProgress: () => stop.abort(new Error('stopped by the test')),
    });
    await expect(stopped).rejects.toThrow('stopped by the test');
    expect(readdirSync(world.deps.store.folder)).not.toContain('staged');
    expect(readdirSync(join(world.deps.store.folder, 'datasets'))).toHaveLength(1);
    expect(readFileSync(join(world.deps.store.folder, 'catalogue.json'), 'utf8')).toBe(before);
  });

  it('has an index of the shipped data after the first start, and imports it once', async () => {
    const first = await ensureShipped(world.deps);
    expect(first.map((report) => report.changed)).toEqual([true, true]);
    const again = await ensureShipped(world.deps);
    expect(again.map((report) => report.changed)).toEqual([false, false]);
    const seed = first[0]!.datasets[0]!;
    expect(seed.rejectsFile && readFileSync(seed.rejectsFile, 'utf8')).toBeNull();
    const snapshots = await world.build();
    const burn = '0x0000000000000000000000000000000000000000';
    expect(world.lookup(snapshots, 'BASE', burn)[0]).toMatchObject({ category: 'BURN', threatLevel: 'SAFE' });
  });
});

describe('a writer that is killed', () => {
  it('leaves the store unchanged, and the lock available', async () => {
    await world.import({ source: 'own', files: [world.file('mine.csv', OWN)] });
    const { folder } = world.deps.store;
    const before = readFileSync(join(folder, 'catalogue.json'), 'utf8');
    const script = `
      const { openLabelStore } = await import(${JSON.stringify(pathToFileURL(join(projectRoot, 'dist/src/labels/store.js')).href)});
      const { writeFileSync } = await import('node:fs');
      await openLabelStore({ dataDir: ${JSON.stringify(join(folder, '..'))} }).locked(async (writer) => {
        writeFileSync(writer.stage() + '/always.records', 'half a segment');
        process.stdout.write('staged');
        await new Promise((resolve) => setTimeout(resolve, 60_000));
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const busy = world.import({ source: 'own', files: [world.file('other.csv', OWN)] });
    await expect(busy).rejects.toMatchObject({ code: 'STORE_BUSY' });
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(readFileSync(join(folder, 'catalogue.json'), 'utf8')).toBe(before);
    const { changed } = await world.import({ source: 'own', files: [world.file('other.csv', `${OWN}\n`)] });
    expect(changed).toBe(true);
    expect(readdirSync(folder)).not.toContain('staged');
  });
});
