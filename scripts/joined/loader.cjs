/**
 * Loads an entry of the joined program with the code that V8 compiled at an earlier start (`join.ts`). Commands, servers and each kind of
 * thread have a file of compiled code, because they run other functions. V8 refuses code of another version or other settings, and compiles
 * the source instead.
 */
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { Script } = require('node:vm');
const { isMainThread } = require('node:worker_threads');

const filename = join(__dirname, 'program.cjs');

module.exports = (entry) => {
  const kind =
    entry === 'src/main' ? (process.argv[2] === 'serve' ? 'serve' : 'main') : entry.replaceAll('/', '-');
  const compiled = join(__dirname, `${kind}.compiled`);
  // A thread that did not run at the first start begins with the code of the program.
  const known = [compiled, join(__dirname, 'main.compiled')].find((path) => existsSync(path));
  // All of its characters take one byte (`join.ts`).
  const source = `(function (require, module, joinedUrl) {'use strict';${readFileSync(filename, 'latin1')}\n})`;
  const script = new Script(source, {
    filename,
    ...(known === undefined ? {} : { cachedData: readFileSync(known) }),
  });
  const joined = { exports: {} };
  script.runInThisContext()(require, joined, pathToFileURL(filename).href);
  const keep = () => {
    writeFileSync(`${compiled}.new`, script.createCachedData());
    renameSync(`${compiled}.new`, compiled);
  };
  // Set by `join.ts` only.
  const isKept = process.env.JOINED_KEEP_COMPILED === __dirname;
  if (isKept && isMainThread) process.on('exit', keep);
  const exported = joined.exports[entry]();
  // The end of a thread may not be its own.
  if (isKept && !isMainThread) keep();
  return exported;
};
