/**
 * Saved screenings: an acknowledged one is read with the bytes of its response and is charged once; a refused or interrupted one exists
 * exactly if it is charged.
 */
import { LIMITS } from '../../src/base/limits.ts';
import { SAVED_KINDS } from '../../src/saved-screenings/records.ts';
import { ACCOUNTS } from './area-accounts.ts';
import { addressOf } from './area-monitoring.ts';
import { type Area, must, type Schedule, type Standing, sha256 } from './schedule.ts';

const HOUR_MS = 3_600_000;
/** The number of checks for the end of all purchases. */
const LOOKS_MAX = 60;

interface ModelSave {
  readonly account: string;
  readonly reference: string;
  readonly hasSlot: boolean;
  standing: Standing;
  sends: number;
  inFlight: number;
  /** A request was in flight when its Idempotency-Key expired: it may count as a new one. */
  mayRepeat: boolean;
  /** `data` of acknowledged responses, by the ids in them. */
  readonly answers: Map<string, string>;
  peak: number;
  trough: number;
}

export interface SavedArea extends Area {
  readonly saves: number;
  /** Returns an acknowledged screening of an account; null without one. */
  any(account: string): { readonly id: string; readonly text: string } | null;
}

export function savedArea(schedule: Schedule, sums: () => Promise<ReadonlyMap<string, number>>): SavedArea {
  const { below, chance, pick } = schedule;
  const saves: ModelSave[] = [];
  let looks = 0;

  function send(one: ModelSave): void {
    const { account: accountId, reference, hasSlot } = one;
    one.inFlight++;
    // A repeated request may be answered from newer data.
    const data = `{"address":"${addressOf(1)}","chain":"ETH","riskScore":${below(100)},"riskLevel":"LOW","try":${one.sends++},"pad":"${'xy'.repeat(below(3_000))}"}`;
    schedule.ask(
      `save ${reference}`,
      async () => {
        const { ledger, saved } = schedule.process;
        const slot = sha256(reference);
        // As the pipeline does: a stored response is replayed.
        const kept = hasSlot ? await ledger.storedAnswer(accountId, slot) : null;
        if (kept !== null) return kept.body;
        const keep = hasSlot ? { slot: slot.toString('hex'), bodyHash: slot.toString('hex') } : null;
        const charge = { type: 'SCREENING', amount: 1, reference, keep, ignored: null } as const;
        const answer = { kind: 'SCREENING', request: { reference }, data: Buffer.from(data) } as const;
        return (await saved.save({ accountId, who: 'key' }, answer, charge, () => {})).body;
      },
      ({ value, error }) => {
        one.inFlight--;
        if (error !== null) {
          if (one.standing === 'unknown' && one.sends === 1) one.standing = 'refused';
          return;
        }
        const text = Buffer.from(value).toString();
        const shown = text.slice('{"success":true,"data":'.length, text.lastIndexOf(',"credits":'));
        const { screeningId: id } = JSON.parse(shown) as { readonly screeningId: string };
        const known = one.answers.get(id);
        must(known === undefined || known === shown, `${reference}: two answers of one id`);
        one.answers.set(id, shown);
        must(one.answers.size === 1 || one.mayRepeat || !hasSlot, `${reference} was saved twice`);
        one.standing = 'done';
      },
      // NOT_READY: the charge of an interrupted purchase was undone at the same time.
      ['CREDITS_EXHAUSTED', 'NOT_READY'],
    );
  }

  function save(): void {
    const at = schedule.now();
    const one: ModelSave = {
      account: pick(ACCOUNTS),
      reference: `saved/${saves.length}`,
      hasSlot: chance(60),
      standing: 'unknown',
      sends: 0,
      inFlight: 0,
      mayRepeat: false,
      answers: new Map(),
      peak: at,
      trough: at,
    };
    saves.push(one);
    send(one);
  }

  /** Whether the Idempotency-Key of its request was valid at all times of the clock. */
  const isKept = ({ peak, trough }: ModelSave): boolean => peak - trough < LIMITS.idempotencyMs - HOUR_MS;

  function saveAgain(): void {
    const known = saves.filter((one) => one.hasSlot && isKept(one));
    if (known.length > 0) send(pick(known));
  }

  /** Returns the references of the readable screenings of an account, and checks their answers. */
  function readable(account: string): readonly { readonly id: string; readonly reference: string }[] {
    const { saved } = schedule.process;
    const { screenings } = saved.list(account, SAVED_KINDS, {}, { limit: 10_000 });
    return screenings.map((screening) => {
      const { id, request, sha256: hash } = screening;
      const text = saved.answer(screening).toString();
      must(sha256(text).toString('hex') === hash, `the answer of ${id} is not the one that was saved`);
      const reference = String(request.reference);
      const one = saves.find((each) => each.reference === reference && each.account === account);
      must(one !== undefined, `a screening ${reference} that nobody saved`);
      const known = one.answers.get(id);
      must(known === undefined || known === text, `${reference} has another answer than its response`);
      return { id, reference };
    });
  }

  function check(): void {
    const { staged } = schedule.process.savedStore;
    for (const account of ACCOUNTS) {
      const found = readable(account);
      const ids = new Set(found.map(({ id }) => id));
      must(ids.size === found.length, 'a screening is listed twice');
      const waiting = new Set(
        staged
          .list(10_000)
          .filter(({ isAbandoned }) => !isAbandoned)
          .map(({ screening }) => screening.id),
      );
      for (const one of saves.filter((each) => each.account === account)) {
        for (const id of one.answers.keys())
          must(ids.has(id) || waiting.has(id), `the screening ${one.reference} is lost`);
        const times = found.filter(({ reference }) => reference === one.reference).length;
        const most = one.hasSlot && !one.mayRepeat ? 1 : one.sends;
        must(times <= most, `the screening ${one.reference} is there ${times} times`);
      }
    }
  }

  /** At the end, each readable screening has its charge, and each charge its screening. */
  async function checkCharges(): Promise<void> {
    const charged = await sums();
    for (const account of ACCOUNTS) {
      const found = readable(account);
      for (const one of saves.filter((each) => each.account === account)) {
        const times = found.filter(({ reference }) => reference === one.reference).length;
        const total = charged.get(one.reference) ?? 0;
        must(total === -times, `${one.reference} is there ${times} times and cost ${-total}`);
        for (const id of one.answers.keys())
          must(
            found.some((each) => each.id === id),
            `the screening ${one.reference} was acknowledged and is not readable`,
          );
      }
    }
  }

  return {
    get saves() {
      return saves.filter(({ standing }) => standing === 'done').length;
    },
    any(account) {
      const known = saves.filter((one) => one.account === account && one.answers.size > 0);
      if (known.length === 0) return null;
      const [id, text] = [...pick(known).answers][0] as [string, string];
      const isReadable = schedule.process.saved.find(account, SAVED_KINDS, id) !== null;
      return isReadable ? { id, text } : null;
    },
    acts: [
      [5, save],
      [3, saveAgain],
    ],
    onStart() {
      for (const one of saves) one.inFlight = 0;
    },
    onClock() {
      for (const one of saves) {
        one.peak = Math.max(one.peak, schedule.now());
        one.trough = Math.min(one.trough, schedule.now());
        if (one.inFlight > 0 && !isKept(one)) one.mayRepeat = true;
      }
    },
    check,
    async settle() {
      if (schedule.process.savedStore.staged.list(1).length > 0) {
        must(looks++ < LOOKS_MAX, 'a purchase of a screening is never completed');
        return false;
      }
      await checkCharges();
      return true;
    },
  };
}
