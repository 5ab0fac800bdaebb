/** Web Crypto, which is a global everywhere except in Node 18. */

/** The part of Web Crypto that the client uses. */
export interface WebCrypto {
  getRandomValues(bytes: Uint8Array): Uint8Array;
  readonly subtle: {
    importKey(
      format: 'raw',
      key: Uint8Array,
      algorithm: { name: string; hash?: string },
      extractable: boolean,
      usages: string[],
    ): Promise<unknown>;
    digest(algorithm: string, data: Uint8Array): Promise<ArrayBuffer>;
    verify(algorithm: string, key: unknown, signature: Uint8Array, data: Uint8Array): Promise<boolean>;
  };
}

/** In a variable, so that bundlers for browsers do not look for the module. */
const NODE_CRYPTO = 'node:crypto';

/** Returns Web Crypto. */
export async function webCrypto(): Promise<WebCrypto> {
  const { crypto } = globalThis as unknown as { readonly crypto?: WebCrypto };
  if (crypto !== undefined) return crypto;
  const module = (await import(/* webpackIgnore: true */ /* @vite-ignore */ NODE_CRYPTO)) as {
    readonly webcrypto: WebCrypto;
  };
  return module.webcrypto;
}

/** Returns a random idempotency key: 128 bits. `crypto.randomUUID` exists only on secure pages. */
export async function randomKey(): Promise<string> {
  const bytes = (await webCrypto()).getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
