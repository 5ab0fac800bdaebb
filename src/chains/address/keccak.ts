/**
 * Keccak-256 with the padding of Ethereum and Monero (FIPS 202, section 3, with the suffix of the original submission) for messages of
 * one block. A WebAssembly kernel that the build assembles (scripts/kernels) permutes lanes of 64 bits, which JavaScript does not have.
 */
import { AssayError } from '../../base/errors.ts';
import { type KernelMemory, loadKernel } from '../../base/kernel.ts';

const RATE_BYTES = 136;
/** The longest message that fits one block. */
export const ONE_BLOCK_MAX = RATE_BYTES - 1;

/** Places of values in the memory of the kernel, in bytes. The block is at its start, and the digest afterwards. */
export const KECCAK_MEMORY = { constants: 256 } as const;

interface Kernel extends KernelMemory {
  /** Permutes the block. */
  readonly permute: () => void;
}

/** Loaded at the first use: most commands hash nothing. */
let loaded: { readonly block: Uint8Array; readonly permute: () => void } | null = null;

function load(): NonNullable<typeof loaded> {
  const kernel = loadKernel<Kernel>('keccak');
  if (kernel === null)
    throw new AssayError('INTERNAL', 'dist/kernels/keccak.wasm cannot be loaded: run `npm run build`.');
  return { block: new Uint8Array(kernel.memory.buffer, 0, RATE_BYTES), permute: kernel.permute };
}

/** The 32 bytes of the last digest. */
export const digest = new Uint8Array(32);

/** Hashes `bytes[start, start + length)`, at most `ONE_BLOCK_MAX` bytes, into `digest`. */
export function keccak256Block(bytes: Uint8Array, start: number, length: number): void {
  loaded ??= load();
  const { block, permute } = loaded;
  block.fill(0, length);
  for (let i = 0; i < length; i++) block[i] = bytes[start + i] as number;
  block[length] = 1;
  block[ONE_BLOCK_MAX] = (block[ONE_BLOCK_MAX] as number) | 0x80;
  permute();
  for (let i = 0; i < digest.length; i++) digest[i] = block[i] as number;
}
