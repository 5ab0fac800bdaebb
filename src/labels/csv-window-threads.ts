/**
 * Readers of the windows of a fast import: the calling thread, or worker threads that share the memory of the windows. Both
 * have the same interface and give the same results.
 */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { messageOf } from '../base/errors.ts';
import { workerUrl } from '../base/paths.ts';
import { askedThread, endBehind } from '../base/threads.ts';
import { type FastColumns, WINDOW_SLACK_BYTES, WindowReader, type WindowResult } from './csv-window.ts';

/** Memory for one window, and the state of the work on it. */
export interface WindowSlot {
  readonly bytes: Buffer;
  readonly thread: number;
  /** Number of the slot among those of its thread. */
  readonly number: number;
  /** Settles when the slot can be reused; set by the code that fills the slot. */
  done: Promise<unknown>;
}

/** New rests of a window, as WindowReader.takeFresh returns them. */
type Fresh = Uint8Array<ArrayBuffer> | null;
type Answers = Int32Array<ArrayBuffer> | null;

export interface SlotReader {
  /** The caller uses them in turn. */
  readonly slots: readonly WindowSlot[];
  /** Reads the window in a slot. Windows of a thread finish in the order in which they began. */
  begin(slot: WindowSlot, length: number, header: boolean): Promise<Fresh>;
  finish(slot: WindowSlot, answers: Answers): Promise<WindowResult>;
  close(): Promise<void>;
}

/** Creates a reader that works on the calling thread, one window at a time, and yields to the event loop before each. */
export function createInlineReader(columns: FastColumns, windowBytes: number): SlotReader {
  const reader = new WindowReader(columns);
  const bytes = Buffer.alloc(windowBytes + WINDOW_SLACK_BYTES);
  return {
    slots: [{ bytes, thread: 0, number: 0, done: Promise.resolve() }],
    async begin(slot, length, header) {
      await new Promise((resume) => setImmediate(resume));
      reader.begin(slot.bytes, length, header);
      return reader.takeFresh();
    },
    finish(_slot, answers) {
      if (answers) reader.explain(answers);
      return Promise.resolve(reader.finish());
    },
    close: () => Promise.resolve(),
  };
}

/** One slot is being read while another waits for its answers and a third for its records to be taken. */
const SLOTS_PER_THREAD = 3;

/** Start data of a thread. */
export interface WindowThreadJob {
  readonly columns: FastColumns;
  readonly slots: readonly SharedArrayBuffer[];
  readonly port: MessagePort;
}

type Request =
  | { readonly type: 'begin'; readonly slot: number; readonly length: number; readonly header: boolean }
  | { readonly type: 'finish'; readonly answers: Answers };

/** Replies arrive in the order of the requests. */
type Reply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly message: string };

/** Creates a reader that works on `threads` threads. */
export function createThreadReader(columns: FastColumns, windowBytes: number, threads: number): SlotReader {
  const slots: WindowSlot[] = [];
  const members = Array.from({ length: threads }, () => {
    const buffers = Array.from(
      { length: SLOTS_PER_THREAD },
      () => new SharedArrayBuffer(windowBytes + WINDOW_SLACK_BYTES),
    );
    return { buffers, ...startThread(columns, buffers) };
  });
  // Consecutive windows go to different threads.
  for (let number = 0; number < SLOTS_PER_THREAD; number++) {
    for (const [thread, { buffers }] of members.entries()) {
      const bytes = Buffer.from(buffers[number] as SharedArrayBuffer);
      slots.push({ bytes, thread, number, done: Promise.resolve() });
    }
  }
  const ask = <T>(slot: WindowSlot, request: Request): Promise<T> =>
    (members[slot.thread] as (typeof members)[number]).ask(request) as Promise<T>;
  return {
    slots,
    begin: (slot, length, header) => ask(slot, { type: 'begin', slot: slot.number, length, header }),
    finish: (slot, answers) => ask(slot, { type: 'finish', answers }),
    async close() {
      await Promise.all(members.map(({ end }) => end()));
    },
  };
}

function startThread(columns: FastColumns, slots: readonly SharedArrayBuffer[]) {
  const { port1, port2 } = new MessageChannel();
  const job: WindowThreadJob = { columns, slots, port: port2 };
  const worker = new Worker(workerUrl('label-import'), { workerData: job, transferList: [port2] });
  const { ask, end } = askedThread<Request, Reply>(worker, 'A thread of the import', port1);
  return {
    async ask(request: Request): Promise<unknown> {
      const reply = await ask(request);
      if (!reply.ok) throw new Error(reply.message);
      return reply.value;
    },
    end,
  };
}

/** Runs in the worker thread: answers requests until the thread is terminated. */
export function runWindowThread({ columns, slots, port }: WindowThreadJob): void {
  const reader = new WindowReader(columns);
  const windows = slots.map((slot) => Buffer.from(slot));
  const reply = (value: unknown, transfer: readonly ArrayBuffer[]): void =>
    port.postMessage({ ok: true, value } satisfies Reply, transfer);
  port.on('message', (request: Request | null) => {
    if (request === null) return endBehind(port);
    try {
      if (request.type === 'begin') {
        reader.begin(windows[request.slot] as Buffer, request.length, request.header);
        const fresh = reader.takeFresh();
        reply(fresh, fresh ? [fresh.buffer] : []);
      } else {
        if (request.answers) reader.explain(request.answers);
        const result = reader.finish();
        reply(result, [result.records.buffer]);
      }
    } catch (error) {
      port.postMessage({ ok: false, message: messageOf(error) } satisfies Reply);
    }
  });
}
