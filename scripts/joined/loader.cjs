/**
 * Loads an entry of the joined program with the code that V8 compiled at an earlier start (`join.ts`). Commands, servers, look-ups and each
 * kind of thread have a file of compiled code, because they run other functions. V8 refuses code of another version or other settings, and
 * compiles the source instead.
 */
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { Script } = require('node:vm');

/** The file with the whole program. */
const PROGRAM = 'program.cjs';

/** Files of compiled code to begin with, the best first: a thread that did not run at the first start begins with that of the program. */
const compiledOf = (entry, file) => {
  if (file !== PROGRAM) return [file.replace(/\.cjs$/, '')];
  if (entry !== 'src/main') return [entry.replaceAll('/', '-'), 'main'];
  return process.argv[2] === 'serve' ? ['serve', 'main'] : ['main'];
};

/**
 * @param entry - path of a module below dist/, without `.js`
 * @param own - name of the joined file that contains it; default: the program, or for a look-up its file
 */
module.exports = (entry, own) => {
  const isLookup = entry === 'src/main' && process.argv[2] === 'lookup';
  const file = own ?? (isLookup ? 'lookup.cjs' : PROGRAM);
  const filename = join(__dirname, file);
  const kinds = compiledOf(entry, file).map((kind) => join(__dirname, `${kind}.compiled`));
  const known = kinds.find((path) => existsSync(path));
  // All of its characters take one byte (`join.ts`).
  const script = new Script(readFileSync(filename, 'latin1'), {
    filename,
    ...(known === undefined ? {} : { cachedData: readFileSync(known) }),
  });
  const joined = { exports: {} };
  const { pathToFileURL } = require('node:url');
  script.runInThisContext()(require, joined, pathToFileURL(filename).href);
  // Set by `join.ts` only.
  if (process.env.JOINED_KEEP_COMPILED !== __dirname) return joined.exports[entry]();
  const { isMainThread } = require('node:worker_threads');
  const [compiled] = kinds;
  const keep = () => {
    writeFileSync(`${compiled}.new`, script.createCachedData());
    renameSync(`${compiled}.new`, compiled);
  };
  if (isMainThread) process.on('exit', keep);
  const exported = joined.exports[entry]();
  // The end of a thread may not be its own.
  if (!isMainThread) keep();
  return exported;
};
