/** Verification of webhooks, signed according to Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`. */
import { webCrypto } from './core/crypto.ts';
import { WebhookSignatureError } from './core/errors.ts';
import type { Alert } from './generated/api.ts';

/** Headers of a request: those of `fetch`, of Node, or a plain object. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface UnwrapOptions {
  /** Secret of `assay.webhooks.rotateSecret()`. During a rotation, several. */
  readonly secret: string | readonly string[];
  /** Seconds that the time of the message may differ from the time of this machine. Default: 300. */
  readonly toleranceSeconds?: number | undefined;
}

interface Message<Type extends string, Content> {
  readonly type: Type;
  /** ISO 8601 UTC. */
  readonly timestamp: string;
  readonly data: Content;
  /** The same for every attempt at this message: store it to process a message once. */
  readonly id: string;
}

/** The content of a webhook. */
export type WebhookEvent =
  | Message<'alert.created' | 'alert.updated', { readonly alert: Alert }>
  | Message<
      'alert.digest',
      { readonly digest: { readonly day: string; readonly alerts: readonly Alert[]; readonly more: number } }
    >
  | Message<
      'alert.test',
      {
        readonly test: { readonly walletId: string; readonly walletAddress: string; readonly chain: string };
      }
    >;

const TOLERANCE_S = 300;
const SCHEME = 'v1,';

function bytesOfBase64(text: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const get = (headers as { get?: unknown }).get;
  let value: unknown;
  if (typeof get === 'function') value = get.call(headers, name);
  else value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value !== 'string' || value === '')
    throw new WebhookSignatureError(`${name}: the header is missing.`);
  return value;
}

/**
 * Verifies a webhook and returns its event.
 *
 * @param rawBody - the body as it was received, before any parser: another spelling of the same JSON has another signature
 * @param headers - headers of the request
 * @throws WebhookSignatureError if the signature is wrong or the message is too old; AssayError if a secret is not valid
 * @example
 * const event = await unwrap(await request.text(), request.headers, { secret });
 */
export async function unwrap(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  { secret, toleranceSeconds = TOLERANCE_S }: UnwrapOptions,
): Promise<WebhookEvent> {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature').split(' ');
  const age = Date.now() / 1_000 - Number(timestamp);
  if (!/^\d+$/.test(timestamp) || Math.abs(age) > toleranceSeconds)
    throw new WebhookSignatureError(`webhook-timestamp: differs by more than ${toleranceSeconds} seconds.`);
  const body = typeof rawBody === 'string' ? new TextEncoder().encode(rawBody) : rawBody;
  const prefix = new TextEncoder().encode(`${id}.${timestamp}.`);
  const content = new Uint8Array(prefix.length + body.length);
  content.set(prefix);
  content.set(body, prefix.length);

  const { subtle } = await webCrypto();
  for (const text of typeof secret === 'string' ? [secret] : secret) {
    const raw = bytesOfBase64(text.slice(text.indexOf('_') + 1));
    if (raw === null || raw.length === 0)
      throw new WebhookSignatureError('secret: must be whsec_ and base64, as rotateSecret returned it.');
    const key = await subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    for (const signature of signatures) {
      const bytes = signature.startsWith(SCHEME) ? bytesOfBase64(signature.slice(SCHEME.length)) : null;
      // `verify` compares in constant time.
      if (bytes !== null && (await subtle.verify('HMAC', key, bytes, content)))
        return { ...(JSON.parse(new TextDecoder().decode(body)) as WebhookEvent), id };
    }
  }
  throw new WebhookSignatureError('webhook-signature: no signature fits the body and the secret.');
}
