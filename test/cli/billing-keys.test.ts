/** `assay billing keys` and the settings of watch-only keys, as an operator uses them. */
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createServices } from '../../src/app/services.ts';
import { counterOf } from '../../src/billing/crypto/method.ts';
import { readWatchOnlyKey } from '../../src/billing/crypto/watch-only-key.ts';
import { loadConfig } from '../../src/config/config.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { runCommand } from './run-command.ts';

/** The account key of BIP-84's vector. */
const ZPUB =
  'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs';
const folder = tempFolder();
afterAll(() => folder.remove());
const dataDir = join(folder.path, 'store');

it('lists the range of addresses that a wallet must import', async () => {
  const settings = { ASSAY_PAYMENT_KEY_BTC: ZPUB };
  const before = await runCommand(dataDir, ['billing', 'keys'], settings);
  expect(before).toMatchObject({ code: 0, err: '' });
  expect(before.out).toContain('BTC: wpkh, first path 0/0, next index 0, no address given yet');
  const services = createServices(
    loadConfig({ ASSAY_DATA_DIR: dataDir, ASSAY_LOG_LEVEL: 'silent', ASSAY_SYNC: 'off', ...settings }),
    '0.0.0',
  );
  const counter = counterOf(readWatchOnlyKey('BTC', ZPUB, 'KEY'));
  for (let taken = 0; taken < 25; taken++) await services.billing().store().nextNumber(counter);
  await services.close();
  const { out } = await runCommand(dataDir, ['billing', 'keys'], settings);
  expect(out).toContain('next index 25, addresses 0 to 24 given');
  expect(out).toContain('gap limit to at least 45');
  expect(out).toMatch(/importdescriptors '\[\{"desc":"wpkh\(xpub\w+\/0\/\*\)#[a-z0-9]{8}","range":\[0,24\]/);
  const json = JSON.parse((await runCommand(dataDir, ['billing', 'keys', '--json'], settings)).out) as {
    keys: unknown[];
  };
  expect(json.keys).toMatchObject([{ key: 'BTC', next: 25, range: [0, 24] }]);
});

it('refuses a private key before anything else, and never repeats it', async () => {
  const xprv =
    'xprv9s21ZrQH143K3GJpoapnV8SFfukcVBSfeCficPSGfubmSFDxo1kuHnLisriDvSnRRuL2Qrg5ggqHKNVpxR86QEC8w35uxmGoggxtQTPvfUu';
  const { code, err } = await runCommand(dataDir, ['billing', 'packages'], { ASSAY_PAYMENT_KEY_EVM: xprv });
  expect(code).not.toBe(0);
  expect(err).toContain('ASSAY_PAYMENT_KEY_EVM');
  expect(err).toContain('is a private key');
  expect(err).not.toContain(xprv.slice(8, 30));
});

it('says which settings are missing', async () => {
  const { code, err } = await runCommand(dataDir, ['billing', 'keys']);
  expect(code).not.toBe(0);
  expect(err).toContain('ASSAY_PAYMENT_KEY_BTC');
});
