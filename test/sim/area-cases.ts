/** Cases: an acknowledged case, note, file or link exists once and as it was sent, and the history has no gap. */
import { LIMITS } from '../../src/base/limits.ts';
import type { CaseRecord } from '../../src/cases/records.ts';
import type { Written } from '../../src/cases/store.ts';
import { SAVED_KINDS } from '../../src/saved-screenings/records.ts';
import { ACCOUNTS } from './area-accounts.ts';
import type { SavedArea } from './area-saved.ts';
import { type Area, must, type Schedule, type Standing, sha256 } from './schedule.ts';

const HOUR_MS = 3_600_000;
/** Up to three pieces of a store. */
const FILE_BYTES_MAX = 150_000;

/** A request that may be repeated under its Idempotency-Key. */
interface ModelRequest {
  readonly once: string | null;
  standing: Standing;
  sends: number;
  inFlight: number;
  mayRepeat: boolean;
  peak: number;
  trough: number;
}

interface ModelCase extends ModelRequest {
  readonly account: string;
  readonly title: string;
  id: string | null;
}

interface ModelNote extends ModelRequest {
  readonly of: ModelCase;
  readonly text: string;
}

interface ModelFile extends ModelRequest {
  readonly of: ModelCase;
  readonly name: string;
  readonly content: Buffer;
}

interface ModelLink extends ModelRequest {
  readonly of: ModelCase;
  readonly label: string;
  readonly screening: { readonly id: string; readonly text: string };
}

const answerOf = <T>({ answer }: Written): T => JSON.parse(answer) as T;

