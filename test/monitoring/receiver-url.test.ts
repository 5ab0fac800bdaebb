import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  createOutboundAgent,
  isPublicAddress,
  PUBLIC_HTTPS,
  type ResolveName,
} from '../../src/base/outbound.ts';
import { checkReceiverUrl } from '../../src/monitoring/delivery/receiver-url.ts';

/** The first, the last and one inner address of every range that is not public. */
const PRIVATE_IPV4 = [
  ['0.0.0.0', '0.1.2.3', '0.255.255.255'],
  ['10.0.0.0', '10.20.30.40', '10.255.255.255'],
  ['100.64.0.0', '100.100.100.200', '100.127.255.255'],
  ['127.0.0.0', '127.0.0.1', '127.255.255.255'],
  ['169.254.0.0', '169.254.169.254', '169.254.255.255'],
  ['172.16.0.0', '172.20.10.5', '172.31.255.255'],
  ['192.0.0.0', '192.0.0.170', '192.0.0.255'],
  ['192.0.2.0', '192.0.2.44', '192.0.2.255'],
  ['192.88.99.0', '192.88.99.1', '192.88.99.255'],
  ['192.168.0.0', '192.168.1.1', '192.168.255.255'],
  ['198.18.0.0', '198.19.3.4', '198.19.255.255'],
  ['198.51.100.0', '198.51.100.7', '198.51.100.255'],
  ['203.0.113.0', '203.0.113.9', '203.0.113.255'],
  ['224.0.0.0', '233.1.1.1', '239.255.255.255'],
  ['240.0.0.0', '250.1.2.3', '255.255.255.255'],
].flat();

const octets = (ip: string): number[] => ip.split('.').map(Number);
const asNumber = (ip: string): number => octets(ip).reduce((sum, part) => sum * 256 + part, 0);
/** The same address in the forms that URL parsers, and old C libraries, accept. */
const OTHER_FORMS: readonly ((ip: string) => string)[] = [
  (ip) => String(asNumber(ip)),
  (ip) => `0x${asNumber(ip).toString(16)}`,
  (ip) =>
    octets(ip)
      .map((part) => `0${part.toString(8)}`)
      .join('.'),
  (ip) =>
    octets(ip)
      .map((part) => `0x${part.toString(16)}`)
      .join('.'),
  (ip) => `${octets(ip)[0]}.${asNumber(ip) % 2 ** 24}`,
  (ip) => `${ip}.`,
  (ip) => ip.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
];
const PRIVATE_IPV6 = [
  '::',
  '::1',
  '::2',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'fc00::1',
  'fd12:3456:789a::1',
  'ff02::1',
  'ff05::2',
  '2001:db8::1',
  '2001::1',
  '2001:10::1',
  '2002:7f00:1::',
  '2002:c0a8:101::1',
  '3fff::1',
  '64:ff9b::7f00:1',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b:1::1',
  '100::1',
  '4000::1',
  '5f00::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:10.0.0.1',
  '::ffff:169.254.169.254',
  '::ffff:8.8.8.8',
  '::127.0.0.1',
  '::ffff:0:127.0.0.1',
  '0:0:0:0:0:ffff:c0a8:0101',
  '::ffff:0a00:0001',
];

