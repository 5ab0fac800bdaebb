/** The round constants of SHA-256, for the programs that write its code. */

const ROUNDS = 64;

/**
 * Returns the first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, section 4.2.2), as signed numbers.
 */
export function roundConstants(): number[] {
  const primes: bigint[] = [];
  for (let candidate = 2n; primes.length < ROUNDS; candidate++) {
    if (primes.every((prime) => candidate % prime !== 0n)) primes.push(candidate);
  }
  return primes.map((prime) => {
    // Greatest x with x³ ≤ prime · 2^96: the cube root with 32 bits after the binary point.
    const target = prime << 96n;
    let root = 0n;
    for (let bit = 1n << 40n; bit > 0n; bit >>= 1n) {
      const tried = root | bit;
      if (tried * tried * tried <= target) root = tried;
    }
    return Number(BigInt.asIntN(32, root));
  });
}
