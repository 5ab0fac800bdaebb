/**
 * A process that charges under load until it is killed. It prints a line for every charge that it would have acknowledged to a client.
 * Arguments: folder, requests in flight. Lines: `account id balance amount`; once, before the first, `ready`.
 */

import { join } from 'node:path';
import { argv } from 'node:process';
import { answerSlot } from '../../src/accounts/idempotency.ts';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { writeLine } from '../setup/write-line.ts';

const [folder, inFlight, stopAfter] = [argv[2] as string, Number(argv[3]), Number(argv[4] ?? 0)];
const ledger = openLedger(
  { path: join(folder, 'ledger.mdb') },
  { clock: systemClock, log: silentLogger, freeCredits: () => 10 },
);

for (let account = 0; account < 20; account++) {
  const once = `fund:${account}`;
  await ledger.book({ accountId: `a${account}`, type: 'PURCHASE', amount: 1_000_000, reference: null, once });
}
writeLine('ready');

const run = `${process.pid}-${systemClock.now()}`;
let request = 0;

async function client(): Promise<void> {
  while (stopAfter === 0 || request < stopAfter) {
    const number = request++;
    const accountId = `a${number % 20}`;
    const amount = 1 + (number % 3);
    const reservation = ledger.reserve(accountId, amount);
    if (number % 11 === 0) {
      ledger.release(reservation);
      continue;
    }
    const slot = answerSlot(accountId, 'POST', '/p', `${run}-${number}`);
    const done = await ledger.commit(reservation, {
      type: 'DEDUCTION',
      amount,
      reference: `load ${run}-${number}`,
      answer: (remaining) => Buffer.from(String(remaining)),
      ...(number % 5 === 0 ? { keep: { slot, bodyHash: Buffer.alloc(32) } } : {}),
    });
    // Like a response to a client: if this line is written, the charge must not be lost.
    writeLine(
      `${accountId} ${done.entry?.id} ${done.remaining} ${amount} ${number % 5 === 0 ? `${run}-${number}` : ''}`,
    );
    if (number % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

await Promise.all(Array.from({ length: inFlight }, client));
await ledger.close();
