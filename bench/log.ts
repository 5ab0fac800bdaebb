/**
 * The transparency log: durable appends a second by concurrent callers, beside a file to which the same hashes are appended with a flush
 * for each group; and the sizes and times of proofs.
 * Run: node dist/bench/log.js [--entries N] [--no-save]
 */
import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isoTime, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { systemRandom } from '../src/base/random.ts';
import { verifyLog } from '../src/receipts/log/audit.ts';
import { parseCheckpoint } from '../src/receipts/log/checkpoint.ts';
import { tilesOf } from '../src/receipts/log/continuity.ts';
import { openReceiptLog } from '../src/receipts/log/log.ts';
import { verifyProof } from '../src/receipts/log/proof.ts';
import type { LogEntry } from '../src/receipts/log/store.ts';
import { openLogStore } from '../src/receipts/log/store-lmdb.ts';
import { createEncryption } from '../src/state/encryption.ts';
import { argument, publish, report, row } from './harness.ts';

/** Callers at the same time, as requests that each log one receipt. */
const CALLERS = 512;
const PROOFS = 2_000;

const count = argument('--entries', 200_000);

const entries: readonly LogEntry[] = Array.from({ length: count }, (_, index) => ({
  id: String(index).padStart(26, '0'),
  hash: createHash('sha256').update(`receipt ${index}`).digest(),
}));
const folder = mkdtempSync(join(tmpdir(), 'assay-bench-log-'));
const startedAt = isoTime(systemClock.now());
const secondsOf = (fromMs: number): number => (systemClock.monotonic() - fromMs) / 1_000;

/** The control: appends the hashes in groups as large as the callers make them, and flushes each. */
function appendToFile(): number {
  const file = openSync(join(folder, 'control'), 'w');
  const fromMs = systemClock.monotonic();
  for (let at = 0; at < count; at += CALLERS) {
    writeSync(file, Buffer.concat(entries.slice(at, at + CALLERS).map(({ hash }) => hash)));
    fsyncSync(file);
  }
  const perSecond = count / secondsOf(fromMs);
  closeSync(file);
  return perSecond;
}

const encryption = createEncryption(systemRandom.bytes(32), systemRandom);
const store = openLogStore({ path: join(folder, 'log.mdb') });
try {
  const log = await openReceiptLog(
    { origin: 'bench.example/log', fallbackOrigin: '', isWitnessed: false },
    {
      store,
      encryption: () => encryption,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
    },
  );
  const control = appendToFile();
  let next = 0;
  const fromMs = systemClock.monotonic();
  const coreBefore = process.cpuUsage();
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      for (let entry = entries[next++]; entry !== undefined; entry = entries[next++])
        await log.append([entry]);
    }),
  );
  const appended = count / secondsOf(fromMs);
  const core = process.cpuUsage(coreBefore);
  await log.close();

  const provedMs = systemClock.monotonic();
  const proofs: string[] = [];
  for (let at = 0; at < PROOFS; at++)
    proofs.push((await log.proof(entries[(at * 7_919) % count]?.id ?? '')) ?? '');
  const prove = (secondsOf(provedMs) * 1e6) / PROOFS;
  const verifiedMs = systemClock.monotonic();
  for (const [at, proof] of proofs.entries())
    verifyProof(proof, entries[(at * 7_919) % count]?.hash ?? Buffer.alloc(0), log.verifier);
  const verify = (secondsOf(verifiedMs) * 1e6) / PROOFS;
  const wholeMs = systemClock.monotonic();
  const { faults } = await verifyLog(parseCheckpoint(log.checkpoint()), tilesOf(store));
  if (faults.length > 0) throw new Error(faults[0]);
  const whole = count / secondsOf(wholeMs);
  publish(
    report('log', startedAt, { entries: count, callers: CALLERS, proofs: PROOFS }, [
      row('durable appends', appended, 'entries/s', { atLeast: 10_000 }, control),
      // Of all threads; on a busy machine, it says more than the rate.
      row('core time of an append', (core.user + core.system) / count, 'µs'),
      row('proof, made', prove, 'µs'),
      row('proof, verified with its signature', verify, 'µs', { atMost: 2_000 }),
      row('proof, size', proofs.reduce((sum, { length }) => sum + length, 0) / PROOFS, 'bytes', {
        atMost: 2_000,
      }),
      row('whole log verified', whole, 'entries/s'),
    ]),
  );
} finally {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}
