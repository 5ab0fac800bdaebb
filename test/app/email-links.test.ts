/** The links in emails: which URL they have, and when the operator is told that people cannot open them. */
import { describe, expect, it } from 'vitest';
import { emailLinksOf } from '../../src/app/email-links.ts';

const mail = { url: 'smtp://mail.example.org', from: 'assay@example.org' };

describe('links of emails', () => {
  it('are missing without a host, and that is a problem if emails are sent', () => {
    for (const url of ['http://0.0.0.0:8080', 'http://[::]:8080']) {
      const links = emailLinksOf({ publicHost: null, tls: null, mail }, url);
      expect(links).toEqual({ url: null, problem: expect.stringContaining('Set ASSAY_PUBLIC_HOST') });
      expect(emailLinksOf({ publicHost: null, tls: null, mail: null }, url).problem).toBeNull();
    }
  });

  it('lead to this machine alone if the server listens only there', () => {
    for (const url of ['http://127.0.0.1:8080', 'http://[::1]:8080', 'http://localhost:8080']) {
      const links = emailLinksOf({ publicHost: null, tls: null, mail }, url);
      expect(links).toEqual({ url, problem: expect.stringContaining('only this machine') });
    }
    const lan = 'http://192.0.2.7:8080';
    expect(emailLinksOf({ publicHost: null, tls: null, mail }, lan)).toEqual({ url: lan, problem: null });
  });

  it('lead to the public host if it is set', () => {
    const links = emailLinksOf({ publicHost: 'assay.example.org', tls: null, mail }, 'http://0.0.0.0:8080');
    expect(links).toEqual({ url: 'https://assay.example.org', problem: null });
  });
});
