/** Credits and keys: an acknowledged charge exists once, a refused one does not, and a key answers by its last acknowledged state. */
import type { LedgerEntry } from '../../src/accounts/ledger.ts';
import { LIMITS } from '../../src/base/limits.ts';
import { type Area, must, type Schedule, type Standing, sha256 } from './schedule.ts';

export const ACCOUNTS = ['a', 'b'] as const;
const HOUR_MS = 3_600_000;

interface ModelCharge {
  readonly account: string;
  readonly reference: string;
  readonly amount: number;
  /** Whether it was sent with an Idempotency-Key. */
  readonly hasSlot: boolean;
  /** The latest and the earliest time of the clock since it was sent. */
  peak: number;
  trough: number;
  /** Requests for it, and those that this process has not answered yet. */
  sends: number;
  inFlight: number;
  /** If a request was in flight when its Idempotency-Key expired, it counts as a new one. */
  mayRepeat: boolean;
  standing: Standing;
  entryId: string | null;
  answer: string | null;
  refund: Standing | 'none';
}

interface ModelBooking {
  readonly account: string;
  readonly reference: string;
  readonly amount: number;
  standing: Standing;
}

interface ModelKey {
  readonly account: string;
  readonly name: string;
  standing: Standing;
  id: string | null;
  token: string | null;
  revoked: Standing | 'none';
}

