/**
 * The steps of a build that need little of its records, on a thread of their own beside the steps that do: the templates while the
 * records are sorted, the filter while their labels are merged, a checksum while other values are written.
 */
import { type MessagePort, parentPort, Worker } from 'node:worker_threads';
import { type ErrorData, errorFromData, errorToData } from '../../base/errors.ts';
import { workerUrl } from '../../base/paths.ts';
import { askedThread, endBehind } from '../../base/threads.ts';
import { asStorageFull } from '../../state/storage.ts';
import { LABEL_LIMITS } from '../limits.ts';
import { type Filter, type FilterUses, filterFrom } from './filter.ts';
import { valueChecksum } from './format.ts';
import { type BuiltTemplates, buildTemplates, readTexts, type TemplateSources } from './template-build.ts';

/** Bytes with their checksum. */
export interface Hashed {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** SHA-256, hex. */
  readonly sha256: string;
}

/** Each call moves the large buffers of its arguments, which have no bytes afterwards. Calls are answered in their order. */
export interface BuildThread {
  /**
   * Builds the templates of the segments; called once.
   *
   * @param used - for each segment one byte per template: whether it has labels
   * @throws INVALID_REQUEST, NOT_FOUND, STORE_CORRUPT or STORE_VERSION
   */
  templates(used: readonly Uint8Array<ArrayBuffer>[]): Promise<BuiltTemplates>;
  /** Does the work of `filterFrom`. */
  filter(uses: FilterUses): Promise<Filter | null>;
  /** Returns the same bytes with their checksum. */
  hashed(bytes: Uint8Array<ArrayBuffer>): Promise<Hashed>;
  /** Ends the thread, after the calls that it has. A second call waits for the same end. */
  close(): Promise<void>;
}

/**
 * Starts the thread, which reads the templates of the segments at once. A build of few labels does its work in the calling thread.
 *
 * @param labels - number of labels of the build
 */
export const startBuildThread = (sources: TemplateSources, labels: number): BuildThread =>
  labels < LABEL_LIMITS.buildThreadFromLabels ? inline(sources) : onThread(sources);

const inline = (sources: TemplateSources): BuildThread => ({
  templates: (used) => awaitedLater(async () => buildTemplates(readTexts(sources), used)),
  filter: (uses) => awaitedLater(async () => filterFrom(uses)),
  hashed: (bytes) => awaitedLater(async () => ({ bytes, sha256: valueChecksum(bytes) })),
  close: () => Promise.resolve(),
});

/** Starts work that the build awaits after other steps, or never if one of them fails: until then its error is not unhandled. */
function awaitedLater<Value>(start: () => Promise<Value>): Promise<Value> {
  const answer = start();
  answer.catch(() => undefined);
  return answer;
}

type Call =
  | { readonly task: 'templates'; readonly used: readonly Uint8Array[] }
  | { readonly task: 'filter'; readonly uses: FilterUses }
  | { readonly task: 'hashed'; readonly bytes: Uint8Array<ArrayBuffer> };
type Reply = { readonly ok: true; readonly value: unknown } | ErrorData;

function onThread(sources: TemplateSources): BuildThread {
  const worker = new Worker(workerUrl('label-build'), { workerData: sources });
  const thread = askedThread<Call, Reply>(worker, 'The thread of the build');
  const ask = <Value>(call: Call, moved: readonly ArrayBuffer[]): Promise<Value> =>
    awaitedLater(async () => {
      const reply = await thread.ask(call, moved);
      if (!reply.ok) throw errorFromData(reply);
      return reply.value as Value;
    });
  return {
    templates: (used) => ask({ task: 'templates', used }, []),
    filter: (uses) => ask({ task: 'filter', uses }, buffersOf(uses.uses, uses.places, uses.seconds)),
    hashed: (bytes) => ask({ task: 'hashed', bytes }, buffersOf(bytes)),
    close: () => thread.end(),
  };
}

const buffersOf = (...views: readonly { readonly buffer: ArrayBuffer }[]): ArrayBuffer[] =>
  views.map(({ buffer }) => buffer);

/** Runs in the thread: reads the templates, then answers calls until it gets null. */
export function runBuildThread(sources: TemplateSources, port: MessagePort | null = parentPort): void {
  let texts: string[][] = [];
  let unreadable: ErrorData | null = null;
  try {
    texts = readTexts(sources);
  } catch (error) {
    unreadable = errorToData(asStorageFull(error, 'The disk'));
  }
  const answer = (call: Call): [Reply, ArrayBuffer[]] => {
    if (call.task === 'templates') {
      if (unreadable !== null) return [unreadable, []];
      const value = buildTemplates(texts, call.used);
      return [{ ok: true, value }, [value.encoded.bytes.buffer as ArrayBuffer, value.numbers.buffer]];
    }
    if (call.task === 'filter') {
      const value = filterFrom(call.uses);
      return [{ ok: true, value }, value === null ? [] : buffersOf(value.bytes)];
    }
    const { bytes } = call;
    return [{ ok: true, value: { bytes, sha256: valueChecksum(bytes) } satisfies Hashed }, buffersOf(bytes)];
  };
  port?.on('message', (call: Call | null) => {
    if (call === null) return endBehind(port);
    try {
      const [reply, moved] = answer(call);
      port.postMessage(reply, moved);
    } catch (error) {
      port.postMessage(errorToData(asStorageFull(error, 'The disk')));
    }
  });
}
