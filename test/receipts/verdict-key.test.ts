/** The key of verdicts: encrypted, with an end, replaced, and rejected if it was damaged. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/base/random.ts';
import { signVerdict, verdictOf, verdictSigner } from '../../src/receipts/eip712.ts';
import { openVerdictKeys, type VerdictKeyStore, verdictKeyPath } from '../../src/receipts/verdict-key.ts';
import { createEncryption } from '../../src/state/encryption.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { testFacts } from '../setup/verdicts.ts';

const NOW = 2_000_000_000;
const SUBJECT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const TARGET = { chainId: 1, verifyingContract: `0x${'42'.repeat(20)}` };

describe('the key of verdicts', () => {
  let folder: TempFolder;
  let path: string;
  let now: number;
  const clock = { now: () => now * 1_000, monotonic: () => 0 };
  const opened = (secret = 7): VerdictKeyStore =>
    openVerdictKeys(path, {
      clock,
      random: systemRandom,
      encryption: () => createEncryption(Buffer.alloc(32, secret), systemRandom),
    });

  beforeEach(() => {
    now = NOW;
    folder = tempFolder();
    path = verdictKeyPath(folder.path);
  });
  afterEach(() => folder.remove());

  it('signs verdicts until its end', async () => {
    const store = opened();
    await expect(store.open()).rejects.toMatchObject({ code: 'NOT_READY' });
    const { address, endsAt } = await store.create(90);
    expect(endsAt).toBe(NOW + 90 * 86_400);
    const key = await store.open();
    const signed = await signVerdict(testFacts(SUBJECT, NOW), TARGET, { key, clock });
    expect(signed.signer).toBe(address);
    expect(await verdictSigner(signed.message, TARGET, signed.signature)).toBe(address);
    expect(await verdictSigner({ ...signed.message, score: 8 }, TARGET, signed.signature)).not.toBe(address);
    now = endsAt;
    await expect(signVerdict(testFacts(SUBJECT, now), TARGET, { key, clock })).rejects.toMatchObject({
      code: 'NOT_READY',
    });
  });

  it('signs for the address of a contract on a numbered chain only', async () => {
    await opened().create(1);
    const key = await opened().open();
    const of = (change: Partial<typeof TARGET>) =>
      signVerdict(testFacts(SUBJECT, NOW), { ...TARGET, ...change }, { key, clock });
    const full = TARGET.verifyingContract;
    for (const verifyingContract of [
      '',
      'contract.eth',
      full.slice(0, -1),
      `${full}0`,
      full.slice(2),
      `${full}\n`,
    ])
      await expect(of({ verifyingContract })).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        field: 'verifyingContract',
      });
    for (const chainId of [0, -1, 1.5, Number.NaN, 2 ** 53])
      await expect(of({ chainId })).rejects.toMatchObject({ code: 'INVALID_REQUEST', field: 'chainId' });
  });

  it('is encrypted, and readable by its owner only', async () => {
    const random = {
      bytes: (count: number) => (count === 32 ? Buffer.alloc(32, 0x5c) : systemRandom.bytes(count)),
    };
    const encryption = () => createEncryption(Buffer.alloc(32, 7), systemRandom);
    await openVerdictKeys(path, { clock, random, encryption }).create(1);
    expect(readFileSync(path, 'utf8')).not.toContain('5c'.repeat(8));
    expect(statSync(path).mode & 0o077).toBe(0);
    await expect(opened(8).open()).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    await opened().open();
  });

  it('lists replaced keys without their secrets', async () => {
    const store = opened();
    const first = await store.create(1);
    now += 10;
    const second = await store.create(2);
    expect(store.list()).toEqual([second, first]);
    expect((await store.open()).address).toBe(second.address);
    for (const days of [0, 367, 1.5, Number.NaN])
      await expect(store.create(days)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
  });

  it('is refused if its file was damaged, and the file is not changed', async () => {
    const store = opened();
    await store.create(1);
    const text = readFileSync(path, 'utf8');
    const { crc32: _, ...content } = JSON.parse(text) as Record<string, unknown>;
    const other = `0x${'11'.repeat(20)}`;
    for (const wrong of [
      text.replace('"endsAt"', '"endsat"'),
      text.slice(0, 50),
      JSON.stringify({ ...content, earlier: 5 }),
    ]) {
      writeFileSync(path, wrong);
      expect(() => store.list()).toThrow(/damaged/);
      await expect(store.create(1)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
      expect(readFileSync(path, 'utf8')).toBe(wrong);
    }
    writeFileSync(path, JSON.stringify({ ...content, address: other }));
    await expect(store.open()).rejects.toThrow('another address');
    writeFileSync(path, JSON.stringify({ ...content, format: 2 }));
    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_VERSION' });
  });

  it('makes no verdict that a contract would misread', () => {
    const of = (change: Parameters<typeof testFacts>[2]) => () => verdictOf(testFacts(SUBJECT, NOW, change));
    expect(of({ verdict: 'danger' })().verdict).toBe(3);
    expect(of({ chain: 'BTC' })).toThrow('chain: must be an EVM chain');
    expect(of({ expiresAt: NOW + 901 })).toThrow('expiresAt');
    expect(of({ expiresAt: NOW })).toThrow('expiresAt');
    for (const score of [-1, 101, 0.5, Number.NaN]) expect(of({ score })).toThrow('score');
    expect(of({ receiptSha256: 'AB'.repeat(32) })).toThrow('receiptSha256');
    expect(of({ address: '0x12' })).toThrow();
  });
});
