/** Prints how many milliseconds importing the named package takes, in this process of its own. */
import { systemClock } from '../src/base/clock.ts';

const startedAt = systemClock.monotonic();
await import(process.argv[2] ?? '');
process.stdout.write(JSON.stringify(systemClock.monotonic() - startedAt));
