/** The URL in the links of emails, and why the people who get them may not be able to open it. */
import type { Config } from '../config/config.ts';

/** An address that only this machine reaches. */
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/;
/** The address that stands for all addresses of a machine: no browser can open it. */
const ALL_ADDRESSES = /^(0\.0\.0\.0|\[::\])(:\d+)?$/;

/** Returns the URL of the public host: by TLS, which a proxy may end, unless it is this machine. */
const urlOf = (host: string, hasTls: boolean): string =>
  `${hasTls || !LOOPBACK.test(host) ? 'https' : 'http'}://${host}`;

export interface EmailLinks {
  /** Null if no URL is known; emails then name only the path of the page. */
  readonly url: string | null;
  /** One sentence for the operator; null if the links work, or if no email is sent. */
  readonly problem: string | null;
}

const ADVICE = 'Set ASSAY_PUBLIC_HOST to the host under which people reach this service.';

/**
 * Returns the links of a process.
 *
 * @param listening - URL at which the server of this process listens; null if none does
 */
export function emailLinksOf(
  { publicHost, tls, mail }: Pick<Config, 'publicHost' | 'tls' | 'mail'>,
  listening: string | null,
): EmailLinks {
  if (publicHost !== null) return { url: urlOf(publicHost, tls !== null), problem: null };
  if (listening === null) return { url: null, problem: null };
  const { host } = new URL(listening);
  const url = ALL_ADDRESSES.test(host) ? null : listening;
  if (mail === null) return { url, problem: null };
  if (url === null)
    return { url, problem: `Emails to people have no links, because no host is known. ${ADVICE}` };
  if (!LOOPBACK.test(host)) return { url, problem: null };
  return { url, problem: `The links in emails lead to ${url}, which only this machine can open. ${ADVICE}` };
}
