/** Prints how many milliseconds it takes to import the named package, in this process of its own. */
import { systemClock } from '../src/base/clock.ts';

const startedAt = systemClock.monotonic();
await import(process.argv[2] ?? '');
process.stdout.write(JSON.stringify(systemClock.monotonic() - startedAt));
