import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { consistencyParts, isConsistent } from '../../../src/base/merkle.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { verifyCheckpoint } from '../../../src/receipts/log/checkpoint.ts';
import { tilesOf } from '../../../src/receipts/log/continuity.ts';
import { LOG_LIMITS } from '../../../src/receipts/log/limits.ts';
import { openReceiptLog, type ReceiptLog } from '../../../src/receipts/log/log.ts';
import { verifyProof } from '../../../src/receipts/log/proof.ts';
import type { LogStore } from '../../../src/receipts/log/store.ts';
import { openLogStore } from '../../../src/receipts/log/store-lmdb.ts';
import { leavesOfBundle, TileTree, tilesBetween } from '../../../src/receipts/log/tiles.ts';
import { openLiveStore } from '../../../src/state/live-store.ts';
import { type TempFolder, tempFolder } from '../../accounts/temp-folder.ts';
import { sleep, until } from '../../support/wait.ts';
import { encryption, entriesOf, entryOf, type OpenedLog, ORIGIN, openLog } from './world.ts';

describe('the transparency log', () => {
  let folder: TempFolder;
  let store: LogStore;
  let log: ReceiptLog;

  let opened: OpenedLog;

  async function open(options: Parameters<typeof openLog>[1] = {}): Promise<void> {
    opened = await openLog(folder.path, options);
    ({ log, store } = opened);
  }
  const head = () => verifyCheckpoint(log.checkpoint(), log.verifier);
  const close = (): Promise<void> => opened.close();
  async function requireContinues(older: ReturnType<typeof head>): Promise<void> {
    const newer = head();
    const proof = await new TileTree(newer.size, tilesOf(store)).hashes(
      consistencyParts(older.size, newer.size),
    );
    expect(isConsistent(older, newer, proof)).toBe(true);
  }

  beforeEach(async () => {
    folder = tempFolder();
    await open();
  });
  afterEach(async () => {
    await close();
    folder.remove();
  });

  it('begins with a checkpoint of no entries', () => {
    expect(head()).toMatchObject({ origin: 'log.example/assay', size: 0 });
  });

  it('numbers entries in their order, and appends each once', async () => {
    expect(await log.append(entriesOf(0, 3))).toEqual([
      { id: 'receipt-0', index: 0 },
      { id: 'receipt-1', index: 1 },
      { id: 'receipt-2', index: 2 },
    ]);
    expect(await log.append([entryOf(1), entryOf(3), entryOf(3)])).toEqual([
      { id: 'receipt-1', index: 1 },
      { id: 'receipt-3', index: 3 },
      { id: 'receipt-3', index: 3 },
    ]);
    expect(store.size()).toBe(4);
  });

  it('signs what was appended before it is closed', async () => {
    // More than one group, so that the second is not written yet.
    const appended = [log.append(entriesOf(0, 4_096)), log.append(entriesOf(4_096, 4_106))];
    await log.close();
    expect((await Promise.all(appended)).flat()).toHaveLength(4_106);
    expect(head().size).toBe(4_106);
    expect(() => log.append(entriesOf(0, 1))).toThrow('is closed');
  });

  it('takes as many entries as may wait, and refuses one more until they are appended', async () => {
    const most = LOG_LIMITS.waitingEntriesMax;
    const half = log.append(entriesOf(0, most / 2));
    const rest = log.append(entriesOf(most / 2, most));
    expect(() => log.append([entryOf(most)])).toThrow('Too many receipts wait');
    expect(await half).toHaveLength(most / 2);
    expect(await rest).toHaveLength(most / 2);
    expect(await log.append([entryOf(most)])).toEqual([{ id: `receipt-${most}`, index: most }]);
  });

  it('rejects another hash for an id, and only that', async () => {
    await log.append([entryOf(0)]);
    const wrong = log.append([{ id: 'receipt-0', hash: Buffer.alloc(32) }]);
    const right = log.append([entryOf(1)]);
    await expect(wrong).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(await right).toEqual([{ id: 'receipt-1', index: 1 }]);
  });

  it('signs a checkpoint per 256 entries at once, and else when it is time', async () => {
    await log.append(entriesOf(0, 10));
    expect(head().size).toBe(0);
    await log.append(entriesOf(10, 266));
    expect(head().size).toBe(266);
    await log.append(entriesOf(266, 300));
    expect(head().size).toBe(266);
    await close();
    await open({ checkpointMs: 5 });
    expect(head().size).toBe(300);
    await log.append(entriesOf(300, 301));
    await until(() => head().size === 301);
  });

  it('proves every receipt with its checkpoint, offline', async () => {
    await log.append(entriesOf(0, 700));
    for (const number of [0, 1, 255, 256, 511, 512, 699]) {
      const { id, hash } = entryOf(number);
      const proof = (await log.proof(id)) as string;
      expect(verifyProof(proof, hash, log.verifier)).toMatchObject({ size: 700 });
      expect(() => verifyProof(proof, entryOf(number + 1).hash, log.verifier)).toThrow('does not show');
    }
    expect(await log.proof('receipt-700')).toBeNull();
    await log.append([entryOf(700)]);
    await expect(log.proof('receipt-700')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('serves the tiles and bundles of its checkpoint, and no more', async () => {
    await log.append(entriesOf(0, 600));
    await log.append(entriesOf(600, 610));
    const { size } = head();
    expect(size).toBe(600);
    for (const name of tilesBetween(0, size)) {
      const tile = log.tile(name) as Buffer;
      if (name.level === 'entries')
        expect(Buffer.concat(leavesOfBundle(tile))).toEqual(log.tile({ ...name, level: 0 }));
      else expect(tile).toHaveLength(name.width * 32);
    }
    expect(log.tile({ level: 0, index: 2, width: 88 })).not.toBeNull();
    expect(log.tile({ level: 0, index: 2, width: 89 })).toBeNull();
    expect(log.tile({ level: 0, index: 3, width: 1 })).toBeNull();
    expect(log.tile({ level: 63, index: 0, width: 1 })).toBeNull();
  });

  it('continues after a restart, and keeps its origin and its key', async () => {
    await log.append(entriesOf(0, 300));
    const older = head();
    const { vkey } = log.verifier;
    await close();
    await open({ origin: null });
    expect(log.verifier.vkey).toBe(vkey);
    await log.append(entriesOf(300, 900));
    await requireContinues(older);
    await close();
    await expect(open({ origin: 'other.example' })).rejects.toMatchObject({ code: 'INVALID_CONFIG' });
  });

  it('signs what an earlier process appended and did not sign', async () => {
    await store.append(
      entriesOf(0, 5),
      () => '',
      () => false,
    );
    await close();
    await open({ checkpointMs: 5 });
    await until(() => head().size === 5);
  });

  it('keeps every checkpoint consistent while many append at the same time', async () => {
    const heads = [head()];
    await Promise.all(
      Array.from({ length: 40 }, async (_, caller) => {
        for (let round = 0; round < 10; round += 1) {
          await log.append(entriesOf(caller * 1_000 + round * 20, caller * 1_000 + round * 20 + 20));
          heads.push(head());
        }
      }),
    );
    await log.close();
    expect(head().size).toBe(8_000);
    for (const older of heads) await requireContinues(older);
  });
});

it('waits for entries of other nodes after Redis lost some, also if this node lost none', async () => {
  const folder = tempFolder();
  let copied: (hasLost: boolean) => void = () => {};
  const store = openLogStore(
    { path: join(folder.path, 'log.mdb') },
    {
      openStore(...of) {
        const live = openLiveStore(...of);
        const onCopied = (listener: typeof copied): void => {
          copied = listener;
        };
        return { ...live, root: live.root, newerStates: () => [], onCopied };
      },
    },
  );
  const log = await openReceiptLog(
    { origin: ORIGIN, fallbackOrigin: ORIGIN, isWitnessed: false, othersRestoreMs: 60_000 },
    { store, encryption: () => encryption, clock: systemClock, random: systemRandom, log: silentLogger },
  );
  copied(false);
  await until(async () => !log.isRestoring());
  copied(true);
  await sleep(100);
  expect(log.isRestoring()).toBe(true);
  await expect(log.append(entriesOf(0, 1))).rejects.toMatchObject({ code: 'NOT_READY' });
  await log.close();
  await store.close();
  folder.remove();
});
