/** Lets a test file that opens parts of the program start the joined threads (scripts/joined), as servers of the tests do. */
import type { Plugin } from 'vitest/config';

/** Threads that load many modules: a start takes 0.2 s of processor time instead of 0.4 to 0.6 s. The others load few. */
const JOINED = ['bulk-file', 'exposure', 'pool', 'replication'] as const;

const FROM = 'isJoined ? `joined/workers';

/** Changes where src/base/paths.ts looks for threads. */
export const joinedWorkers: Plugin = {
  name: 'joined-workers',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('/src/base/paths.ts')) return undefined;
    if (!code.includes(FROM)) throw new Error(`src/base/paths.ts lacks ${FROM}`);
    return code.replace(FROM, FROM.replace('isJoined', `${JSON.stringify(JOINED)}.includes(name)`));
  },
};
