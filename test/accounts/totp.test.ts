import { describe, expect, it } from 'vitest';
import { acceptedStep, base32, hotp, stepOf, TOTP, totpUri } from '../../src/accounts/totp.ts';

const SECRET = Buffer.from('12345678901234567890');

describe('one-time passwords', () => {
  it('equal the test vectors of RFC 4226, appendix D', () => {
    expect(Array.from({ length: 10 }, (_, counter) => hotp(SECRET, counter))).toEqual([
      '755224',
      '287082',
      '359152',
      '969429',
      '338314',
      '254676',
      '287922',
      '162583',
      '399871',
      '520489',
    ]);
  });

  it.each([
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ])('equal the test vector of RFC 6238, appendix B, at %i seconds', (seconds, code) => {
    expect(hotp(SECRET, stepOf(seconds * 1_000), 8)).toBe(code);
  });

  it('are accepted one step early or late, not two, and not with other digits or lengths', () => {
    const at = 1_111_111_111_000;
    const now = stepOf(at);
    const accepted = [-2, -1, 0, 1, 2].map((drift) =>
      acceptedStep(SECRET, hotp(SECRET, now + drift), at, -1),
    );
    expect(accepted).toEqual([null, now - 1, now, now + 1, null]);
    const code = hotp(SECRET, now);
    const others = [code.slice(1), `${code}0`, `0${code}`, '', ' '.repeat(6), '٠'.repeat(6), '١٢٣'];
    expect(others.map((text) => acceptedStep(SECRET, text, at, -1))).toEqual(others.map(() => null));
  });

  it('are not accepted again, nor is an older one after a newer one', () => {
    const at = 1_111_111_111_000;
    const now = stepOf(at);
    expect(acceptedStep(SECRET, hotp(SECRET, now), at, now)).toBeNull();
    expect(acceptedStep(SECRET, hotp(SECRET, now - 1), at, now)).toBeNull();
    expect(acceptedStep(SECRET, hotp(SECRET, now + 1), at, now)).toBe(now + 1);
  });

  it('are accepted after the clock was set back', () => {
    const at = 1_111_111_111_000;
    const now = stepOf(at);
    expect(acceptedStep(SECRET, hotp(SECRET, now), at, now + 120)).toBe(now);
  });
});

describe('the secret of an authenticator app', () => {
  it('is base32 as in the test vectors of RFC 4648, without padding', () => {
    const texts = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'];
    expect(texts.map((text) => base32(Buffer.from(text)))).toEqual([
      '',
      'MY',
      'MZXQ',
      'MZXW6',
      'MZXW6YQ',
      'MZXW6YTB',
      'MZXW6YTBOI',
    ]);
  });

  it('is in a URI that names the person and all parameters, with other characters escaped', () => {
    const uri = new URL(totpUri(SECRET, 'Assay', 'ann+x&y@example.org'));
    expect([uri.protocol, uri.host, decodeURIComponent(uri.pathname)]).toEqual([
      'otpauth:',
      'totp',
      '/Assay:ann+x&y@example.org',
    ]);
    expect(Object.fromEntries(uri.searchParams)).toEqual({
      secret: base32(SECRET),
      issuer: 'Assay',
      algorithm: 'SHA1',
      digits: String(TOTP.digits),
      period: String(TOTP.stepSeconds),
    });
  });
});
