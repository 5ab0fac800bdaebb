import { describe, expect, it } from 'vitest';
import { checkOutboundUrl, isPublicAddress, PUBLIC_HTTPS } from '../../src/base/outbound.ts';

describe('isPublicAddress', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '172.15.0.1',
    '172.32.0.1',
    '100.63.0.1',
    '2606:4700::1111',
    '2a00:1450::1',
  ])('takes %s', (ip) => {
    expect(isPublicAddress(ip)).toBe(true);
  });

  it.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.19.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:8.8.8.8',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    'fc00::1',
    'fe80::1',
    'ff02::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2001::1',
    'example.org',
    '',
  ])('refuses %s', (ip) => {
    expect(isPublicAddress(ip)).toBe(false);
  });
});

describe('checkOutboundUrl', () => {
  const check = (url: string, ...trusted: string[]): void =>
    checkOutboundUrl(new URL(url), trusted.length ? { trustedHosts: new Set(trusted) } : PUBLIC_HTTPS);

  it('allows https to a name or a public address', () => {
    check('https://example.org/list.xml');
    check('https://8.8.8.8/');
  });

  it.each([
    'http://example.org/',
    'ftp://example.org/',
    'https://user@example.org/',
    'https://:secret@example.org/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://10.0.0.1:8443/',
  ])('refuses %s', (url) => {
    expect(() => check(url)).toThrow(/is refused/);
  });

  it('allows http and private addresses for trusted hosts only', () => {
    check('http://127.0.0.1:8080/', '127.0.0.1');
    expect(() => check('http://127.0.0.2:8080/', '127.0.0.1')).toThrow(/is refused/);
    expect(() => check('http://user@127.0.0.1/', '127.0.0.1')).toThrow(/credentials/);
  });

  it('puts no credentials into the error', () => {
    expect(() => check('https://user:secret@example.org/')).toThrow(/^(?!.*secret)/);
  });
});
