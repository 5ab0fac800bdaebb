/** Loads the WebAssembly kernels that the build assembles (scripts/kernels). */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { builtKernels } from './paths.ts';

/** The part of WebAssembly that is used here: the types of Node.js do not have it. */
const { Module, Instance } = (
  globalThis as unknown as {
    readonly WebAssembly: {
      readonly Module: new (bytes: Uint8Array) => object;
      readonly Instance: new (module: object) => { readonly exports: object };
    };
  }
).WebAssembly;

/** What every kernel exports beside its functions. */
export interface KernelMemory {
  readonly memory: { readonly buffer: ArrayBuffer };
}

/**
 * Returns the exports of a new instance of a kernel, with a memory of its own.
 *
 * @param name - name of the kernel's file, without `.wasm`
 * @returns null on a processor without the vectors that the kernel needs, or if it is not built; callers then do the work without it
 */
export function loadKernel<Exports extends KernelMemory>(name: string): Exports | null {
  try {
    return new Instance(new Module(readFileSync(join(builtKernels, `${name}.wasm`)))).exports as Exports;
  } catch {
    return null;
  }
}