export function accountsArea(schedule: Schedule): Area & {
  readonly charges: number;
  /** Sum of all entries with a reference, per account. */
  readonly sums: () => Promise<ReadonlyMap<string, number>>;
} {
  const { below, chance, pick } = schedule;
  const charges: ModelCharge[] = [];
  const bookings: ModelBooking[] = [];
  const keys: ModelKey[] = [];
  let made = 0;

  function send(charge: ModelCharge): void {
    const { account, reference, amount, hasSlot } = charge;
    const wasDone = charge.standing === 'done';
    charge.sends++;
    charge.inFlight++;
    schedule.ask(
      `charge ${reference} ${amount}`,
      async () => {
        const { ledger } = schedule.process;
        const slot = sha256(reference);
        // As the pipeline does: a stored response is replayed.
        const kept = hasSlot ? await ledger.storedAnswer(account, slot) : null;
        if (kept !== null) return { entry: null, remaining: 0, answer: kept.body, replayed: true };
        const reservation = await ledger.reserve(account, amount);
        return ledger.commit(reservation, {
          type: 'DEDUCTION',
          amount,
          reference,
          ...(hasSlot ? { keep: { slot, bodyHash: slot } } : {}),
          answer: (remaining) => Buffer.from(`${reference} ${remaining}`),
        });
      },
      ({ value, error }) => {
        charge.inFlight--;
        if (error !== null) {
          // If there were two requests under one key, the other one may have succeeded.
          if (charge.standing === 'unknown' && charge.sends === 1) charge.standing = 'refused';
          return;
        }
        if (charge.mayRepeat) return;
        const answer = Buffer.from(value.answer).toString();
        if (charge.answer !== null) must(answer === charge.answer, `${reference}: two answers of one name`);
        must(!wasDone || value.replayed, `${reference} was charged again`);
        charge.standing = 'done';
        charge.answer = answer;
        charge.entryId = value.entry?.id ?? charge.entryId;
      },
      ['CREDITS_EXHAUSTED'],
    );
  }

  function charge(): void {
    const at = schedule.now();
    const one: ModelCharge = {
      account: pick(ACCOUNTS),
      reference: `c${made++}`,
      amount: 1 + below(4),
      hasSlot: chance(60),
      peak: at,
      trough: at,
      sends: 0,
      inFlight: 0,
      mayRepeat: false,
      standing: 'unknown',
      entryId: null,
      answer: null,
      refund: 'none',
    };
    charges.push(one);
    send(one);
  }

  /** Whether the Idempotency-Key of its request was valid at all times of the clock. */
  const isKept = ({ peak, trough }: ModelCharge): boolean => peak - trough < LIMITS.idempotencyMs - HOUR_MS;

  /** A client that repeats a request within the day for which its key is kept. */
  function chargeAgain(): void {
    const known = charges.filter((one) => one.hasSlot && one.standing !== 'refused' && isKept(one));
    if (known.length === 0) return;
    send(pick(known));
  }

  function refund(): void {
    const known = charges.filter(({ standing, entryId }) => standing === 'done' && entryId !== null);
    if (known.length === 0) return;
    const one = pick(known);
    if (one.refund === 'none') one.refund = 'unknown';
    schedule.ask(
      `refund ${one.reference}`,
      () => schedule.process.ledger.refund(one.account, one.entryId as string),
      ({ error }) => {
        if (error === null) one.refund = 'done';
      },
    );
  }

  function book(): void {
    const open = bookings.filter(({ standing }) => standing === 'unknown');
    const isNew = open.length === 0 || chance(60);
    const one: ModelBooking = isNew
      ? { account: pick(ACCOUNTS), reference: `g${made++}`, amount: 50 + below(400), standing: 'unknown' }
      : pick(open);
    if (isNew) bookings.push(one);
    const { account: accountId, reference, amount } = one;
    schedule.ask(
      `book ${reference} ${amount}`,
      () => schedule.process.ledger.book({ accountId, type: 'GRANT', amount, reference, once: reference }),
      ({ error }) => {
        if (error === null) one.standing = 'done';
      },
    );
  }

  function createKey(): void {
    const one: ModelKey = {
      account: pick(ACCOUNTS),
      name: `k${made++}`,
      standing: 'unknown',
      id: null,
      token: null,
      revoked: 'none',
    };
    keys.push(one);
    schedule.ask(
      `key ${one.name}`,
      () => schedule.process.keys.create({ name: one.name, accountId: one.account }),
      ({ value }) => {
        if (value === null) return;
        one.standing = 'done';
        one.id = value.record.id;
        one.token = value.apiKey;
      },
    );
  }

  function revokeKey(): void {
    const known = keys.filter(({ id, revoked }) => id !== null && revoked !== 'done');
    if (known.length === 0) return;
    const one = pick(known);
    one.revoked = 'unknown';
    schedule.ask(
      `revoke ${one.name}`,
      () => schedule.process.keys.revoke(one.id as string),
      ({ error }) => {
        if (error === null) one.revoked = 'done';
      },
    );
  }

  function checkKeys(): void {
    const records = schedule.process.keys.list();
    const names = records.map(({ name }) => name);
    must(new Set(names).size === names.length, 'a key is there twice');
    const lines = schedule.process.access.audit().newest(10_000);
    for (const { name, id, token, standing, revoked } of keys) {
      if (standing !== 'done') continue;
      const record = token === null ? null : schedule.process.keys.verify(token);
      must(names.includes(name), `the key ${name} is lost`);
      if (revoked === 'none') must(record?.id === id, `the key ${name} does not answer`);
      if (revoked === 'done') must(record === null, `the key ${name} answers though it was revoked`);
      const created = lines.filter(({ action, subject }) => action === 'key.create' && subject === id);
      must(created.length === 1, `the audit log has ${created.length} lines for the key ${name}`);
    }
    for (const name of names)
      must(
        keys.some((key) => key.name === name && key.standing !== 'refused'),
        `a key ${name} nobody made`,
      );
  }

  async function entriesOf(account: string): Promise<LedgerEntry[]> {
    const entries: LedgerEntry[] = [];
    for (let cursor: string | null = null; ; ) {
      const page = await schedule.process.ledger.usage(account, {
        limit: 1_000,
        ...(cursor === null ? {} : { cursor }),
      });
      entries.push(...page.history);
      cursor = page.nextCursor;
      if (cursor === null) {
        const sum = entries.reduce((total, { amount }) => total + amount, 0);
        // On a full disk, the credits of a new month cannot be booked, but count all the same.
        const isWhole = sum === page.balance || schedule.life.faults.full !== 'no';
        must(isWhole, `the balance of ${account} is ${page.balance}, its entries make ${sum}`);
        return entries;
      }
    }
  }

  const timesOf = (standing: Standing | 'none', times: number, what: string): void => {
    if (standing === 'done') must(times === 1, `${what} was acknowledged and is there ${times} times`);
    else if (standing === 'unknown') must(times <= 1, `${what} is there ${times} times`);
    else must(times === 0, `${what} was ${standing === 'none' ? 'never asked for' : 'refused'} and is there`);
  };

  async function checkLedger(): Promise<void> {
    for (const account of ACCOUNTS) {
      const entries = await entriesOf(account);
      const count = (reference: string, isOf: (entry: LedgerEntry) => boolean): number =>
        entries.filter((entry) => entry.reference === reference && isOf(entry)).length;
      for (const one of charges.filter((each) => each.account === account)) {
        const { reference, standing } = one;
        const times = count(reference, ({ type }) => type === 'DEDUCTION');
        if (one.mayRepeat) must(times <= one.sends, `charge ${reference} is there ${times} times`);
        else timesOf(standing, times, `charge ${reference}`);
        timesOf(
          one.refund,
          count(reference, ({ type }) => type === 'REFUND'),
          `refund of ${reference}`,
        );
        const entry = entries.find(({ id }) => id === one.entryId);
        if (one.entryId !== null)
          must(
            entry?.amount === -one.amount && entry.reference === reference,
            `charge ${reference} is not the entry ${one.entryId} that was acknowledged`,
          );
      }
      for (const { reference, standing, account: of, amount } of bookings) {
        if (of !== account) continue;
        timesOf(
          standing,
          count(reference, (entry) => entry.amount === amount),
          `booking ${reference}`,
        );
      }
      for (const { reference, type } of entries)
        must(
          reference === null ||
            reference.startsWith('jobs/') ||
            reference.startsWith('saved/') ||
            charges.some((each) => each.reference === reference) ||
            bookings.some((each) => each.reference === reference),
          `an entry ${type} '${reference}' that nobody asked for`,
        );
    }
    const { faults } = await schedule.process.ledger.verify();
    must(faults.length === 0, `the ledger has faults: ${faults[0]}`);
    const audit = await schedule.process.access.audit().verify();
    must(audit.faults.length === 0, `the audit log has faults: ${audit.faults[0]}`);
  }

  return {
    get charges() {
      return charges.filter(({ standing }) => standing === 'done').length;
    },
    acts: [
      [10, charge],
      [5, chargeAgain],
      [2, refund],
      [3, book],
      [2, createKey],
      [1, revokeKey],
    ],
    onStart() {
      for (const one of charges) one.inFlight = 0;
    },
    onClock() {
      for (const one of charges) {
        one.peak = Math.max(one.peak, schedule.now());
        one.trough = Math.min(one.trough, schedule.now());
        if (one.inFlight > 0 && !isKept(one)) one.mayRepeat = true;
      }
    },
    async check() {
      checkKeys();
      await checkLedger();
      // A stored response is replayed.
      for (const one of charges) {
        if (!one.hasSlot || one.answer === null) continue;
        if (!isKept(one)) continue;
        const kept = await schedule.process.ledger.storedAnswer(one.account, sha256(one.reference));
        must(
          kept !== null && Buffer.from(kept.body).toString() === one.answer,
          `the answer of ${one.reference} is lost`,
        );
      }
    },
    async sums() {
      const sums = new Map<string, number>();
      for (const account of ACCOUNTS)
        for (const { reference, amount } of await entriesOf(account))
          if (reference !== null) sums.set(reference, (sums.get(reference) ?? 0) + amount);
      return sums;
    },
  };
}
