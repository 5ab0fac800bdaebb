/** When V8 begins to collect the old objects of its heaps. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Percent of the room for old objects that is filled when marking begins in a task of its own, between requests. */
const BEGIN_PERCENT = 60;
/** Percent at which it begins at once, because a request fills the room faster than tasks run. */
const AT_ONCE_PERCENT = 85;

/**
 * Makes V8 mark old objects when most of their room is filled, in this thread and in all threads that start later. Without the two settings, it
 * begins after each collection of young objects if less room is left than young objects have. A heap of 30 MB with the 32 MB of
 * `--max-semi-space-size` is then collected whole three times a second under load: a tenth of the main thread's time, in pauses of 8 to 20 ms.
 * The limit of the heap does not change, so it does not grow larger. The loader of the joined program has the same values (scripts/joined).
 */
export function collectOldObjectsLater(): void {
  setFlagsFromString(`--incremental-marking-soft-trigger=${BEGIN_PERCENT}`);
  setFlagsFromString(`--incremental-marking-hard-trigger=${AT_ONCE_PERCENT}`);
}

let collect: (() => void) | null = null;

/** Returns V8's function that collects all objects. It exists in contexts that are created while this flag is set. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as () => void;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}

/** Collects all objects of this thread now, which stops it for some ten milliseconds: for what is freed or closed with the last reference to it. */
export function collectObjectsNow(): void {
  collect ??= collector();
  collect();
}
