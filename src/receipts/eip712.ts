/**
 * Verdicts for contracts: EIP-712 typed data, signed with secp256k1. A contract such as examples/solidity/AssayVerifier.sol verifies them.
 *
 * Encodings of the 32-byte fields:
 *
 * - `receipt`: SHA-256 of the canonical bytes of the receipt.
 * - `chain`: keccak-256 of the CAIP-2 id of the screened chain, UTF-8. A CAIP-2 id has up to 41 characters, so it is never padded.
 * - `snapshot`: SHA-256 of the data version, UTF-8.
 * - `policy`: SHA-256 of the canonical JSON of the policy.
 */
import { createHash } from 'node:crypto';
import { keccak_256 } from '@noble/hashes/sha3.js';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { parseAddress } from '../chains/address/parse.ts';
import { type ChainId, chainOf, isEvm } from '../chains/registry.ts';
import { ORACLE_LIMITS } from './oracle/limits.ts';

/**
 * The numbers of verdicts on chain. `unrated`: the address was compared with the sanctions lists and nothing else, so a guard that asks for
 * `safe` or `warning` refuses it, as it refuses an empty verdict.
 */
export const VERDICT_NUMBERS = { unrated: 0, safe: 1, warning: 2, danger: 3 } as const;
export type VerdictWord = keyof typeof VERDICT_NUMBERS;

/** `Verdict` of EIP-712, in the order of its encoding. AssayVerifier.sol has the same type. */
export const VERDICT_TYPES = {
  Verdict: [
    { name: 'receipt', type: 'bytes32' },
    { name: 'chain', type: 'bytes32' },
    { name: 'subject', type: 'address' },
    { name: 'verdict', type: 'uint8' },
    { name: 'score', type: 'uint16' },
    { name: 'sanctioned', type: 'bool' },
    { name: 'issuedAt', type: 'uint64' },
    { name: 'expiresAt', type: 'uint64' },
    { name: 'snapshot', type: 'bytes32' },
    { name: 'policy', type: 'bytes32' },
  ],
} as const;

/** The message of a verdict. Byte fields are `0x` and lower-case hexadecimal; times are seconds since 1970. */
export interface Verdict {
  readonly receipt: string;
  readonly chain: string;
  /** With the checksum of EIP-55. */
  readonly subject: string;
  readonly verdict: number;
  readonly score: number;
  readonly sanctioned: boolean;
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly snapshot: string;
  readonly policy: string;
}

/** The contract that verifies a verdict. A signature for it is not valid for any other contract or chain. */
export interface VerdictTarget {
  /** Number of EIP-155 of the chain of the contract. */
  readonly chainId: number;
  readonly verifyingContract: string;
}

/** The domain of EIP-712. */
export interface VerdictDomain extends VerdictTarget {
  readonly name: string;
  readonly version: string;
}

/** The facts of an answer that a verdict is made from. */
export interface VerdictFacts {
  /** SHA-256 of the receipt, hexadecimal. */
  readonly receiptSha256: string;
  readonly chain: ChainId;
  readonly address: string;
  readonly verdict: VerdictWord;
  /** 0 to 100. */
  readonly score: number;
  readonly sanctioned: boolean;
  /** Seconds since 1970. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly dataVersion: string;
  /** SHA-256 of the canonical JSON of the policy, hexadecimal. */
  readonly policySha256: string;
}

/** Port of a signing key: the key never leaves its implementation. */
export interface VerdictKey {
  /** Address of the key, with the checksum of EIP-55. */
  readonly address: string;
  /** Seconds since 1970. From this time on the key signs nothing, and contracts refuse its signatures. */
  readonly endsAt: number;
  /**
   * Signs a digest of 32 bytes.
   *
   * @returns 65 bytes as `0x` and hexadecimal: r, s in the lower half of the order (EIP-2), v of 27 or 28
   */
  sign(digest: string): Promise<string>;
}

/** A verdict as a client passes it to a contract. */
export interface SignedVerdict {
  readonly domain: VerdictDomain;
  readonly types: typeof VERDICT_TYPES;
  readonly message: Verdict;
  readonly signature: string;
  readonly signer: string;
}

const SHA256_HEX = /^[0-9a-f]{64}$/;
/** CAIP-10 of a contract. A chain id has at most 15 digits here, so that it is an exact number. */
const VERIFIER = /^eip155:([1-9]\d{0,14}):(0x[0-9a-fA-F]{40})$/;
const CONTRACT = /^0x[0-9a-fA-F]{40}$/;

const sha256 = (text: string): string => `0x${createHash('sha256').update(text).digest('hex')}`;

/**
 * Parses the CAIP-10 id of the contract that verifies a verdict, such as `eip155:1:0x28c6…`.
 *
 * @throws INVALID_REQUEST naming the field `verifier`
 */
