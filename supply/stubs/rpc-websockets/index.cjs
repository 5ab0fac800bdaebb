/**
 * Takes the place of rpc-websockets, whose licence is LGPL-3.0-only. `@solana/web3.js` loads it, and constructs one client for each of its
 * `Connection`s; Assay uses neither. Construction works, so that the library loads; every call throws.
 */
'use strict';

const { EventEmitter } = require('node:events');

function refuse(member) {
  throw new Error(
    `rpc-websockets: ${member} was called, but Assay does not ship this package because of its licence (LGPL-3.0-only). ` +
      'Follow Solana with src/chains/families/solana, not with Connection of @solana/web3.js.',
  );
}

class CommonClient extends EventEmitter {
  connect() {
    refuse('connect()');
  }
  call() {
    refuse('call()');
  }
  notify() {
    refuse('notify()');
  }
  close() {}
}

exports.CommonClient = CommonClient;
exports.WebSocket = () => refuse('WebSocket()');
