/** Locations from which label snapshots are published and pulled, as the settings name them. */

import { isIP } from 'node:net';
import { AssayError } from '../base/errors.ts';
import { isUrl } from '../base/url.ts';

/** A bucket of an S3-compatible object store, with credentials. */
export interface S3Place {
  readonly bucket: string;
  /** Prefix of all keys, without a leading or trailing slash; may be empty. */
  readonly prefix: string;
  /** `https://host[:port]`; null for AWS itself. */
  readonly endpoint: string | null;
  readonly region: string;
  /** Never written to a log. */
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken: string | null;
  };
}

/** The location from which releases are pulled. */
export type PullPlace =
  | { readonly kind: 'http'; readonly url: string }
  | { readonly kind: 's3'; readonly place: S3Place };

export type Bucket = Pick<S3Place, 'bucket' | 'prefix'>;

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

const wrong = (variable: string, text: string, expected: string): AssayError =>
  new AssayError('INVALID_CONFIG', `${variable}: must be ${expected} (got '${text}').`, {
    field: variable,
  });

/**
 * Parses `host:port`, with an IPv6 address in brackets; returns null for an empty text.
 *
 * @throws INVALID_CONFIG
 */
export function optionalHostAndPort(text: string, variable: string): HostAndPort | null {
  if (text === '') return null;
  const found = /^(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+):(\d{1,5})$/.exec(text);
  const port = Number(found?.[2] ?? -1);
  if (found === null || port < 0 || port > 65_535)
    throw wrong(variable, text, 'a host and a port like 0.0.0.0:8090');
  return { host: (found[1] as string).replace(/^\[|\]$/g, ''), port };
}

/** Returns true if a host is `localhost` or a loopback address. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));

const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/**
 * Parses `s3://bucket/prefix`; returns null for an empty text.
 *
 * @throws INVALID_CONFIG
 */
export function optionalBucket(text: string, variable: string): Bucket | null {
  if (text === '') return null;
  const found = /^s3:\/\/([^/]+)(?:\/([\w./-]{0,512}))?$/.exec(text);
  const prefix = (found?.[2] ?? '').replace(/^\/+|\/+$/g, '');
  const isOdd = prefix.split('/').some((part) => part === '.' || part === '..');
  if (found === null || !BUCKET.test(found[1] as string) || isOdd || prefix.includes('//'))
    throw wrong(variable, text, 'a bucket and a prefix like s3://bucket/assay');
  return { bucket: found[1] as string, prefix };
}

/**
 * Parses the location that a node pulls from: `https://host[:port]`, `http://…` or `s3://…`; returns null for an empty text.
 *
 * @throws INVALID_CONFIG
 */
export function optionalPullPlace(text: string, variable: string): { readonly url: string } | Bucket | null {
  if (text === '') return null;
  if (text.startsWith('s3:')) return optionalBucket(text, variable);
  const url = isUrl(text) ? new URL(text) : null;
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search === '';
  if (!isPlain || !/^https?:$/.test(url.protocol))
    throw wrong(
      variable,
      url?.username || url?.password || url?.search ? '…' : text,
      'an http, https or s3 URL without user, password and query',
    );
  return { url: url.href };
}
