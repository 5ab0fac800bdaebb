/** A node whose installation.key is not the one with which the keys of receipts and of their log are encrypted. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { verifyCheckpoint } from '../../src/receipts/log/checkpoint.ts';
import { openReceiptLog } from '../../src/receipts/log/log.ts';
import { verifyProof } from '../../src/receipts/log/proof.ts';
import { tilesBetween } from '../../src/receipts/log/tiles.ts';
import type { Receipts } from '../../src/receipts/service.ts';
import { openReceiptStore } from '../../src/receipts/store-lmdb.ts';
import { createEncryption, type Encryption } from '../../src/state/encryption.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { openWorld } from '../http/world.ts';
import { entriesOf, entryOf, openLog } from './log/world.ts';

const keyOf = (byte: number): Encryption => createEncryption(Buffer.alloc(32, byte), systemRandom);
const refused = (what: string) => ({
  code: 'NOT_READY',
  message: `The installation.key of this node differs from the one with which the key of ${what} is encrypted. Copy it from another node or a backup, and restart.`,
});

describe('a node with another installation.key', () => {
  let folder: TempFolder;
  beforeEach(() => {
    folder = tempFolder();
  });
  afterEach(() => folder.remove());

  it('serves the log, and appends and signs nothing', async () => {
    const own = await openLog(folder.path, { key: keyOf(2) });
    const { vkey } = own.log.verifier;
    await own.log.append(entriesOf(0, 300));
    await own.store.append(
      entriesOf(300, 301),
      () => '',
      () => false,
    );
    // Signs nothing when it is closed.
    await own.store.close();
    const foreign = await openLog(folder.path, { key: keyOf(3), checkpointMs: 1 });
    const { log, store } = foreign;
    expect(log.verifier.vkey).toBe(vkey);
    expect(log.problem()).toEqual({
      reason: refused('the transparency log').message,
      since: expect.any(String),
    });
    const before = log.checkpoint();
    expect(verifyCheckpoint(before, log.verifier)).toMatchObject({ size: 300 });
    const { id, hash } = entryOf(7);
    expect(verifyProof((await log.proof(id)) as string, hash, log.verifier)).toMatchObject({ size: 300 });
    for (const name of tilesBetween(0, 300)) expect(log.tile(name)).not.toBeNull();
    await expect(log.append([entryOf(400)])).rejects.toMatchObject(refused('the transparency log'));
    await log.close();
    expect([store.size(), store.checkpoint()]).toEqual([301, before]);
    await store.close();
    const again = await openLog(folder.path, { key: keyOf(2) });
    expect(again.log.problem()).toBeNull();
    await again.log.append([entryOf(400)]);
    await again.close();
  });

  it('opens the log also if the file of the key is damaged, and logs one error', async () => {
    const own = await openLog(folder.path);
    await own.log.close();
    const errors: unknown[] = [];
    const log = await openReceiptLog(
      { origin: null, fallbackOrigin: 'assay.invalid/test', isWitnessed: false },
      {
        store: own.store,
        encryption: () => {
          throw new AssayError('STORE_CORRUPT', 'installation.key is not a key of 32 bytes.');
        },
        clock: systemClock,
        random: systemRandom,
        log: { ...silentLogger, error: (fields: unknown) => errors.push(fields) } as typeof silentLogger,
      },
    );
    expect(errors).toEqual([{ reason: 'installation.key is not a key of 32 bytes.' }]);
    expect(log.problem()).toMatchObject({ reason: 'installation.key is not a key of 32 bytes.' });
    await log.close();
    await own.store.close();
  });

  it('shows the public keys of receipts, and signs none', async () => {
    const open = (byte: number) =>
      openReceiptStore(
        { path: `${folder.path}/receipts.mdb` },
        { clock: systemClock, encryption: () => keyOf(byte) },
      );
    const own = open(2);
    const { kid } = await own.keys.active();
    await own.close();
    const foreign = open(3);
    await expect(foreign.keys.active()).rejects.toMatchObject(refused('receipts'));
    const world = await openWorld({
      backend: 'node',
      useCases: { receipts: () => ({ keys: foreign.keys }) as unknown as Receipts },
    });
    const response = await fetch(`${world.url}/.well-known/jwks.json`);
    expect([response.status, await response.json()]).toMatchObject([200, { keys: [{ kid }] }]);
    await world.close();
    await foreign.close();
  });
});