export function casesArea(
  schedule: Schedule,
  saved: Pick<SavedArea, 'any'>,
): Area & { readonly notes: number } {
  const { below, chance, pick } = schedule;
  const cases: ModelCase[] = [];
  const notes: ModelNote[] = [];
  const files: ModelFile[] = [];
  const links: ModelLink[] = [];
  let made = 0;
  const all = (): ModelRequest[] => [...cases, ...notes, ...files, ...links];

  const request = (): ModelRequest => ({
    once: chance(50) ? `once${made}` : null,
    standing: 'unknown',
    sends: 0,
    inFlight: 0,
    mayRepeat: false,
    peak: schedule.now(),
    trough: schedule.now(),
  });
  const client = (accountId: string) => ({
    ...{ accountId, who: 'key', identity: 'key' },
    savedKinds: SAVED_KINDS,
  });
  const keyOf = (once: string | null) => (once === null ? null : { slot: once, bodyHash: once });

  /** Sends a request, and notes what became of it. */
  function send(
    name: string,
    one: ModelRequest,
    work: () => Promise<Written>,
    onAnswer: (written: Written) => void,
    allowed: readonly string[] = [],
  ): void {
    one.sends++;
    one.inFlight++;
    schedule.ask(
      name,
      work,
      ({ value, error }) => {
        one.inFlight--;
        if (error !== null) {
          if (one.standing === 'unknown' && one.sends === 1) one.standing = 'refused';
          return;
        }
        const wasDone = one.standing === 'done';
        one.standing = 'done';
        must(!wasDone || value.isRepeated || one.mayRepeat, `${name} was done again`);
        onAnswer(value);
      },
      allowed,
    );
  }

  /** Whether the Idempotency-Key of a request was valid at all times of the clock. */
  const isKept = ({ peak, trough }: ModelRequest): boolean => peak - trough < LIMITS.idempotencyMs - HOUR_MS;
  const repeatable = <T extends ModelRequest>(of: readonly T[]): T[] =>
    of.filter((one) => one.once !== null && one.standing !== 'refused' && isKept(one));

  function sendCase(one: ModelCase): void {
    const { account, title, once } = one;
    send(
      `case ${title}`,
      one,
      () => schedule.process.cases.create(client(account), { title, note: `first of ${title}` }, keyOf(once)),
      (written) => {
        const { id } = answerOf<{ readonly case: { readonly id: string } }>(written).case;
        must(one.id === null || one.id === id || one.mayRepeat, `${title} has two ids`);
        one.id ??= id;
      },
    );
  }

  function open(): void {
    const again = repeatable(cases);
    if (again.length > 0 && chance(40)) {
      sendCase(pick(again));
      return;
    }
    const one: ModelCase = { ...request(), account: pick(ACCOUNTS), title: `case ${made++}`, id: null };
    cases.push(one);
    sendCase(one);
  }

  const opened = (): ModelCase[] => cases.filter(({ id }) => id !== null);

  function sendNote(one: ModelNote): void {
    const { of, text, once } = one;
    send(
      text,
      one,
      () =>
        schedule.process.cases.addEvent(
          client(of.account),
          of.id as string,
          { type: 'NOTE', note: text },
          keyOf(once),
        ),
      () => {},
    );
  }

  function note(): void {
    if (opened().length === 0) return;
    const again = repeatable(notes);
    if (again.length > 0 && chance(30)) {
      sendNote(pick(again));
      return;
    }
    const one: ModelNote = { ...request(), of: pick(opened()), text: `note ${made++}` };
    notes.push(one);
    sendNote(one);
  }

  function sendFile(one: ModelFile): void {
    const { of, name, content, once } = one;
    send(
      name,
      one,
      async () => {
        const upload = schedule.process.cases.receiveFile(client(of.account), of.id as string, {
          name,
          contentType: 'text/plain',
        });
        const half = content.length >> 1;
        upload.write(content.subarray(0, half));
        if (chance(20)) await new Promise((resolve) => setTimeout(resolve, 1 + below(2_000)));
        upload.write(content.subarray(half));
        return upload.end(() => keyOf(once));
      },
      () => {},
      // Too many files are being received.
      ['OVERLOADED'],
    );
  }

  function file(): void {
    if (opened().length === 0) return;
    const again = repeatable(files);
    if (again.length > 0 && chance(30)) {
      sendFile(pick(again));
      return;
    }
    const content = Buffer.alloc(1 + below(FILE_BYTES_MAX), `content ${made} `);
    const one: ModelFile = { ...request(), of: pick(opened()), name: `file${made++}.txt`, content };
    files.push(one);
    sendFile(one);
  }

  function link(): void {
    if (opened().length === 0) return;
    const of = pick(opened());
    const screening = saved.any(of.account);
    if (screening === null) return;
    const one: ModelLink = { ...request(), of, label: `link ${made++}`, screening };
    links.push(one);
    const draft = { type: 'SCREENING', id: screening.id, label: one.label } as const;
    send(
      one.label,
      one,
      () =>
        schedule.process.cases.addEvent(
          client(of.account),
          of.id as string,
          { type: 'LINK', link: draft },
          keyOf(one.once),
        ),
      () => {},
    );
  }

  function move(): void {
    if (opened().length === 0) return;
    const one = pick(opened());
    const status = pick(['OPEN', 'IN_REVIEW', 'ESCALATED'] as const);
    schedule.ask(
      `${one.title} is ${status}`,
      () => schedule.process.cases.change(client(one.account), one.id as string, { status }),
      () => {},
    );
  }

  function timesOf(one: ModelRequest, times: number, what: string): void {
    if (one.mayRepeat) must(times <= one.sends, `${what} is there ${times} times`);
    else if (one.standing === 'done')
      must(times === 1, `${what} was acknowledged and is there ${times} times`);
    else
      must(
        times <= (one.standing === 'unknown' ? 1 : 0),
        `${what} is ${one.standing} and there ${times} times`,
      );
  }

  /** The history of a case is what its record says, without a gap, and has what was acknowledged. */
  function checkCase(record: CaseRecord): void {
    const { cases: service } = schedule.process;
    const { accountId, id, number, title, version } = record;
    const { events } = service.events(accountId, id, { limit: 10_000 }, true);
    const sequences = events.map(({ event }) => event.sequence);
    must(
      sequences.every((sequence, at) => sequence === events.length - at) &&
        record.events === events.length &&
        version === events.length,
      `the history of case ${number} has a gap`,
    );
    const isOf = ({ of }: { readonly of: ModelCase }): boolean => of.id === id && of.account === accountId;
    for (const one of notes.filter(isOf)) {
      const times = events.filter(({ event }) => event.note === one.text).length;
      timesOf(one, times, one.text);
    }
    for (const one of files.filter(isOf)) {
      const found = record.files.filter(({ name }) => name === one.name);
      timesOf(one, found.length, one.name);
      for (const { id: fileId } of found)
        must(
          service.file(accountId, id, fileId).bytes.equals(one.content),
          `${one.name} has another content`,
        );
    }
    for (const one of links.filter(isOf)) {
      const found = events.filter(({ event }) => event.link?.label === one.label);
      timesOf(one, found.length, one.label);
      for (const { answer, event } of found) {
        must(answer === one.screening.text, `${one.label} has another answer`);
        must(
          event.link?.answer?.sha256 === sha256(one.screening.text).toString('hex'),
          `${one.label} has another hash`,
        );
      }
    }
    must(
      events.at(-1)?.event.note === `first of ${title}`,
      `case ${number} does not begin with the note of ${title}`,
    );
  }

  function check(): void {
    const { cases: service } = schedule.process;
    for (const account of ACCOUNTS) {
      const { cases: found } = service.list(account, {}, { limit: 10_000 });
      const numbers = found.map(({ number }) => number);
      must(
        numbers.every((number, at) => number === numbers.length - at),
        'the numbers of cases have a gap',
      );
      for (const one of cases.filter((each) => each.account === account)) {
        const own = found.filter(({ title }) => title === one.title);
        timesOf(one, own.length, one.title);
        if (one.id !== null)
          must(
            own.some(({ id }) => id === one.id),
            `${one.title} has another id`,
          );
      }
      for (const record of found) {
        must(
          cases.some(({ title, standing }) => title === record.title && standing !== 'refused'),
          `a case ${record.title} that nobody opened`,
        );
        checkCase(record);
      }
    }
  }

  return {
    get notes() {
      return notes.filter(({ standing }) => standing === 'done').length;
    },
    acts: [
      [5, open],
      [9, note],
      [2, file],
      [2, link],
      [1, move],
    ],
    onStart() {
      for (const one of all()) one.inFlight = 0;
    },
    onClock() {
      for (const one of all()) {
        one.peak = Math.max(one.peak, schedule.now());
        one.trough = Math.min(one.trough, schedule.now());
        if (one.inFlight > 0 && !isKept(one)) one.mayRepeat = true;
      }
    },
    check,
    settle() {
      const { cases: service } = schedule.process;
      for (const { account, id, standing } of cases)
        if (standing === 'done' && id !== null) {
          const { archive } = service.export(account, id);
          const bytes = [...archive.parts()].reduce((sum, part) => sum + part.length, 0);
          must(bytes === archive.bytes, `the export of ${id} has ${bytes} of ${archive.bytes} bytes`);
        }
      return true;
    },
  };
}
