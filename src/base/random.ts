/** Randomness as a dependency: cryptographic for secrets, seeded for anything that must repeat. */

/** Loaded at the first use: a look-up needs no randomness, and the module takes as long as its index to open. */
const crypto = (): typeof import('node:crypto') => process.getBuiltinModule('node:crypto');

export interface Random {
  bytes(count: number): Uint8Array;
}

/** Cryptographically secure random bytes. */
export const systemRandom: Random = { bytes: (count) => crypto().randomBytes(count) };

/** Returns a uniform number in [0, 1), for jitter. Not for secrets. */
export const systemJitter = (): number => crypto().randomBytes(4).readUInt32BE(0) / 2 ** 32;

/**
 * Returns a seeded generator of uint32 (sfc32 by Chris Doty-Humphrey, PractRand), for synthetic data and simulations. The same seed gives
 * the same sequence on every machine. Not for secrets.
 */
export function seededUint32(seed: number): () => number {
  let a = 0x9e3779b9;
  let b = 0x243f6a88;
  let c = seed >>> 0;
  let counter = 1;
  const next = (): number => {
    const sum = (a + b + counter) >>> 0;
    counter = (counter + 1) >>> 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) >>> 0;
    c = (((c << 21) | (c >>> 11)) + sum) >>> 0;
    return sum;
  };
  for (let warmUp = 0; warmUp < 12; warmUp++) next();
  return next;
}
