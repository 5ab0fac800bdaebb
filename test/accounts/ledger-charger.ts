/**
 * A process that charges one account, one credit at a time, while other processes do the same. Prints `ready`, starts when it reads a byte
 * from its standard input, and prints the number of charges that succeeded.
 *
 * Arguments: file of the ledger; time of its clock in ms; account; number of charges; milliseconds between two charges; milliseconds for
 * which its main thread is busy after each transaction. A commit that is on the disk is reported only after that time.
 */
import { argv, stdin, stdout } from 'node:process';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { sleep } from '../support/wait.ts';

const [path, accountId] = [argv[2] as string, argv[4] as string];
const [now, charges, gapMs, busyMs] = [argv[3], ...argv.slice(5)].map(Number) as [
  number,
  number,
  number,
  number,
];
const ledger = openLedger(
  { path },
  { clock: { now: () => now, monotonic: () => 0 }, log: silentLogger, freeCredits: () => 10 },
);

const neverNotified = new Int32Array(new SharedArrayBuffer(4));

function answer(): Buffer {
  if (busyMs > 0) setImmediate(() => Atomics.wait(neverNotified, 0, 0, busyMs));
  return Buffer.alloc(0);
}

/** Returns the number of credits that were spent. */
async function charge(position: number): Promise<number> {
  await sleep(position * gapMs);
  try {
    await ledger.commit(ledger.reserve(accountId, 1), {
      type: 'SCREENING',
      amount: 1,
      reference: `charge ${position}`,
      answer,
    });
    return 1;
  } catch (error) {
    if (error instanceof AssayError && error.code === 'CREDITS_EXHAUSTED') return 0;
    throw error;
  }
}

stdout.write('ready\n');
await new Promise((resolve) => stdin.once('data', resolve));
stdin.destroy();
const spent = await Promise.all(Array.from({ length: charges }, (_, position) => charge(position)));
await ledger.close();
stdout.write(`${spent.reduce((sum, credits) => sum + credits, 0)}\n`);
