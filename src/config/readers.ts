/** Parsers of settings. Each throws INVALID_CONFIG, which names the variable and says what is allowed. */

import { isIP, isIPv6 } from 'node:net';
import { isAbsolute, resolve } from 'node:path';
import { AssayError } from '../base/errors.ts';
import { parseIban } from '../base/iban.ts';
import { isUrl } from '../base/url.ts';
import { type RedisPlace, readRedisUrl } from '../state/redis-url.ts';

const wrong = (variable: string, text: string, expected: string): AssayError =>
  new AssayError('INVALID_CONFIG', `${variable}: must be ${expected} (got '${text}').`, {
    field: variable,
  });

/** Returns the error for a secret, which it must not repeat. */
const secret = (variable: string, expected: string): AssayError =>
  new AssayError('INVALID_CONFIG', `${variable}: must be ${expected}.`, { field: variable });

export const number =
  (min: number, max: number, whole = true) =>
  (text: string, variable: string): number => {
    const value = Number(text);
    const fits = text.trim() !== '' && value >= min && value <= max && (!whole || Number.isInteger(value));
    if (!fits) throw wrong(variable, text, `a ${whole ? 'whole ' : ''}number from ${min} to ${max}`);
    return value;
  };

export const oneOf =
  <T extends string>(...words: readonly T[]) =>
  (text: string, variable: string): T => {
    const word = words.find((candidate) => candidate === text);
    if (!word) throw wrong(variable, text, `one of ${words.join(', ')}`);
    return word;
  };

export const graphChains = (text: string, variable: string): 'all' | readonly string[] => {
  if (text === 'all') return 'all';
  if (text === 'none') return [];
  const words = text.split(',').map((word) => word.trim().toUpperCase());
  if (!words.every((word) => /^[A-Z0-9]{2,16}$/.test(word)))
    throw wrong(variable, text, 'all, none, or a comma-separated list of chains');
  return [...new Set(words)];
};

export const onOff = (text: string, variable: string): boolean => oneOf('on', 'off')(text, variable) === 'on';

export const hostName = (text: string, variable: string): string => {
  if (!/^[0-9A-Za-z.:[\]-]+$/.test(text)) throw wrong(variable, text, 'a host name or an IP address');
  return text;
};

export const optionalHost = (text: string, variable: string): string | null =>
  text === '' ? null : hostName(text, variable);

/** Reads a host without a port, and returns it as `URL.hostname` has it. Any other spelling would never match, and have no effect. */
function bareHost(text: string, variable: string): string {
  const host = isIPv6(text) ? `[${text}]` : text;
  if (!/^(?:[0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\])$/.test(host) || !isUrl(`http://${host}`))
    throw wrong(variable, text, 'a host name or an IP address without a port');
  return new URL(`http://${host}`).hostname;
}

export const hostNames = (text: string, variable: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => bareHost(part, variable));

export const optionalUrl = (text: string, variable: string): string | null => {
  if (text === '') return null;
  if (!isUrl(text) || !/^https?:$/.test(new URL(text).protocol))
    throw wrong(variable, text, 'an http or https URL');
  return text;
};

/** Origins of web pages: `https://host` or `http://host:port`. */
export const origins = (text: string, variable: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      if (!isUrl(part) || !/^https?:/.test(part) || new URL(part).origin !== part.toLowerCase())
        throw wrong(variable, text, 'a comma-separated list of origins such as https://app.example.com');
      return part.toLowerCase();
    });

