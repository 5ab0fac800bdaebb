/** Signed verdicts for tests of contracts. */
import { computeAddress, SigningKey } from 'ethers';
import type { VerdictFacts, VerdictKey } from '../../src/receipts/eip712.ts';

/** Returns the key with a number as its private key. */
export function testKey(number: number, endsAt = 4_000_000_000): VerdictKey {
  const signing = new SigningKey(`0x${number.toString(16).padStart(64, '0')}`);
  return {
    address: computeAddress(signing.publicKey),
    endsAt,
    sign: async (digest) => signing.sign(digest).serialized,
  };
}

/** Facts of a safe verdict about an address of Ethereum, valid for 15 minutes. */
export const testFacts = (
  address: string,
  issuedAt: number,
  change: Partial<VerdictFacts> = {},
): VerdictFacts => ({
  receiptSha256: 'ab'.repeat(32),
  chain: 'ETH',
  address,
  verdict: 'safe',
  score: 7,
  sanctioned: false,
  issuedAt,
  expiresAt: issuedAt + 900,
  dataVersion: 'v1-0123456789abcdef',
  policySha256: 'cd'.repeat(32),
  ...change,
});