const REFUSED: readonly string[] = [
  ...PRIVATE_IPV4.map((ip) => `https://${ip}/hook`),
  ...[
    '127.0.0.1',
    '10.1.2.3',
    '169.254.169.254',
    '192.168.1.1',
    '172.16.5.6',
    '100.64.1.1',
    '198.18.0.1',
    '224.0.0.251',
  ].flatMap((ip) => OTHER_FORMS.map((form) => `https://${form(ip)}/`)),
  ...PRIVATE_IPV6.map((ip) => `https://[${ip}]/`),
  ...[
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    'printer.local',
    'db.internal',
    'metadata.google.internal',
    'intranet',
    'router',
    'router.lan',
    'nas.home',
    'x.home.arpa',
    'dc.corp',
    'service.test',
    'nothing.invalid',
    'hidden.onion',
    'x.localdomain',
    'metadata',
  ].map((host) => `https://${host}/`),
  ...['http:', 'ftp:', 'file:', 'gopher:', 'ws:', 'wss:', 'data:', 'javascript:', 'blob:', 'ldap:'].map(
    (scheme) => `${scheme}//hooks.example.org/`,
  ),
  ...['user@', 'user:password@', ':password@', '127.0.0.1@', 'a%40b:c@'].map(
    (who) => `https://${who}hooks.example.org/`,
  ),
  ...[
    21, 22, 23, 25, 53, 110, 143, 389, 465, 587, 993, 1433, 2375, 2379, 3306, 5432, 6000, 6379, 6667, 9200,
    11211, 27017,
  ].map((port) => `https://hooks.example.org:${port}/`),
  '',
  ' ',
  'https://',
  'https:///path',
  'hooks.example.org',
  '//hooks.example.org/',
  '/path',
  'https://[::1',
  'https://[fe80::1%25eth0]/',
  'https://hooks.example.org:99999/',
  'https://hooks.example.org:-1/',
  'https://exa mple.org/',
  'https://hooks.example.org/a b',
  'https://hooks.example.org/\r\nHost: other',
  'https://hooks.example.org\\@127.0.0.1/',
  '\thttps://hooks.example.org/',
  'https://hooks.example.org/#fragment',
  `https://hooks.example.org/${'a'.repeat(2_048)}`,
  'https://hooks.example.org/\u0000',
  'https://999.1.1.1/',
  'https://1.2.3.4.5/',
  'https://0x100000000/',
  'https://%31%32%37.0.0.1/',
  'https://①②⑦.⓪.⓪.①/',
];

describe('the URL of a receiver', () => {
  it('is tested with at least 200 forbidden URLs', () => {
    expect(new Set(REFUSED).size).toBeGreaterThanOrEqual(200);
  });

  it.each(REFUSED.map((url) => [JSON.stringify(url).slice(0, 80), url]))('refuses %s', (_, url) => {
    expect(() => checkReceiverUrl(url, 'customWebhookUrl', PUBLIC_HTTPS)).toThrow(/^customWebhookUrl: /);
  });

  it.each([
    'http://hooks.example.org/',
    'https://localhost/',
    'https://hooks/',
    'https://10.0.0.1/',
    'https://hooks.example.org:22/',
  ])('says of %s that the operator may trust the host, and names no setting', (url) => {
    expect(() => checkReceiverUrl(url, 'customWebhookUrl', PUBLIC_HTTPS)).toThrow(
      /^(?!.*ASSAY_).*unless the operator of this service trusts the host\.$/,
    );
  });

  it('names no operator if none could allow it', () => {
    expect(() => checkReceiverUrl('https://', 'customWebhookUrl', PUBLIC_HTTPS)).toThrow(/must be a URL\.$/);
  });

  it.each([
    ['https://hooks.example.org/alerts?wallet=1', 'https://hooks.example.org/alerts?wallet=1'],
    ['https://HOOKS.example.org', 'https://hooks.example.org/'],
    ['https://hooks.example.org:8443/x', 'https://hooks.example.org:8443/x'],
    ['https://hooks.example.org:443/', 'https://hooks.example.org/'],
    ['https://8.8.8.8/', 'https://8.8.8.8/'],
    ['https://[2606:4700::1111]/', 'https://[2606:4700::1111]/'],
    ['https://münchen.example.org/', 'https://xn--mnchen-3ya.example.org/'],
    ['https://172.15.255.255/', 'https://172.15.255.255/'],
    ['https://172.32.0.0/', 'https://172.32.0.0/'],
    ['https://100.128.0.0/', 'https://100.128.0.0/'],
    ['https://223.255.255.255/', 'https://223.255.255.255/'],
  ])('takes %s', (url, canonical) => {
    expect(checkReceiverUrl(url, 'customWebhookUrl', PUBLIC_HTTPS)).toBe(canonical);
  });

  it('accepts plain http and private addresses only for a trusted host', () => {
    const policy = { trustedHosts: new Set(['127.0.0.1']) };
    expect(checkReceiverUrl('http://127.0.0.1:9200/', 'url', policy)).toBe('http://127.0.0.1:9200/');
    expect(() => checkReceiverUrl('http://127.0.0.2/', 'url', policy)).toThrow(/^url: /);
    expect(() => checkReceiverUrl('http://user@127.0.0.1/', 'url', policy)).toThrow(/credentials/);
  });

  it('does not repeat a secret of the URL', () => {
    for (const url of [
      'https://user:secret@hooks.example.org/',
      'http://hooks.example.org/?token=secret',
      'https://10.0.0.1/secret',
    ])
      expect(() => checkReceiverUrl(url, 'url', PUBLIC_HTTPS)).toThrow(/^(?!.*secret)/);
  });
});

