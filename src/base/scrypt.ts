/** scrypt (RFC 7914) as one message, for whichever thread derives. A derivation takes about a fifth of a second of a core. */
import { scrypt, scryptSync } from 'node:crypto';

/** Memory is 128 × 2^log2N × r bytes. Crosses threads as it is. */
export interface ScryptRequest {
  readonly password: string;
  readonly salt: Uint8Array;
  readonly log2N: number;
  readonly r: number;
  readonly p: number;
  /** Of the result. */
  readonly bytes: number;
}

const costOf = ({ log2N, r, p }: ScryptRequest) => ({
  N: 2 ** log2N,
  r,
  p,
  // What it needs, and as much again for what surrounds it.
  maxmem: 256 * 2 ** log2N * r,
});

/** On this thread, which answers nothing meanwhile. */
export const scryptHere = (request: ScryptRequest): Uint8Array =>
  scryptSync(request.password, request.salt, request.bytes, costOf(request));

/** On a thread of libuv's: for the command line, which has no pool of its own. */
export const scryptOnLibuv = (request: ScryptRequest): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    scrypt(request.password, request.salt, request.bytes, costOf(request), (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
