/** The code on a printed report: the address of `/verify` with the id and the SHA-256 of a receipt behind the `#`. */

/** The receipt that a code names. */
export interface ReceiptCode {
  readonly id: string;
  /** Hexadecimal; null if the report was printed from a page without https, on which browsers compute no hash. */
  readonly sha256: string | null;
}

/** Returns the address in a code. What is behind the `#` is not sent to a server. */
export const codeLink = (page: string, { id, sha256 }: ReceiptCode): string =>
  `${page}#${id}${sha256 === null ? '' : `.${sha256}`}`;

/** Returns the code of the part of an address from its `#` on; null if it names no receipt. */
export function codeOf(fragment: string): ReceiptCode | null {
  const [, id, sha256 = null] = /^#([0-9a-hjkmnp-tv-z]{26})(?:\.([0-9a-f]{64}))?$/.exec(fragment) ?? [];
  return id === undefined ? null : { id, sha256 };
}

/** Returns the SHA-256 of the payload of a JWS, hexadecimal; null on a page without https. */
export async function receiptSha256(jws: string): Promise<string | null> {
  const subtle: SubtleCrypto | undefined = globalThis.crypto.subtle;
  if (subtle === undefined) return null;
  const payload = (jws.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
  const bytes = Uint8Array.from(atob(payload), (char) => char.charCodeAt(0));
  const hash = new Uint8Array(await subtle.digest('SHA-256', bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * Fetches the JWS of a receipt with the session of the browser.
 *
 * @returns null if there is no session or no server, or if the receipt belongs to another account or was erased
 */
export async function fetchReceipt(id: string): Promise<string | null> {
  try {
    const response = await fetch(`/api/v1/receipts/${id}`, { headers: { accept: 'application/json' } });
    if (!response.ok) return null;
    const { data } = (await response.json()) as { readonly data?: { readonly jws?: string | null } };
    return data?.jws ?? null;
  } catch {
    return null;
  }
}
