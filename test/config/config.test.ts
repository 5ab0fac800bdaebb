import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { loadConfig } from '../../src/config/config.ts';
import { SETTING_SUBJECTS, SETTINGS } from '../../src/config/settings.ts';

describe('config', () => {
  it.each([
    ['ASSAY_REDIS_URL', 'redis://127.0.0.1'],
    ['ASSAY_HTTP_BACKEND', 'node'],
  ])('refuses several acceptors together with %s', (variable, value) => {
    expect(() => loadConfig({ ASSAY_ACCEPTORS: '2', [variable]: value })).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining('must be 1') }),
    );
  });

  it('an empty environment gives the documented defaults', () => {
    const config = loadConfig({});
    expect(config).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      listMaxAgeDays: 7,
      syncIntervalHours: 6,
      tls: null,
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it.each([
    ['ASSAY_PORT', '80a'],
    ['ASSAY_PORT', '65536'],
    ['ASSAY_PORT', ''],
    ['ASSAY_HOST', 'a b'],
    ['ASSAY_DATA_DIR', ''],
    ['ASSAY_DATA_DIR', ' '],
    ['ASSAY_JOBS_DIR', ' '],
    ['ASSAY_LOG_LEVEL', 'loud'],
    ['ASSAY_SYNC', 'yes'],
    ['ASSAY_SYNC_FROM', 'ftp://lists.example'],
    ['ASSAY_TRUSTED_PROXIES', '10.0.0.0/8, proxy.example'],
    ['ASSAY_TRUSTED_PROXIES', '999.1.1.1/8'],
    ['ASSAY_TRUSTED_PROXIES', '10.0.0.0/33'],
    ['ASSAY_TRUSTED_PROXIES', '::1/129'],
    ['ASSAY_WORKERS', '0'],
    ['ASSAY_REDIS_MAY_LOSE', 'maybe'],
    ['ASSAY_REDIS_REPLICAS', 'some'],
    ['ASSAY_PRICE_PER_MINUTE', '-1'],
    ['ASSAY_MAIL_FROM', 'nobody'],
    ['ASSAY_SELLER_COUNTRY', 'Switzerland'],
    ['ASSAY_SELLER_BIC', '!'],
    ['ASSAY_ACCEPTORS', '0'],
    ['ASSAY_ACCEPTORS', '17'],
    ['ASSAY_ROLES', 'api,cook'],
    ['ASSAY_ROLES', ''],
    ['ASSAY_GRAPH_CHAINS', 'ETH,,BTC'],
    ['ASSAY_REDIS_URL', 'http://127.0.0.1'],
    ['ASSAY_GRAPH_STORE_ETH', 'http://127.0.0.1'],
    ['ASSAY_TLS_KEY', '/nowhere/key.pem'],
    ['ASSAY_STRIPE_KEY', 'pk_test_0123456789'],
    ['ASSAY_STRIPE_URL', 'https://api.stripe.example'],
    ['ASSAY_STRIPE_URL', 'http://api.stripe.com'],
    ['ASSAY_STRIPE_URL', 'http://127.0.0.1:12111/v1'],
    ['ASSAY_VAT_PERCENT', '8,1'],
    ['ASSAY_VAT_PERCENT', '100'],
    ['ASSAY_SELLER_NAME', 'a\u0007b'],
    ['ASSAY_SELLER_ADDRESS', 'a|b|c|d|e|f|g|h|i'],
    ['ASSAY_RECEIPT_PREFIX', '<b>'],
  ])('%s=%s stops the start with a sentence that names it', (variable, text) => {
    expect(() => loadConfig({ [variable]: text })).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', message: expect.stringContaining('ASSAY_') }),
    );
  });

  it('roles and chains are read in any order, each once', () => {
    const { roles, graphChains } = loadConfig({
      ASSAY_ROLES: 'worker, api,worker',
      ASSAY_GRAPH_CHAINS: 'eth, BTC,ETH',
    });
    expect(roles).toEqual(['api', 'worker']);
    expect(graphChains).toEqual(['ETH', 'BTC']);
    expect(loadConfig({ ASSAY_GRAPH_CHAINS: 'none' }).graphChains).toEqual([]);
    expect(loadConfig({})).toMatchObject({
      roles: ['api', 'worker', 'listener', 'delivery'],
      graphChains: 'all',
    });
  });

  it('a key of Stripe needs the secret of its webhook, and no error repeats it', () => {
    const key = 'sk_live_0123456789';
    const refused = (): unknown => loadConfig({ ASSAY_STRIPE_KEY: key });
    expect(refused).toThrow(/^ASSAY_STRIPE_SECRET is not set/);
    expect(() => loadConfig({ ASSAY_STRIPE_KEY: 'sk_live_0 1' })).toThrow(/^(?!.*sk_live)/);
    const stripeOn = { ASSAY_STRIPE_KEY: key, ASSAY_STRIPE_SECRET: 'whsec_0123456789' };
    for (const host of ['0.0.0.0', '::'])
      expect(() => loadConfig({ ...stripeOn, ASSAY_HOST: host })).toThrow(
        /^ASSAY_PUBLIC_HOST is not set: ASSAY_STRIPE_KEY needs it, because a customer returns from the payment page to it\.$/,
      );
    expect(
      loadConfig({ ...stripeOn, ASSAY_HOST: '::', ASSAY_PUBLIC_HOST: 'assay.example' }).stripe.api,
    ).not.toBeNull();
    const { stripe, seller } = loadConfig({
      ASSAY_STRIPE_KEY: key,
      ASSAY_STRIPE_SECRET: 'whsec_0123456789',
      ASSAY_STRIPE_URL: 'http://127.0.0.1:12111',
      ASSAY_SELLER_ADDRESS: 'Bahnhofstrasse 1 | 8001 Zürich|',
      ASSAY_VAT_PERCENT: '8.1',
    });
    expect(stripe.api).toEqual({ secretKey: key, apiUrl: 'http://127.0.0.1:12111' });
    expect(seller).toEqual({
      name: null,
      address: ['Bahnhofstrasse 1', '8001 Zürich'],
      vatId: null,
      vatBasisPoints: 810,
      receiptPrefix: 'R-',
    });
    expect(loadConfig({}).stripe).toEqual({ webhookSecret: null, api: null });
  });

  it('a setting that nothing would use is an error that names what it needs', () => {
    expect(() => loadConfig({ ASSAY_PRICE_KEY: 'key' })).toThrow(
      'ASSAY_PRICE_URL is not set: ASSAY_PRICE_KEY needs it.',
    );
    expect(() => loadConfig({ ASSAY_X402_ADDRESS: `0x${'52'.repeat(20)}` })).toThrow(
      'ASSAY_X402_CHAINS is not set: ASSAY_X402_ADDRESS needs it.',
    );
  });

  it('trusted hosts of webhooks have no port, and are compared in the spelling of URLs', () => {
    const read = (text: string) => loadConfig({ ASSAY_WEBHOOK_TRUSTED_HOSTS: text }).webhookTrustedHosts;
    expect(read('Hooks.Internal, 10.0.0.7,::1,[FD00::1]')).toEqual([
      'hooks.internal',
      '10.0.0.7',
      '[::1]',
      '[fd00::1]',
    ]);
    for (const wrong of ['hooks.internal:8443', '10.0.0.7:80', '[::1]:80', 'https://hooks.internal'])
      expect(() => read(wrong)).toThrow('a host name or an IP address without a port');
  });

  it('a variable of a client of Assay is none of its settings, and no error', () => {
    expect(() => loadConfig({ ASSAY_WEBHOOK_SECRET: 'whsec_dGVzdA==' })).not.toThrow();
  });

  it('a misspelt setting is an error and not ignored', () => {
    expect(() => loadConfig({ ASSAY_PROT: '80' })).toThrow(/ASSAY_PROT: not a setting/);
  });

  it('a TLS file that cannot be read is named', () => {
    expect(() => loadConfig({ ASSAY_TLS_KEY: '/nowhere/k', ASSAY_TLS_CERT: '/nowhere/c' })).toThrow(
      /\/nowhere\/k/,
    );
  });

  it('every setting says what it is for', () => {
    for (const row of Object.values(SETTINGS)) expect(row.description.length).toBeGreaterThan(10);
  });

  it('every setting is read, and is in the reference', () => {
    const source = readFileSync(join(projectRoot, 'src', 'config', 'config.ts'), 'utf8');
    const unread = Object.entries(SETTINGS).filter(
      // A variable for each chain is read by its prefix.
      ([name, { variable }]) => !variable.includes('<') && !new RegExp(`SETTINGS\\.${name}\\b`).test(source),
    );
    expect(unread).toEqual([]);
    const described = SETTING_SUBJECTS.flatMap(({ settings }) => Object.keys(settings));
    expect(described.toSorted()).toEqual(Object.keys(SETTINGS).toSorted());
  });
});
