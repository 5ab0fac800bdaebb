/** scrypt (RFC 7914) as one message, for any thread that derives. One derivation takes about a fifth of a second of a core. */
import { scrypt, scryptSync } from 'node:crypto';

/** Parameters of a derivation, which can be passed to another thread. Memory is 128 × 2^log2N × r bytes. */
export interface ScryptRequest {
  readonly password: string;
  readonly salt: Uint8Array;
  readonly log2N: number;
  readonly r: number;
  readonly p: number;
  /** Length of the result. */
  readonly bytes: number;
}

const costOf = ({ log2N, r, p }: ScryptRequest) => ({
  N: 2 ** log2N,
  r,
  p,
  // Twice the required memory, to leave room for overhead.
  maxmem: 256 * 2 ** log2N * r,
});

/** Derives on the calling thread, and blocks it. */
export const scryptHere = (request: ScryptRequest): Uint8Array =>
  scryptSync(request.password, request.salt, request.bytes, costOf(request));

/** Derives on a thread of libuv: for the command line, which has no worker pool. */
export const scryptOnLibuv = (request: ScryptRequest): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    scrypt(request.password, request.salt, request.bytes, costOf(request), (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
