/**
 * The log under seeded faults: killed at any step, with torn writes and full disks. After every start, each acknowledged entry is at its
 * index, the log continues every checkpoint that was ever served, and the published files agree with their checkpoint.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

vi.mock('lmdb', async (original) =>
  (await import('../../sim/virtual-disk.ts')).libraryOver(await original()),
);
vi.mock('node:fs', async () => (await import('../../sim/virtual-disk.ts')).diskFs);
vi.mock('node:fs/promises', async () => (await import('../../sim/virtual-disk.ts')).diskPromises);

import { seededUint32 } from '../../../src/base/random.ts';
import { auditCheckpoints, verifyLog } from '../../../src/receipts/log/audit.ts';
import { parseCheckpoint } from '../../../src/receipts/log/checkpoint.ts';
import { tilesOf } from '../../../src/receipts/log/continuity.ts';
import { CHECKPOINT, folderSource, folderTarget, tilesIn } from '../../../src/receipts/log/places.ts';
import { LogPublisher } from '../../../src/receipts/log/publish.ts';
import { isStorageFull } from '../../../src/state/storage.ts';
import { beginLife, buryLife, freshFolder, kill, type Life, mountDisk } from '../../sim/virtual-disk.ts';
import { sleep } from '../../support/wait.ts';
import { entriesOf, type OpenedLog, openLog } from './world.ts';

const SEEDS = Number(process.env.ASSAY_SIM_SCHEDULES ?? (process.env.ASSAY_TEST_LONG === '1' ? 1_000 : 12));
const ROOM = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
/** A schedule takes up to a second on a busy machine. */
const TIMEOUT_MS = SEEDS > 120 ? 7_200_000 : 600_000;
const LIVES = 4;
const ACTS = 6;

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let room: string;
beforeAll(() => {
  room = mkdtempSync(join(ROOM, 'assay-tlog-sim-'));
  mountDisk(room);
});
afterAll(() => rmSync(room, { recursive: true, force: true }));

interface Model {
  /** Entries whose append was acknowledged. */
  readonly logged: Map<string, number>;
  readonly hashes: Map<string, Uint8Array>;
  /** Checkpoints that were served. */
  readonly served: Set<string>;
  next: number;
  refused: number;
  kills: number;
  published: number;
}

/** Checks a log that was just opened. */
async function check({ log, store }: OpenedLog, folder: string, model: Model): Promise<void> {
  for (const [id, index] of model.logged) {
    expect(store.indexOf(id)).toBe(index);
    expect(store.entry(index)).toEqual(model.hashes.get(id));
  }
  const current = parseCheckpoint(log.checkpoint());
  // Each of them was compared with its successors when it was new.
  for (const text of [...model.served].slice(-6))
    expect(await auditCheckpoints(parseCheckpoint(text), current, tilesOf(store))).toBe('consistent');
  expect((await verifyLog(current, tilesOf(store))).faults).toEqual([]);
  const source = folderSource(join(folder, 'static'));
  const there = await source.read(CHECKPOINT);
  if (there !== null) {
    const published = parseCheckpoint(there.toString());
    expect((await verifyLog(published, tilesIn(source))).faults).toEqual([]);
    expect(await auditCheckpoints(published, current, tilesOf(store))).toBe('consistent');
    model.published += 1;
  }
}

async function runSeed(seed: number): Promise<Model> {
  const next = seededUint32(seed);
  const below = (count: number): number => next() % count;
  const model: Model = {
    logged: new Map(),
    hashes: new Map(),
    served: new Set(),
    next: 0,
    refused: 0,
    kills: 0,
    published: 0,
  };
  let folder = freshFolder();
  mkdirSync(folder, { recursive: true });

  async function live(life: Life, isLast: boolean): Promise<void> {
    const opened = await openLog(folder, { checkpointMs: below(2) === 0 ? 0 : 3_600_000 });
    await check(opened, folder, model);
    const publisher = new LogPublisher(opened.log, folderTarget(join(folder, 'static')));
    for (let act = 0; act < ACTS && !isLast; act += 1) {
      life.faults.full = below(6) === 0 ? ((['commits', 'pages'] as const)[below(2)] ?? 'commits') : 'no';
      if (life.faults.full !== 'no') life.hadFullDisk = true;
      try {
        if (below(3) === 0) await publisher.publish(new AbortController().signal);
        else {
          const count = 1 + below(below(3) === 0 ? 400 : 5);
          const entries = entriesOf(model.next, model.next + count);
          model.next += count;
          for (const { id, hash } of entries) model.hashes.set(id, hash);
          for (const { id, index } of await opened.log.append(entries))
            if (!life.isDead) model.logged.set(id, index);
        }
      } catch (error) {
        if (life.isDead) return;
        if (!life.hadFullDisk || !isStorageFull(error)) throw error;
        model.refused += 1;
      }
      if (life.isDead) return;
      model.served.add(opened.log.checkpoint());
    }
    life.faults.full = 'no';
    await opened.close();
  }

  for (let number = 0; number <= LIVES; number += 1) {
    const isLast = number === LIVES;
    const life = beginLife(folder, below);
    if (!isLast && below(4) > 0) life.fuse = below(90);
    let failure: unknown = null;
    let isOver = false;
    void live(life, isLast).then(
      () => {
        isOver = true;
      },
      (error: unknown) => {
        failure = error;
        isOver = true;
      },
    );
    while (!isOver && !life.isDead) await sleep(1);
    if (!life.isDead && failure !== null) throw failure;
    if (life.isDead) model.kills += 1;
    kill(life);
    for (let turns = 0; turns < 8; turns += 1) await turn();
    await buryLife(life);
    folder = life.left as string;
  }
  rmSync(folder, { recursive: true, force: true });
  return model;
}

describe('a log that is killed, or whose disk is full', () => {
  it(`continues every checkpoint that was served, in ${SEEDS} schedules`, {
    timeout: TIMEOUT_MS,
  }, async () => {
    const sum = { logged: 0, served: 0, refused: 0, kills: 0, published: 0 };
    const first = Number(process.env.ASSAY_SIM_SEED ?? 1);
    for (let seed = first; seed < first + (process.env.ASSAY_SIM_SEED ? 1 : SEEDS); seed += 1) {
      const model = await runSeed(seed).catch((cause: unknown) => {
        throw new Error(`ASSAY_SIM_SEED=${seed}: ${cause instanceof Error ? cause.message : ''}`, { cause });
      });
      sum.logged += model.logged.size;
      sum.served += model.served.size;
      sum.refused += model.refused;
      sum.kills += model.kills;
      sum.published += model.published;
    }
    // The schedules do what they are for.
    if (process.env.ASSAY_SIM_SEED === undefined)
      for (const [name, count] of Object.entries(sum)) expect(count, name).toBeGreaterThan(SEEDS / 4);
  });
});
