/** The key of verdicts: encrypted, with an end, replaced, and rejected if it was damaged. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../src/base/random.ts';
import { parseVerifier, signVerdict, verdictOf, verdictSigner } from '../../src/receipts/eip712.ts';
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
    await signVerdict(testFacts(SUBJECT, now), TARGET, {
      key,
      clock: { ...clock, now: () => endsAt * 1_000 - 1 },
    });
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
    expect((await store.open()).address).toBe(first.address);
    now += 10;
    const second = await store.create(2);
    expect(store.list()).toEqual([second, first]);
    expect((await store.open()).address).toBe(second.address);
    for (const days of [0, 367, 1.5, Number.NaN])
      await expect(store.create(days)).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(store.list()).toHaveLength(2);
    expect((await store.create(366)).endsAt).toBe(now + 366 * 86_400);
    expect(store.list().slice(1)).toEqual([second, first]);
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
      JSON.stringify({ ...content, earlier: [{ address: other, createdAt: 1 }] }),
      ...['address', 'createdAt', 'endsAt', 'encrypted', 'earlier'].map((name) =>
        JSON.stringify({ ...content, [name]: undefined }),
      ),
      JSON.stringify({ ...content, createdAt: 1.5 }),
      'null',
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

  it('names its contract by CAIP-10, with an exact chain id', () => {
    const contract = TARGET.verifyingContract;
    for (const chainId of [1, 10, 999_999_999_999_999])
      expect(parseVerifier(`eip155:${chainId}:${contract}`)).toEqual({
        chainId,
        verifyingContract: contract,
      });
    for (const wrong of [
      '',
      contract,
      `eip155:0:${contract}`,
      `eip155:01:${contract}`,
      `eip155:1000000000000000:${contract}`,
      `eip155:1:${contract}0`,
      `eip155:1:${contract.slice(0, -1)}`,
      `eip155:1:${contract.slice(2)}`,
      `xeip155:1:${contract}`,
      `bip122:1:${contract}`,
    ])
      expect(() => parseVerifier(wrong), wrong).toThrow('verifier: must be');
  });

  it('has one signature for each verdict: its twin with the other s, and other forms, are of nobody', async () => {
    const store = opened();
    await store.create(1);
    const { message, signature, signer } = await signVerdict(testFacts(SUBJECT, NOW), TARGET, {
      key: await store.open(),
      clock,
    });
    const [r, s, v] = [signature.slice(0, 66), signature.slice(66, 130), signature.slice(130)];
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const twin = (order - BigInt(`0x${s}`)).toString(16).padStart(64, '0');
    expect(await verdictSigner(message, TARGET, signature)).toBe(signer);
    for (const wrong of [
      `${r}${twin}${v === '1b' ? '1c' : '1b'}`,
      `${r}${s}${v === '1b' ? '00' : '01'}`,
      `${signature}00`,
      signature.slice(2),
      `0x${'ff'.repeat(32)}${s}${v}`,
      '',
    ])
      expect(await verdictSigner(message, TARGET, wrong), wrong).toBeNull();
  });

  it('makes no verdict that a contract would misread', () => {
    const of = (change: Parameters<typeof testFacts>[2]) => () => verdictOf(testFacts(SUBJECT, NOW, change));
    expect(of({ verdict: 'danger' })().verdict).toBe(3);
    expect(of({ chain: 'BTC' })).toThrow('chain: must be an EVM chain');
    expect(of({ expiresAt: NOW + 901 })).toThrow('expiresAt');
    expect(of({ expiresAt: NOW })).toThrow('expiresAt');
    for (const score of [-1, 101, 0.5, Number.NaN]) expect(of({ score })).toThrow('score');
    expect(of({ expiresAt: NOW + 1 })()).toMatchObject({ issuedAt: NOW, expiresAt: NOW + 1 });
    expect(of({ issuedAt: NOW + 0.5, expiresAt: NOW + 1.5 })).toThrow('expiresAt');
    for (const score of [0, 100]) expect(of({ score })().score).toBe(score);
    for (const field of ['receiptSha256', 'policySha256'])
      for (const wrong of ['AB'.repeat(32), 'ab'.repeat(31), `${'ab'.repeat(32)}0`, ''])
        expect(of({ [field]: wrong })).toThrow(field);
    expect(of({ address: '0x12' })).toThrow();
  });
});
