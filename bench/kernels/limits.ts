/** The cost of admitting a request: verifying a key, its rate limit, its quota. Run: node dist/bench/kernels/limits.js */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createAccess } from '../../src/accounts/access.ts';
import type { EmbeddedQuotaMeter } from '../../src/accounts/quota-lmdb.ts';
import type { EmbeddedRateLimiter } from '../../src/accounts/rate-limit.ts';
import { isoTime, systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type BenchReport, formatReport, report, row } from '../harness.ts';

const KEYS = 1_000;
const CALLS = 1_000_000;
const ROUNDS = 5;

/** Microseconds per call, best of several rounds. */
function microseconds(call: (index: number) => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const start = systemClock.monotonic();
    for (let index = 0; index < CALLS; index++) call(index % KEYS);
    best = Math.min(best, ((systemClock.monotonic() - start) / CALLS) * 1000);
  }
  return best;
}

export async function benchLimits(): Promise<BenchReport> {
  const startedAt = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-limits-'));
  const access = createAccess({ folder }, { clock: systemClock, random: systemRandom, log: silentLogger });
  try {
    const created = await Promise.all(
      Array.from({ length: KEYS }, (_, index) =>
        access.keys.create({
          name: `key ${index}`,
          accountId: `account-${index}`,
          plan: 'BUSINESS',
          rateLimits: { oracle: 100_000_000 },
        }),
      ),
    );
    const tokens = created.map(({ apiKey }) => apiKey);
    const ids = created.map(({ record }) => record.id);
    const accounts = created.map(({ record }) => record.accountId);
    // The embedded limiter and meter answer synchronously.
    const limiter = access.limiter as EmbeddedRateLimiter;
    const quota = access.quota as EmbeddedQuotaMeter;
    const verify = microseconds((index) => {
      if (access.verify(tokens[index]!) === null) throw new Error('A key was refused.');
    });
    const check = microseconds((index) => {
      if (!limiter.check(ids[index]!, 'oracle').allowed) throw new Error('A request was refused.');
    });
    const take = microseconds((index) => {
      if (!quota.take(accounts[index]!, 'oracle', 1).ok) throw new Error('A quota ran out.');
    });
    const used = accounts.reduce((sum, account) => sum + quota.used(account, 'oracle'), 0);
    if (used !== CALLS * ROUNDS) throw new Error(`${used} counted of ${CALLS * ROUNDS}.`);
    return report('limits', startedAt, { keys: KEYS, calls: CALLS * ROUNDS }, [
      row('verify a key', verify, 'µs', { atMost: 0.3 }),
      row('check its limit', check, 'µs', { atMost: 1 }),
      row('take its quota', take, 'µs', { atMost: 1 }),
    ]);
  } finally {
    await access.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const bench = await benchLimits();
  process.stdout.write(formatReport(bench));
  if (!bench.met) process.exitCode = 1;
}
