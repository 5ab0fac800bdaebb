/**
 * Loads an entry of the joined program with the code that V8 compiled at an earlier start (`join.ts`). Commands, servers, look-ups and each
 * kind of thread have files of compiled code, because they run other functions. V8 accepts code only under the version and the settings under
 * which it was kept, which name the file; without a file, it compiles the source.
 */
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { cachedDataVersionTag, setFlagsFromString } = require('node:v8');
const { Script } = require('node:vm');

/** The file with the whole program. */
const PROGRAM = 'program.cjs';

/**
 * Sets what servers set (src/base/old-objects.ts), or what V8 begins with. V8 uses kept code only under the settings under which it was kept.
 * Servers and all threads are compiled under those of servers, so that each of them uses what another one kept; commands, which may have
 * threads, under those of V8.
 */
const setAs = (isServer) => {
  setFlagsFromString(`--incremental-marking-soft-trigger=${isServer ? 60 : 0}`);
  setFlagsFromString(`--incremental-marking-hard-trigger=${isServer ? 85 : 0}`);
};

/** Files of compiled code to begin with, the best first: a thread that did not run at the first start begins with that of servers. */
const compiledOf = (entry, file) => {
  if (file !== PROGRAM) return [file.replace(/\.cjs$/, '')];
  if (entry !== 'src/main') return [entry.replaceAll('/', '-'), 'serve'];
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
  const isServer = entry.startsWith('workers/') || process.argv[2] === 'serve';
  if (isServer) setAs(true);
  // Of V8 and its settings, also those in NODE_OPTIONS.
  const tag = cachedDataVersionTag().toString(36);
  const kinds = compiledOf(entry, file).map((kind) => join(__dirname, `${kind}.${tag}.compiled`));
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
    setAs(isServer);
    writeFileSync(`${compiled}.new`, script.createCachedData());
    renameSync(`${compiled}.new`, compiled);
  };
  if (isMainThread) process.on('exit', keep);
  const exported = joined.exports[entry]();
  // The end of a thread may not be its own.
  if (!isMainThread) keep();
  return exported;
};
