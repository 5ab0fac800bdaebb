/** Which HTTP back ends this machine can run. */
import { messageOf } from '../../src/base/errors.ts';

/** The binaries of uWebSockets.js for Node 22 and later need glibc 2.38; no other reason makes tests use node:http instead. */
const OLD_GLIBC = /GLIBC_[\d.]+' not found/;

let found: Promise<string | null> | undefined;

async function find(): Promise<string | null> {
  try {
    await import('../../src/http/server/uws.ts');
    return null;
  } catch (error) {
    const reason = messageOf(error).split('\n')[0] ?? '';
    if (!OLD_GLIBC.test(reason)) throw error;
    console.warn(`Tests of uWebSockets.js run on node:http instead: ${reason}`);
    return reason;
  }
}

/** Returns the reason why uWebSockets.js cannot run here, or null if it can. */
export function uwsUnavailable(): Promise<string | null> {
  found ??= find();
  return found;
}

/** Returns the back end to test: the requested one, or node:http if glibc is too old for uWebSockets.js. */
export const backendHere = async (backend: 'uws' | 'node'): Promise<'uws' | 'node'> =>
  backend === 'uws' && (await uwsUnavailable()) !== null ? 'node' : backend;
