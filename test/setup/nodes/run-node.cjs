/**
 * Runs bcoin or bcash on regtest, in memory and in plain JavaScript: `node run-node.cjs <folder of the packages> <package> <port>`.
 * Nothing is compiled: the native parts of both have a slower equivalent in JavaScript, and the database on disk is not used.
 */
const Module = require('node:module');
const { join } = require('node:path');

process.env.NODE_BACKEND = 'js';
const [folder, name, port] = process.argv.slice(2);

const load = Module._load;
Module._load = (request, parent, isMain) => {
  const isDisk =
    (request === './level' || request === 'leveldown') && /node_modules[\\/]bdb/.test(parent?.filename ?? '');
  return isDisk ? class NoDisk {} : load(request, parent, isMain);
};

const { FullNode } = require(join(folder, 'node_modules', name));
const node = new FullNode({
  network: 'regtest',
  memory: true,
  httpHost: '127.0.0.1',
  httpPort: Number(port),
  apiKey: 'secret',
  indexTx: true,
  workers: false,
  listen: false,
  logLevel: 'none',
});
// A test that fails before it stops its node must not leave it running.
process.stdin.on('end', () => process.exit()).resume();
(async () => {
  await node.ensure?.();
  await node.open();
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
