/** A running server on a full disk: charges fail with 500, free operations go on, and nothing is damaged. */
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { newWorld } from '../e2e/program.ts';
import { PROGRAM } from '../setup/program-path.ts';

const ADDRESS = '0x098b716b8aaf21512996dc57eb0615e2383e2f96';
const CALLS = 15;

describe('a server on a full disk', () => {
  const world = newWorld();
  afterAll(() => world.end());

  it('serves free requests, fails charged ones without a charge, and stops cleanly', async () => {
    const first = await world.serve();
    const key = first.firstKey;
    expect(await first.stop()).toBe(0);
    const path = join(world.folder, 'store', 'accounts', 'ledger.mdb');
    const ledger = openLedger({ path }, { clock: systemClock, log: silentLogger, freeCredits: () => 10 });
    await Promise.all(
      Array.from({ length: 500 }, () =>
        ledger.book({ accountId: 'local', type: 'GRANT', amount: 1, reference: 'x'.repeat(600) }),
      ),
    );
    const { balance } = ledger.balance('local');
    await ledger.close();

    // No file of this process may grow beyond the current size of the ledger: for this process, the disk is full.
    const server = spawn(
      'bash',
      [
        '-c',
        `ulimit -f ${Math.ceil(statSync(path).size / 1024)}; exec "$0" "$1" serve`,
        process.execPath,
        PROGRAM,
      ],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: {
          PATH: process.env.PATH,
          ASSAY_DATA_DIR: join(world.folder, 'store'),
          ASSAY_PORT: '0',
          ASSAY_SYNC: 'off',
          ASSAY_WORKERS: '1',
        },
      },
    );
    let log = '';
    server.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
    const ended = new Promise<number | null>((resolve) => server.on('close', resolve));
    try {
      const url = await new Promise<string>((resolve, reject) => {
        let out = '';
        server.stdout.setEncoding('utf8').on('data', (text: string) => {
          out += text;
          const found = /^Assay answers on (\S+) /m.exec(out)?.[1];
          if (found) resolve(found);
        });
        void ended.then((code) => reject(new Error(`serve ended with ${code}: ${log}`)));
      });
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const get = async (route: string) => fetch(`${url}/api/v1${route}`, { headers });
      const statuses: number[] = [];
      for (let call = 0; call < CALLS; call++) {
        const answer = await fetch(`${url}/api/v1/screening`, {
          method: 'POST',
          headers: { ...headers, 'idempotency-key': `call-${call}` },
          body: JSON.stringify({ address: ADDRESS, chain: 'ETH' }),
        });
        await answer.text();
        statuses.push(answer.status);
      }
      const charged = statuses.filter((status) => status === 200).length;
      expect(statuses.filter((status) => status === 500)).toHaveLength(CALLS - charged);
      expect(charged).toBeLessThan(CALLS);
      expect(log).toContain('The ledger cannot be written');
      for (let call = 0; call < 50; call++)
        expect((await get(`/oracle/address/ETH/${ADDRESS}`)).status).toBe(200);
      const usage = await get('/usage?limit=1');
      expect(usage.status).toBe(200);
      expect(await usage.json()).toMatchObject({
        data: { balance: balance - charged, credits: { held: 0 } },
      });
      server.kill('SIGTERM');
      expect(await ended).toBe(0);
      const verified = await world.here(['ledger', 'verify', '--json']);
      expect(JSON.parse(verified.out)).toMatchObject({ balance: balance - charged, faults: [] });
    } finally {
      server.kill('SIGKILL');
      await ended;
    }
  });
});