describe('connecting to a receiver', () => {
  let server: Server;
  let port: number;
  let connections = 0;
  beforeAll(async () => {
    server = createServer((_, response) => response.end('reached'));
    server.on('connection', () => connections++);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
  });

  const timeouts = { connectMs: 2_000, headersMs: 2_000, stallMs: 2_000 };
  /** Answers each look-up with the next row. */
  const resolver = (
    ...rows: readonly (readonly string[])[]
  ): { resolveName: ResolveName; asked: () => number } => {
    let asked = 0;
    return {
      resolveName: (_, __, callback) => {
        const found = rows[Math.min(asked++, rows.length - 1)] ?? [];
        callback(
          null,
          found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        );
      },
      asked: () => asked,
    };
  };
  const reach = async (
    host: string,
    resolveName: ResolveName,
    trustedHosts = new Set<string>(),
  ): Promise<string> => {
    const agent = createOutboundAgent({ policy: { trustedHosts }, timeouts, resolveName });
    try {
      const response = await agent.request({ origin: `http://${host}:${port}`, path: '/', method: 'GET' });
      return await response.body.text();
    } finally {
      await agent.destroy();
    }
  };

  it.each([
    ['a private address', [['127.0.0.1']]],
    ['a private address behind a public one', [['8.8.8.8', '127.0.0.1']]],
    ['a mapped address', [['::ffff:127.0.0.1']]],
    ['the metadata service', [['169.254.169.254']]],
    ['nothing', [[]]],
  ] as const)('never reaches a name that resolves to %s', async (_, rows) => {
    const before = connections;
    await expect(reach('hooks.example.org', resolver(...rows).resolveName)).rejects.toThrow();
    expect(connections).toBe(before);
  });

  it('resolves once and connects to the checked address, so that DNS rebinding has no effect', async () => {
    // Private at the look-up that connects, public before: a check apart from the connection would have passed.
    const rebinding = resolver(['8.8.8.8'], ['127.0.0.1']);
    await new Promise<void>((resolve) => rebinding.resolveName('x', { all: true }, () => resolve()));
    const before = connections;
    await expect(reach('rebind.example.org', rebinding.resolveName)).rejects.toThrow(/not public/);
    expect(rebinding.asked()).toBe(2);
    expect(connections).toBe(before);
  });

  it.each(['127.0.0.1', '[::1]', '0.0.0.0'])(
    'never reaches the literal %s, though nobody checked the URL',
    async (host) => {
      const before = connections;
      await expect(reach(host, resolver(['8.8.8.8']).resolveName)).rejects.toThrow(/not public/);
      expect(connections).toBe(before);
    },
  );

  it('reaches a trusted host, by literal or by name', async () => {
    expect(await reach('127.0.0.1', resolver([]).resolveName, new Set(['127.0.0.1']))).toBe('reached');
    expect(
      await reach(
        'trusted.example.org',
        resolver(['127.0.0.1']).resolveName,
        new Set(['trusted.example.org']),
      ),
    ).toBe('reached');
  });

  it('knows every private address by its text', () => {
    for (const ip of [...PRIVATE_IPV4, ...PRIVATE_IPV6]) expect(isPublicAddress(ip), ip).toBe(false);
  });
});
