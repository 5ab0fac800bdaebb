/** The server of the benchmark of usage: the real front end over a ledger with a history, in a process of its own. */
import { createAccess } from '../src/accounts/access.ts';
import { type Clock, systemClock } from '../src/base/clock.ts';
import { silentLogger } from '../src/base/log.ts';
import { systemRandom } from '../src/base/random.ts';
import { createUsageApp } from './usage-app.ts';

export interface UsageServerSettings {
  /** Folder of keys and ledger. */
  readonly folder: string;
  readonly accounts: number;
  /** Charges of each account, spread over the days of history. */
  readonly charges: number;
  readonly days: number;
}

export interface UsageServerReady {
  readonly port: number;
  readonly keys: readonly string[];
}

/** Charges accounts in turn, at this many charges a second; 0 ends that. */
export interface UsageServerCharges {
  readonly perSecond: number;
}

const DAY_MS = 86_400_000;
const REFERENCE = 'screening 0x28c6c06298d514db089934071355e5743bf21d60 ETH';
const ANSWER = Buffer.from('{"success":true}');
/** Pause between two groups of charges. */
const TICK_MS = 20;

async function serve({ folder, accounts, charges, days }: UsageServerSettings): Promise<void> {
  let shiftMs = -days * DAY_MS;
  const clock: Clock = { now: () => systemClock.now() + shiftMs, monotonic: systemClock.monotonic };
  const parts = { clock, random: systemRandom, log: silentLogger };
  const access = createAccess({ folder }, parts);
  const ledger = access.ledger();
  const names = Array.from({ length: accounts }, (_, at) => `account-${at}`);
  const charge = async (accountId: string): Promise<void> => {
    const reservation = await ledger.reserve(accountId, 1);
    await ledger.commit(reservation, {
      type: 'SCREENING',
      amount: 1,
      reference: REFERENCE,
      answer: () => ANSWER,
    });
  };
  await Promise.all(
    names.map((accountId) =>
      ledger.book({ accountId, type: 'PURCHASE', amount: 1_000_000, reference: null }),
    ),
  );
  for (let round = 0; round < charges; round++) {
    shiftMs = (round / charges - 1) * days * DAY_MS;
    await Promise.all(names.map(charge));
  }
  shiftMs = 0;
  const rateLimits = { oracle: 900_000_000, intel: 900_000_000, screening: 900_000_000 };
  const created = await Promise.all(
    names.map((accountId) => access.keys.create({ name: accountId, accountId, rateLimits })),
  );
  const app = createUsageApp(access, parts);
  const { port } = await app.listen();
  let timer: NodeJS.Timeout | undefined;
  let next = 0;
  let charged = 0;
  process.on('message', ({ perSecond }: UsageServerCharges) => {
    clearInterval(timer);
    const before = charged;
    if (perSecond > 0)
      timer = setInterval(() => {
        for (let at = 0; at < (perSecond * TICK_MS) / 1000; at++) {
          charged++;
          void charge(names[next++ % names.length] as string);
        }
      }, TICK_MS);
    process.send?.({ charged: before });
  });
  process.send?.({ port, keys: created.map(({ apiKey }) => apiKey) } satisfies UsageServerReady);
}

process.once('message', (settings) => {
  serve(settings as UsageServerSettings).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});
process.on('disconnect', () => process.exit(0));