/** Returns true for an IP address or a CIDR range. */
function isRange(text: string): boolean {
  const [address = '', prefix, more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more !== undefined) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

export const optionalSmtpUrl = (text: string, variable: string): string | null => {
  if (text === '') return null;
  // The text contains a password, so no error repeats it.
  if (!isUrl(text) || !/^smtps?:$/.test(new URL(text).protocol))
    throw secret(variable, 'an smtp or smtps URL');
  return text;
};

export const mailAddress = (text: string, variable: string): string => {
  if (!/^[^\s@]+@[^\s@]+$/.test(text)) throw wrong(variable, text, 'an email address');
  return text;
};

/** A value that is sent as a header; an error must not repeat it. */
export const optionalHeaderText = (text: string, variable: string): string | null => {
  if (text === '') return null;
  if (!/^[\x21-\x7e]{1,256}$/.test(text))
    throw secret(variable, '1 to 256 printable characters, without spaces');
  return text;
};

export const optionalSecret = (text: string, variable: string): string | null => {
  if (text === '') return null;
  if (!/^whsec_[\x21-\x7e]{8,}$/.test(text))
    throw secret(variable, 'whsec_ and at least 8 further printable characters, without spaces');
  return text;
};

export const optionalStripeKey = (text: string, variable: string): string | null => {
  if (text === '') return null;
  // An error must not repeat a key.
  if (!/^(sk|rk)_[\x21-\x7e]{8,250}$/.test(text))
    throw secret(variable, 'sk_ or rk_ and at least 8 further printable characters, without spaces');
  return text;
};

const STRIPE_URL = 'https://api.stripe.com';

/** The secret key is sent to this URL, so it is that of Stripe, or a program on this machine. */
export const stripeApiUrl = (text: string, variable: string): string => {
  const url = isUrl(text) ? new URL(text) : null;
  const isHere = url !== null && /^(localhost|127\.\d+\.\d+\.\d+)$/.test(url.hostname);
  const isBare = url !== null && url.pathname === '/' && url.search === '' && url.username === '';
  if (text === STRIPE_URL || (isHere && isBare && /^https?:$/.test(url.protocol))) return text;
  throw wrong(variable, text, `${STRIPE_URL}, or a URL of this machine without a path`);
};

/** Characters of one line on a receipt. */
const LINE_MAX = 200;
const LINES_MAX = 8;

const isLine = (text: string): boolean => text.length <= LINE_MAX && !/\p{Cc}/u.test(text);

/** An extended public key, an output descriptor or an address: checked when the program starts, by a reader that never repeats it. */
export const optionalPaymentKey = (text: string): string | null => (text.trim() === '' ? null : text.trim());

export const optionalLine = (text: string, variable: string): string | null => {
  if (!isLine(text)) throw wrong(variable, text, `at most ${LINE_MAX} characters without control characters`);
  return text.trim() === '' ? null : text.trim();
};

export const addressLines = (text: string, variable: string): readonly string[] => {
  const lines = text
    .split('|')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines.length > LINES_MAX || !lines.every(isLine))
    throw wrong(variable, text, `at most ${LINES_MAX} lines of ${LINE_MAX} characters, separated by |`);
  return lines;
};

const BASIS_POINTS_PER_PERCENT = 100;

/** Returns hundredths of a percent. */
export const optionalPercent = (text: string, variable: string): number | null => {
  if (text === '') return null;
  if (!/^\d{1,2}(\.\d{1,2})?$/.test(text))
    throw wrong(variable, text, 'a number from 0 to 99.99 with at most two decimals');
  return Math.round(Number(text) * BASIS_POINTS_PER_PERCENT);
};

/** The range of Swiss institution numbers that is reserved for QR-IBANs, which need a reference of their own kind. */
const QR_IBAN = /^(CH|LI)\d{2}3[01]\d{3}/;

export const optionalIban = (text: string, variable: string): string | null => {
  if (text.trim() === '') return null;
  const iban = parseIban(text);
  if (iban === null) throw wrong(variable, text, 'an IBAN with correct check digits');
  if (QR_IBAN.test(iban)) throw wrong(variable, text, 'the IBAN of the account, not its QR-IBAN');
  return iban;
};

