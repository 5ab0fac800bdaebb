/** Pieces of WebAssembly text that several kernels use. */

/** Reads a local. */
export const local = (name: string): string => `(local.get $${name})`;

/** Sets a local. */
export const setLocal = (name: string, value: string): string => `(local.set $${name} ${value})`;

/** A vector with the same byte in all sixteen lanes. */
export const everyByte = (byte: number): string => `(v128.const i8x16${` ${byte}`.repeat(16)})`;
