/** Parsers of settings. Each throws INVALID_CONFIG, which names the variable and says what is allowed. */
import { isIP } from 'node:net';
import { isAbsolute, resolve } from 'node:path';
import { AssayError } from '../base/errors.ts';
import { type RedisPlace, readRedisUrl } from '../state/redis.ts';

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

export const hostNames = (text: string, variable: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => hostName(part, variable));

export const optionalUrl = (text: string, variable: string): string | null => {
  if (text === '') return null;
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
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
      if (!URL.canParse(part) || !/^https?:/.test(part) || new URL(part).origin !== part.toLowerCase())
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
  if (!URL.canParse(text) || !/^smtps?:$/.test(new URL(text).protocol))
    throw secret(variable, 'an smtp or smtps URL');
  return text;
};

export const mailAddress = (text: string, variable: string): string => {
  if (!/^[^\s@]+@[^\s@]+$/.test(text)) throw wrong(variable, text, 'an email address');
  return text;
};

export const optionalSecret = (text: string, variable: string): string | null => {
  if (text === '') return null;
  if (!/^whsec_[\x21-\x7e]{8,}$/.test(text))
    throw secret(variable, 'whsec_ and at least 8 further printable characters, without spaces');
  return text;
};

export const optionalKey = (text: string, variable: string): string | null => {
  if (text === '') return null;
  // An error must not repeat a key.
  if (!/^[\x21-\x7e]{1,256}$/.test(text))
    throw secret(variable, 'a key of 1 to 256 printable characters, without spaces');
  return text;
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

export const folder = (text: string): string => (isAbsolute(text) ? text : resolve(text));

/** The same, or null if the text is empty. */
export const optionalFolder = (text: string): string | null => (text === '' ? null : folder(text));
