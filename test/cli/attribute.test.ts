/** `assay attribute` over the shipped labels: what it says if no deposit address can be derived. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { runCommand } from './run-command.ts';

const BINANCE = '0xbe0eb53f46cd790cd13851d5eff43d12404d33e8';

let folder: TempFolder;
beforeAll(() => {
  folder = tempFolder();
});
afterAll(() => folder.remove());

it('names the transfers that are missing, and not the labels, which are there', async () => {
  const transfers = join(folder.path, 'transfers.ndjson');
  const row = {
    ...{ txHash: `0x${'ab'.repeat(32)}`, position: 'value', blockNumber: 17_173_049 },
    ...{
      timestamp: '2023-05-02T12:19:59Z',
      from: `0x${'1'.repeat(40)}`,
      to: BINANCE,
      asset: 'ETH',
      amount: '1',
    },
  };
  writeFileSync(transfers, `${JSON.stringify(row)}\n`);
  for (const args of [
    ['index', 'build'],
    ['ingest', 'ndjson', transfers, '--chain', 'ETH'],
  ])
    expect(await runCommand(folder.path, args)).toMatchObject({ code: 0, err: '' });
  const { code, out } = await runCommand(folder.path, ['attribute', 'ETH', '--no-logs']);
  expect(code).toBe(0);
  expect(out).toContain('0 collecting wallets of 0 entities.');
  expect(out).toContain('transfers from ten addresses to such a wallet and from it to ten others');
  expect(out).not.toContain('import or sync labels first');
});
