/** Roots and proofs of a server, from real labels of a real list, and over HTTP. */
import { readdirSync, readlinkSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { LabelReader } from '../../../src/labels/index/reader.ts';
import { sanctionedAddresses } from '../../../src/receipts/oracle/accounts.ts';
import { rootOf } from '../../../src/receipts/oracle/merkle.ts';
import { writeTree } from '../../../src/receipts/oracle/tree-file.ts';
import { type OracleProof, OracleTrees } from '../../../src/receipts/oracle/trees.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';
import { openWorld } from '../../http/world.ts';
import { sleep, until } from '../../support/wait.ts';

const addressOf = (number: number): Uint8Array => Buffer.from(number.toString(16).padStart(40, '0'), 'hex');
const text = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`;
const fromHex = (value: string): Uint8Array => Uint8Array.from(Buffer.from(value.slice(2), 'hex'));

describe('OracleTrees', () => {
  let folder: TempFolder;
  let version: string;
  let listed: number[];
  let builds: number;
  let running: number;
  let mostRunning: number;
  let trees: OracleTrees;
  let open: () => OracleTrees;

  beforeEach(() => {
    folder = tempFolder();
    [version, listed, builds, running, mostRunning] = ['v1', [3, 5, 9], 0, 0, 0];
    const reader: Pick<LabelReader, 'eachSanctioned'> = {
      eachSanctioned: (_, visit) => listed.map(addressOf).forEach(visit),
    };
    open = () =>
      new OracleTrees(folder.path, {
        dataVersion: () => version,
        clock: systemClock,
        async build(chain) {
          builds++;
          mostRunning = Math.max(mostRunning, ++running);
          await sleep(10);
          running--;
          return writeTree(folder.path, { chain, dataVersion: version }, sanctionedAddresses(reader, chain));
        },
      });
    trees = open();
  });
  afterEach(() => folder.remove());

  const verified = (proof: OracleProof): string => {
    const bounds = { low: fromHex(proof.low), high: fromHex(proof.high) };
    return `0x${Buffer.from(rootOf(bounds, proof.index, proof.path.map(fromHex))).toString('hex')}`;
  };

  it('proves addresses in any spelling, and builds one tree for each version of the labels', async () => {
    const root = await trees.root('eth');
    expect(root).toMatchObject({ chain: 'ETH', size: 3, depth: 2, dataVersion: 'v1' });
    const [yes, no] = await Promise.all([
      trees.proof('ETH', text(5)),
      trees.proof('eth', text(4).replace('0x', '0X')),
    ]);
    expect(yes).toMatchObject({
      address: text(5),
      sanctioned: true,
      root: root.root,
      snapshot: root.snapshot,
    });
    expect(no).toMatchObject({ address: text(4), sanctioned: false, index: 1 });
    expect([verified(yes), verified(no)]).toEqual([root.root, root.root]);
    expect(builds).toBe(1);
    version = 'v2';
    expect((await trees.root('ETH')).root).toBe(root.root);
    expect(builds).toBe(2);
  });

  it('returns proofs for the root that a contract still has, and keeps the newest eight', async () => {
    const roots: string[] = [];
    for (let change = 0; change < 10; change++) {
      [version, listed] = [`v${change}`, [3, 5, 9, 20 + change]];
      roots.push((await trees.root('ETH')).root);
    }
    expect(new Set(roots).size).toBe(10);
    expect(readdirSync(folder.path)).toHaveLength(8);
    expect(await trees.proof('ETH', text(28), roots[8])).toMatchObject({ sanctioned: true, root: roots[8] });
    expect(await trees.proof('ETH', text(28))).toMatchObject({ sanctioned: false, root: roots[9] });
    for (const root of [roots[0], `0x${'ab'.repeat(32)}`])
      await expect(trees.proof('ETH', text(28), root)).rejects.toMatchObject({
        code: 'NOT_FOUND',
        field: 'root',
      });
    for (const root of ['', `0x${'AB'.repeat(32)}`, '../../secret', `0x${'ab'.repeat(31)}/.`])
      await expect(trees.proof('ETH', text(28), root)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('builds a tree again if its file was removed', async () => {
    const { root } = await trees.root('ETH');
    for (const name of readdirSync(folder.path)) rmSync(join(folder.path, name));
    expect(await trees.proof('ETH', text(3))).toMatchObject({ sanctioned: true, root });
    expect(builds).toBe(2);
  });

  it('proves for the present root before anything was built here, and builds once for unknown roots', async () => {
    const { root } = await trees.root('ETH');
    for (const name of readdirSync(folder.path)) rmSync(join(folder.path, name));
    builds = 0;
    const restarted = open();
    expect(await restarted.proof('ETH', text(5), root)).toMatchObject({ sanctioned: true, root });
    for (const other of ['ab', 'cd'])
      await expect(restarted.proof('ETH', text(5), `0x${other.repeat(32)}`)).rejects.toMatchObject({
        code: 'NOT_FOUND',
        field: 'root',
      });
    expect(builds).toBe(1);
  });

  it('builds it once for all requests that find it removed', async () => {
    const { root } = await trees.root('ETH');
    for (const name of readdirSync(folder.path)) rmSync(join(folder.path, name));
    const numbers = [2, 3, 4, 5, 6, 7, 8, 9];
    const proofs = await Promise.all(numbers.map((number) => trees.proof('ETH', text(number))));
    expect(proofs.map(({ sanctioned }) => sanctioned)).toEqual(
      numbers.map((number) => listed.includes(number)),
    );
    expect(new Set(proofs.map(verified))).toEqual(new Set([root]));
    expect(builds).toBe(2);
  });

  it('runs one build at a time while the labels change, and keeps the newest', async () => {
    const asked = [];
    for (const [at, next] of ['v1', 'v2', 'v3'].entries()) {
      [version, listed] = [next, [3, 5, 9, 20 + at]];
      asked.push(trees.proof('ETH', text(20 + at)), trees.proof('BSC', text(3)));
      await sleep(3);
    }
    for (const proof of await Promise.all(asked)) expect(verified(proof)).toBe(proof.root);
    expect(mostRunning).toBe(1);
    const before = builds;
    expect(await trees.proof('ETH', text(22))).toMatchObject({ sanctioned: true, dataVersion: 'v3' });
    expect(builds).toBe(before);
  });

  it('knows of a tree which labels it has, if they change before it is built', async () => {
    const asked = trees.root('ETH');
    version = 'v2';
    expect(await asked).toMatchObject({ dataVersion: 'v2' });
    expect(await trees.root('ETH')).toMatchObject({ dataVersion: 'v2' });
    expect(builds).toBe(1);
  });

  it('tries again after a build that failed', async () => {
    const wrong = new OracleTrees(folder.path, {
      ...{ dataVersion: () => version, clock: systemClock },
      async build(chain) {
        if (++builds === 1) throw new Error('no memory');
        return writeTree(folder.path, { chain, dataVersion: version }, listed.map(addressOf));
      },
    });
    await expect(wrong.root('ETH')).rejects.toThrow('no memory');
    expect(await wrong.root('ETH')).toMatchObject({ size: 3 });
  });

  it('removes the drafts of builds that were killed, and no others', async () => {
    const [stale, fresh] = ['building-ETH-1.tmp', 'building-BSC-2.tmp'];
    for (const name of [stale, fresh, 'push-1-0x00.json']) writeFileSync(join(folder.path, name), 'x');
    const before = systemClock.now() / 1_000 - 3_700;
    for (const name of [stale, 'push-1-0x00.json']) utimesSync(join(folder.path, name), before, before);
    await trees.root('ETH');
    const names = readdirSync(folder.path).filter((name) => !name.endsWith('.tree'));
    expect(names.sort()).toEqual([fresh, 'push-1-0x00.json']);
  });

  it('keeps the later of two builds, whether the earlier one ends well or fails', async () => {
    for (const isFailing of [false, true]) {
      const ends: (() => void)[] = [];
      const own = new OracleTrees(folder.path, {
        ...{ dataVersion: () => version, clock: systemClock },
        async build(chain) {
          const [dataVersion, number] = [version, ends.length];
          await new Promise<void>((resolve) => ends.push(resolve));
          if (isFailing && number === 0) throw new Error('no memory');
          return writeTree(folder.path, { chain, dataVersion }, listed.map(addressOf));
        },
      });
      version = `${isFailing}-1`;
      const first = own.root('ETH').catch(() => null);
      await until(() => ends.length === 1);
      version = `${isFailing}-2`;
      const second = own.root('ETH');
      ends[0]?.();
      await first;
      const third = own.root('ETH');
      await until(() => ends.length === 2);
      ends[1]?.();
      expect((await Promise.all([second, third])).map((root) => root.dataVersion)).toEqual([
        version,
        version,
      ]);
      expect(ends).toHaveLength(2);
    }
  });

  it('removes the trees of its own chain only, and no other files', async () => {
    writeFileSync(join(folder.path, 'ETH-note.txt'), 'x');
    utimesSync(join(folder.path, 'ETH-note.txt'), 1, 1);
    const bsc = await trees.root('BSC');
    for (let change = 0; change < 9; change++) {
      [version, listed] = [`v${change}`, [3, 5, 9, 20 + change]];
      await trees.root('ETH');
    }
    const names = readdirSync(folder.path);
    expect(names.filter((name) => name.startsWith('ETH-')).length).toBe(9);
    expect(names).toContain('ETH-note.txt');
    expect(await trees.proof('BSC', text(5), bsc.root)).toMatchObject({ root: bsc.root });
  });

  it('refuses a damaged tree, and builds none in its place', async () => {
    const { root } = await trees.root('ETH');
    for (const name of readdirSync(folder.path)) truncateSync(join(folder.path, name), 100);
    await expect(trees.proof('ETH', text(3))).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    await expect(trees.proof('ETH', text(3), root)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    expect(builds).toBe(1);
  });

  it('closes the file of every tree that it reads', async () => {
    const { root } = await trees.root('ETH');
    const isOpen = (): boolean =>
      readdirSync('/proc/self/fd').some((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder.path);
        } catch {
          // The descriptor of the listing itself.
          return false;
        }
      });
    await trees.proof('ETH', text(3), root);
    await expect(trees.proof('ETH', text(3), `0x${'ab'.repeat(32)}`)).rejects.toThrow('no tree');
    expect(isOpen()).toBe(false);
    for (const name of readdirSync(folder.path)) truncateSync(join(folder.path, name), 100);
    await expect(trees.proof('ETH', text(3))).rejects.toThrow('damaged');
    expect(isOpen()).toBe(false);
  });

  it('refuses chains that are not EVM chains, and invalid addresses', async () => {
    await expect(trees.root('BTC')).rejects.toMatchObject({ code: 'INVALID_REQUEST', field: 'chain' });
    await expect(trees.root('nope')).rejects.toMatchObject({ code: 'UNKNOWN_CHAIN' });
    await expect(trees.proof('ETH', '0x12')).rejects.toMatchObject({ code: 'INVALID_ADDRESS' });
    expect(builds).toBe(0);
  });

  it('answers over HTTP with the permission of the oracle, and counts a proof but not a root', async () => {
    const world = await openWorld({ backend: 'node', useCases: { oracleTrees: trees } });
    try {
      const get = (path: string, key: string) =>
        fetch(`${world.url}/api/v1${path}`, { headers: { Authorization: `Bearer ${key}` } });
      const other = await world.key({ permissions: ['entity'] });
      expect((await get(`/oracle/proof/ETH/${text(5)}`, other)).status).toBe(403);
      const key = await world.key({ permissions: ['oracle'], plan: 'FREE' });
      const proof = await get(`/oracle/proof/ETH/${text(5)}`, key);
      expect(proof.status).toBe(200);
      const { data } = (await proof.json()) as { data: OracleProof };
      expect(data).toEqual(await trees.proof('ETH', text(5)));
      const left = Number(proof.headers.get('x-quota-remaining'));
      const root = await get('/oracle/root/ETH', key);
      expect(((await root.json()) as { data: { root: string } }).data.root).toBe(data.root);
      const again = await get(`/oracle/proof/eth/${text(4)}?root=${data.root}`, key);
      expect(Number(again.headers.get('x-quota-remaining'))).toBe(left - 1);
      const gone = await get(`/oracle/proof/eth/${text(4)}?root=0x${'ab'.repeat(32)}`, key);
      expect(gone.status).toBe(404);
      expect((await get('/oracle/root/BTC', key)).status).toBe(400);
    } finally {
      await world.close();
    }
  });
});