export const optionalBic = (text: string, variable: string): string | null => {
  const bic = text.replaceAll(' ', '').toUpperCase();
  if (bic === '') return null;
  if (!/^[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?$/.test(bic))
    throw wrong(variable, text, 'a BIC of 8 or 11 characters');
  return bic;
};

export const optionalCountry = (text: string, variable: string): string | null => {
  if (text.trim() === '') return null;
  if (!/^[A-Z]{2}$/.test(text.trim())) throw wrong(variable, text, 'two capital letters, such as CH');
  return text.trim();
};

export const receiptPrefix = (text: string, variable: string): string => {
  if (!/^[A-Za-z0-9/_-]{0,16}$/.test(text))
    throw wrong(variable, text, 'at most 16 letters, digits and - _ /');
  return text;
};

export const optionalKey = (text: string, variable: string): string | null => {
  if (text === '') return null;
  // An error must not repeat a key.
  if (!/^[\x21-\x7e]{1,256}$/.test(text))
    throw secret(variable, 'a key of 1 to 256 printable characters, without spaces');
  return text;
};

export const optionalPrivateKey = (text: string, variable: string): string | null => {
  if (text === '') return null;
  // An error must not repeat a key.
  const digits = /^(?:0x)?([0-9a-fA-F]{64})$/.exec(text)?.[1];
  if (digits === undefined) throw secret(variable, '64 hexadecimal digits');
  return `0x${digits}`;
};

/** Names of chains, in upper case. They are checked when the program starts. */
export const chainList = (text: string, variable: string): readonly string[] => {
  const names = text
    .split(',')
    .map((part) => part.trim().toUpperCase())
    .filter((part) => part !== '');
  if (names.length > CHAINS_MAX || !names.every((name) => /^[A-Z0-9]{2,16}$/.test(name)))
    throw wrong(variable, text, `at most ${CHAINS_MAX} names of chains, separated by commas`);
  return [...new Set(names)];
};
/** More than there are EVM chains. */
const CHAINS_MAX = 32;

export const optionalEvmAddress = (text: string, variable: string): string | null => {
  if (text.trim() === '') return null;
  if (!/^0x[0-9a-fA-F]{40}$/.test(text.trim()) || /^0x0{40}$/.test(text.trim()))
    throw wrong(variable, text, 'an address: 0x and 40 hexadecimal digits, not all of them 0');
  return text.trim();
};

export const optionalPath = (text: string): string | null => (text.trim() === '' ? null : text);

/** A positive decimal number with at most nine decimals, as text. */
export const positiveDecimal = (text: string, variable: string): string => {
  if (!/^\d{1,9}(\.\d{1,9})?$/.test(text) || Number(text) <= 0)
    throw wrong(variable, text, 'a number above 0 with at most nine decimals');
  return text;
};

/** A whole number from 1 to 1,000. */
export const positiveWhole = (text: string, variable: string): number => {
  if (!/^[1-9]\d{0,2}$/.test(text) && text !== '1000')
    throw wrong(variable, text, 'a whole number from 1 to 1000');
  return Number(text);
};

export const optionalRedis = (text: string, variable: string): RedisPlace | null =>
  text === '' ? null : readRedisUrl(text, variable);

export const optionalToken = (text: string, variable: string): string | null => {
  if (text === '') return null;
  if (!/^[\x21-\x7e]{1,8192}$/.test(text))
    throw secret(variable, 'a token of 1 to 8192 printable characters, without spaces');
  return text;
};

export const optionalClusterSecret = (text: string, variable: string): string | null => {
  if (text === '') return null;
  // An error must not repeat a secret.
  if (!/^[\x21-\x7e]{16,256}$/.test(text))
    throw secret(variable, 'a secret of 16 to 256 printable characters, without spaces');
  return text;
};

export const ranges = (text: string, variable: string): readonly string[] => {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  for (const part of parts)
    if (!isRange(part)) throw wrong(variable, text, 'a comma-separated list of IP addresses or CIDR ranges');
  return parts;
};

/** An empty path would be the working directory: a server would start there without its data. */
export const folder = (text: string, variable: string): string => {
  if (text.trim() === '') throw wrong(variable, text, 'the path of a folder');
  return isAbsolute(text) ? text : resolve(text);
};

/** The same, or null if the text is empty. */
export const optionalFolder = (text: string, variable: string): string | null =>
  text === '' ? null : folder(text, variable);
