/**
 * Builds the templates of a snapshot from those of its segments: deduplicated, sorted by text, packed. The only input from the records
 * is which templates are in use, so a large build does this on a worker thread while it scatters the records.
 */
import { type MessagePort, parentPort, Worker } from 'node:worker_threads';
import { AssayError, type ErrorData, errorFromData, errorToData } from '../../base/errors.ts';
import { workerUrl } from '../../base/paths.ts';
import { endBehind, whenEnded } from '../../base/threads.ts';
import { asStorageFull } from '../../state/storage.ts';
import { type Designations, ownerEntriesAdder } from '../designations.ts';
import { LABEL_LIMITS } from '../limits.ts';
import { readSegment } from './segment.ts';
import { type EncodedTemplates, encodeTemplates } from './template-table.ts';

export interface BuiltTemplates {
  readonly encoded: EncodedTemplates;
  readonly count: number;
  /**
   * Maps the index of a template among the templates of all segments, one after the other, to its number in the snapshot; -1 if it has
   * no labels.
   */
  readonly numbers: Int32Array<ArrayBuffer>;
}

export interface TemplateBuild {
  /**
   * Finishes the build. Throws INVALID_REQUEST, STORE_CORRUPT.
   *
   * @param used For each segment one byte per template: whether it has labels.
   */
  finish(used: readonly Uint8Array<ArrayBuffer>[]): Promise<BuiltTemplates>;
  close(): Promise<void>;
}

/** Inputs of the templates of a build: plain data that can be posted to a thread. */
export interface TemplateSources {
  /** Path of each segment, and the ISO date of its dataset. */
  readonly segments: readonly { readonly path: string; readonly date: string | null }[];
  readonly designations: Designations;
}

/**
 * Starts to build the templates of the segments, on a worker thread if there are many labels.
 *
 * @param labels Number of labels of the build.
 */
export function beginTemplates(sources: TemplateSources, labels: number): TemplateBuild {
  return labels < LABEL_LIMITS.buildThreadFromLabels ? inline(sources) : onThread(sources);
}

const inline = (sources: TemplateSources): TemplateBuild => ({
  finish: async (used) => buildTemplates(readTexts(sources), used),
  close: () => Promise.resolve(),
});

type Reply = { readonly ok: true; readonly built: BuiltTemplates } | ErrorData;

function onThread(sources: TemplateSources): TemplateBuild {
  const worker = new Worker(workerUrl('label-templates'), { workerData: sources });
  let reply: Promise<BuiltTemplates> | null = new Promise<BuiltTemplates>((resolve, reject) => {
    worker.on('message', (message: Reply) => {
      if (message.ok) resolve(message.built);
      else reject(errorFromData(message));
    });
    worker.on('error', reject);
    worker.on('exit', (code) => reject(new Error(`The thread of the templates ended with ${code}.`)));
  });
  // Awaited in `finish`; if the build ends earlier, a rejection must not end the process.
  reply.catch(() => undefined);
  return {
    async finish(used) {
      const taken = reply;
      // A promise keeps its value: the packed texts leave memory before the build ends.
      reply = null;
      if (taken === null) throw new Error('The templates were built already.');
      worker.postMessage(used);
      return taken;
    },
    close() {
      worker.postMessage(null);
      return whenEnded(worker);
    },
  };
}

/** Runs in the worker thread: builds the templates and posts the result. */
export function runTemplateThread(sources: TemplateSources, port: MessagePort | null = parentPort): void {
  let texts: string[][] | null = null;
  let failure: ErrorData | null = null;
  try {
    texts = readTexts(sources);
  } catch (error) {
    failure = errorToData(asStorageFull(error, 'The disk'));
  }
  port?.on('message', (used: readonly Uint8Array[] | null) => {
    if (used === null) return endBehind(port);
    try {
      if (texts === null) return port.postMessage(failure);
      const built = buildTemplates(texts, used);
      const reply: Reply = { ok: true, built };
      port.postMessage(reply, [built.encoded.bytes.buffer as ArrayBuffer, built.numbers.buffer]);
    } catch (error) {
      port.postMessage(errorToData(asStorageFull(error, 'The disk')));
    }
  });
}

const readTexts = ({ segments, designations }: TemplateSources): string[][] =>
  segments.map(({ path, date }) => {
    const texts = readSegment(path).templateTexts;
    return designations.size === 0 ? [...texts] : texts.map(ownerEntriesAdder(designations, date));
  });

/** Empties `textsOf`: each text leaves memory when it is packed. */
function buildTemplates(textsOf: string[][], used: readonly Uint8Array[]): BuiltTemplates {
  const { texts, numbers } = numberTemplates(textsOf, used);
  textsOf.length = 0;
  return { encoded: encodeTemplates(texts), count: texts.length, numbers };
}

/** A function of its own: what its variables refer to stays in memory until it returns. */
function numberTemplates(
  textsOf: readonly (readonly string[])[],
  used: readonly Uint8Array[],
): { readonly texts: string[]; readonly numbers: BuiltTemplates['numbers'] } {
  const all = textsOf.flat();
  // Sorted by text, so that the result does not depend on the order of the segments.
  const order = Uint32Array.from(indicesUsed(used)).sort((a, b) => {
    const [left, right] = [all[a] as string, all[b] as string];
    return left < right ? -1 : left > right ? 1 : 0;
  });
  const numbers = new Int32Array(all.length).fill(-1);
  const texts: string[] = [];
  for (const at of order) {
    const text = all[at] as string;
    if (text !== texts.at(-1)) texts.push(text);
    numbers[at] = texts.length - 1;
  }
  if (texts.length > LABEL_LIMITS.labelTemplatesMax) {
    throw new AssayError(
      'INVALID_REQUEST',
      `An index can have at most ${LABEL_LIMITS.labelTemplatesMax} different labels, not counting addresses and dates (got ${texts.length}).`,
    );
  }
  return { texts, numbers };
}

/** Yields the indices of used templates among those of all segments. */
function* indicesUsed(used: readonly Uint8Array[]): Generator<number> {
  let first = 0;
  for (const usedHere of used) {
    for (let at = 0; at < usedHere.length; at++) if (usedHere[at] === 1) yield first + at;
    first += usedHere.length;
  }
}
