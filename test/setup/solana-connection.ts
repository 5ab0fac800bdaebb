/**
 * Gives `Connection` of @solana/web3.js its WebSocket client, for tests that compare Assay with it. The program itself has a stub in its
 * place (supply/stubs/rpc-websockets). Import this module before any module that imports @solana/web3.js.
 */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
Object.assign(require('rpc-websockets'), require('rpc-websockets-client'));
