/**
 * Loads an entry of the joined program (`bundle.ts`) with the code that V8 compiled at an earlier start. Commands, a server, threads and
 * programs of tests have a file of compiled code each, because they run other functions.
 */
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');
const { Script } = require('node:vm');
const { isMainThread } = require('node:worker_threads');

const filename = join(__dirname, 'joined.js');

module.exports = (entry) => {
  const kind =
    entry === 'src/main' ? (process.argv[2] === 'serve' ? 'serve' : 'main') : entry.replaceAll('/', '-');
  const compiled = join(__dirname, `${kind}.compiled`);
  // A thread that did not run at the first start begins with the code of the program.
  const known = [compiled, join(__dirname, 'main.compiled')].find((path) => existsSync(path));
  const source = `(function (require, module, joinedUrl) {'use strict';${readFileSync(filename, 'latin1')}\n})`;
  const script = new Script(source, {
    filename,
    ...(known === undefined ? {} : { cachedData: readFileSync(known) }),
  });
  const joined = { exports: {} };
  // The folder in which the program looks for its package.json is that of dist/src.
  script.runInThisContext()(require, joined, pathToFileURL(join(__dirname, '..', 'joined.js')).href);
  const keep = () => {
    writeFileSync(`${compiled}.new`, script.createCachedData());
    renameSync(`${compiled}.new`, compiled);
  };
  const isKept = process.env.ASSAY_TEST_COMPILED === 'keep';
  if (isKept && isMainThread) process.on('exit', keep);
  const exported = joined.exports[entry]();
  // The end of a thread may not be its own.
  if (isKept && !isMainThread) keep();
  return exported;
};