export function parseVerifier(text: string): VerdictTarget {
  const [, chainId, verifyingContract] = VERIFIER.exec(text) ?? [];
  if (chainId === undefined || verifyingContract === undefined)
    throw refuse(
      'verifier',
      'the CAIP-10 id of the contract that verifies the verdict: eip155:<chain id>:0x<40 digits>',
    );
  return { chainId: Number(chainId), verifyingContract };
}

/** Returns `chain` of a verdict: the keccak-256 of the CAIP-2 id. */
export const chainHash = (chain: ChainId): string =>
  `0x${Buffer.from(keccak_256(Buffer.from(chainOf(chain).caip2))).toString('hex')}`;

const domainOf = ({ chainId, verifyingContract }: VerdictTarget): VerdictDomain => ({
  name: 'Assay',
  version: '1',
  chainId,
  verifyingContract,
});

const refuse = (field: string, allowed: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: must be ${allowed}.`, { field });

/**
 * Returns the message of a verdict.
 *
 * @throws INVALID_REQUEST if the subject is not an EVM address, or a verdict for contracts may not live that long
 * @throws INVALID_ADDRESS
 */
export function verdictOf(facts: VerdictFacts): Verdict {
  const { chain, issuedAt, expiresAt, score } = facts;
  if (!isEvm(chain)) throw refuse('chain', 'an EVM chain for a verdict that a contract verifies');
  if (!Number.isSafeInteger(score) || score < 0 || score > 100)
    throw refuse('score', 'a whole number from 0 to 100');
  for (const field of ['receiptSha256', 'policySha256'] as const)
    if (!SHA256_HEX.test(facts[field])) throw refuse(field, 'a SHA-256, hexadecimal');
  const life = expiresAt - issuedAt;
  if (
    !Number.isSafeInteger(issuedAt) ||
    !Number.isSafeInteger(life) ||
    life <= 0 ||
    life > ORACLE_LIMITS.signedVerdictSeconds
  )
    throw refuse('expiresAt', `1 to ${ORACLE_LIMITS.signedVerdictSeconds} whole seconds after issuedAt`);
  return {
    receipt: `0x${facts.receiptSha256}`,
    chain: chainHash(chain),
    subject: parseAddress(chain, facts.address).canonical,
    verdict: VERDICT_NUMBERS[facts.verdict],
    score,
    sanctioned: facts.sanctioned,
    issuedAt,
    expiresAt,
    snapshot: sha256(facts.dataVersion),
    policy: `0x${facts.policySha256}`,
  };
}

/** Returns the digest of a verdict that is signed (EIP-712), as `0x` and hexadecimal. */
export async function verdictDigest(message: Verdict, target: VerdictTarget): Promise<string> {
  const { TypedDataEncoder } = await import('ethers');
  return TypedDataEncoder.hash({ ...domainOf(target) }, mutable(VERDICT_TYPES), message);
}

/** ethers accepts only arrays that it could change. */
const mutable = ({ Verdict }: typeof VERDICT_TYPES): Record<string, { name: string; type: string }[]> => ({
  Verdict: [...Verdict],
});

/**
 * Signs the verdict of an answer for one contract. It takes 0.6 to 1.3 ms, so it is done only if a client asks for it.
 *
 * @throws INVALID_REQUEST as `verdictOf`, or if the target is not a contract address and a chain id
 * @throws NOT_READY if the key has ended
 */
export async function signVerdict(
  facts: VerdictFacts,
  target: VerdictTarget,
  { key, clock }: { readonly key: VerdictKey; readonly clock: Clock },
): Promise<SignedVerdict> {
  if (!CONTRACT.test(target.verifyingContract))
    throw refuse('verifyingContract', '0x and 40 hexadecimal digits');
  if (!Number.isSafeInteger(target.chainId) || target.chainId < 1)
    throw refuse('chainId', 'the number of a chain by EIP-155');
  if (clock.now() >= key.endsAt * 1_000)
    throw new AssayError(
      'NOT_READY',
      "The key that signs verdicts has ended. Create another with 'assay oracle signer --new', and add it to the contracts.",
    );
  const message = verdictOf(facts);
  const signature = await key.sign(await verdictDigest(message, target));
  return { domain: domainOf(target), types: VERDICT_TYPES, message, signature, signer: key.address };
}

/** Half of the order of secp256k1 (EIP-2). */
const S_MAX = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
const SIGNATURE = /^0x[0-9a-f]{128}1[bc]$/i;

/**
 * Returns the address that has signed a verdict, as `AssayVerifier.check` recovers it. The caller decides whether it is a signer, and
 * whether the verdict has expired.
 *
 * @returns null if the signature has another form, or its s is in the upper half of the order
 */
export async function verdictSigner(
  message: Verdict,
  target: VerdictTarget,
  signature: string,
): Promise<string | null> {
  if (!SIGNATURE.test(signature) || BigInt(`0x${signature.slice(66, 130)}`) > S_MAX) return null;
  const { recoverAddress } = await import('ethers');
  try {
    return recoverAddress(await verdictDigest(message, target), signature);
  } catch {
    // No point of the curve has this r.
    return null;
  }
}
