import { describe, expect, it } from 'vitest';
import { createMapper, loadRulebook } from '../../src/labels/map.ts';
import type { AttributedAddress } from '../../src/sources/records.ts';

const mapper = createMapper(loadRulebook());

const chainOf = (address: string, currency: string | null, strict = true): string => {
  const found = mapper.resolve(address, currency, strict);
  return found.ok ? found.parsed.chain : found.reason;
};

const LEGACY = '1BoatSLRHtKNngkdXEeobR76b53LETtpyT';
const P2SH = '3LYJfcfHPXYJreMsASk2jkn69LWEYKzexb';
const EVM = '0x28c6c06298d514db089934071355e5743bf21d60';
const TRON = 'TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq';

describe('the chain of an address', () => {
  it.each([
    // The hint, if it fits a form that several coins share…
    [LEGACY, 'XBT', 'BTC'],
    [LEGACY, 'BCH', 'BCH'],
    [LEGACY, 'BSV', 'BSV'],
    // …the coin that the form was made for, if there is no hint…
    [LEGACY, null, 'BTC'],
    [P2SH, null, 'BTC'],
    [LEGACY, 'USDT', 'BTC'],
    // …and the chain of the address, if the hint does not fit.
    [LEGACY, 'ETH', 'BTC'],
    [TRON, 'XBT', 'TRON'],
    [TRON, 'USDT', 'TRON'],
    [EVM, 'XBT', 'ETH'],
    [EVM, 'USDC', 'ETH'],
    [EVM, 'klaytn', 'ETH'],
    [EVM, 'arbitrum', 'ARBITRUM'],
    [EVM, 'bsc', 'BSC'],
    [` ${EVM} `, 'ETH', 'ETH'],
  ])('%s listed as %s is %s', (address, currency, chain) => {
    expect(chainOf(address, currency)).toBe(chain);
  });

  it('is unknown if the coin is not supported, even if the address looks familiar', () => {
    expect(chainOf('DFFJhnQNZf8rf67tYnesPu7MuGUpYtzv7Z', 'DOGE')).toBe('DOGE');
    expect(chainOf('DFFJhnQNZf8rf67tYnesPu7MuGUpYtzv7Z', 'XVG')).toMatch(/Verge is not one/);
    expect(chainOf('bitfinexdep1', 'eos')).toMatch(/EOS is not one/);
    expect(chainOf('bYvGgq', 'astar')).toMatch(/no account that the EVM chains share/);
  });

  it('requires a known currency in strict mode, and else uses the address for an unknown one', () => {
    expect(chainOf(EVM, 'NEWCOIN')).toMatch(/'NEWCOIN' is not a known/);
    expect(chainOf(EVM, 'NEWCOIN', false)).toBe('ETH');
  });

  it('is rejected with a reason for text that is not an address', () => {
    expect(chainOf('1BoatSLRHtKNngkdXEeobR76b53LETtpyU', 'BTC')).toMatch(/checksum/);
    expect(chainOf('', null)).toMatch(/not an address/);
    expect(chainOf('x'.repeat(10_000), 'BTC')).toMatch(/too long/);
  });
});

const record = (changes: Partial<AttributedAddress>): AttributedAddress => ({
  type: 'address',
  address: EVM,
  currency: 'ETH',
  actorId: null,
  actorName: 'Somebody',
  concepts: ['exchange'],
  tags: [],
  confidence: null,
  jurisdiction: null,
  url: null,
  firstSeen: null,
  lastSeen: null,
  isContract: null,
  verified: true,
  provenance: { file: 'f', line: 1 },
  ...changes,
});

const mapped = (source: string, changes: Partial<AttributedAddress>) => {
  const found = mapper.map(source, record(changes));
  if (!found.ok) throw new Error(found.reason);
  return found.labels[0]!.template;
};

describe('the label of a record', () => {
  it('applies to all EVM chains for an account, and to one chain for a contract', () => {
    expect(mapped('own', {}).scope).toBe('EVM');
    expect(mapped('own', { isContract: true }).scope).toBe('ETH');
    expect(mapped('own', { concepts: ['defi_dex'] }).scope).toBe('ETH');
    expect(mapped('own', { concepts: ['defi_dex'], isContract: false }).scope).toBe('EVM');
    expect(mapped('own', { currency: 'klaytn' }).scope).toBe('EVM');
    expect(mapper.map('own', record({ currency: 'klaytn', isContract: true })).ok).toBe(false);
    expect(mapped('own', { concepts: ['scam'] }).scope).toBe('EVM');
  });

  it('has the confidence of the record, else of its source', () => {
    expect(mapped('graphsense', { confidence: 'ownership' }).confidence).toBe(1);
    expect(mapped('graphsense', { confidence: 'web_crawl' }).confidence).toBe(0.5);
    expect(mapped('own', { confidence: '0.35' }).confidence).toBe(0.35);
    expect(mapped('exchanges', {}).confidence).toBe(0.8);
    expect(mapper.map('own', record({ confidence: 'quite' })).ok).toBe(false);
  });

  it('keeps the printed label if it says more than the name of the entity', () => {
    const hot = mapped('graphsense', { actorName: 'Binance: Hot Wallet 3' });
    expect(hot).toMatchObject({
      entity: { id: 'binance', name: 'Binance' },
      tags: ['Binance: Hot Wallet 3'],
    });
    expect(mapped('exchanges', { actorId: 'gate-io', actorName: 'gate-io' })).toMatchObject({
      entity: { id: 'gate', name: 'Gate' },
      tags: [],
    });
  });

  it('has the kind of a known entity if the word is as general as "service"', () => {
    expect(mapped('graphsense', { concepts: ['service'], actorName: 'BitPay.com' }).category).toBe(
      'PAYMENT_PROCESSOR',
    );
  });

  it('rejects the zero address unless the seed calls it the burn address', () => {
    const zero = { address: `0x${'0'.repeat(40)}` };
    expect(mapper.map('graphsense', record(zero)).ok).toBe(false);
    expect(mapper.map('seed', record(zero)).ok).toBe(false);
    expect(mapped('seed', { ...zero, category: 'BURN' }).category).toBe('BURN');
  });
});

describe('a shipped listing', () => {
  const whens = (delistedAt: string | null) => {
    const sanctions = {
      list: 'OFAC_SDN',
      entityId: '1',
      program: null,
      listedAt: '2022-11-08',
      delistedAt,
    } as const;
    const made = mapper.map('seed', record({ category: 'MIXER', sanctions }));
    return made.ok ? made.labels.map(({ when, template }) => [when, template.sanctions.length]) : made.reason;
  };

  it('is overridden by its list, and keeps its other facts', () => {
    expect(whens(null)).toEqual([
      [{ unless: 'OFAC_SDN' }, 1],
      [{ once: 'OFAC_SDN' }, 0],
    ]);
  });

  it('remains as history if it ended, with any lists loaded', () => {
    expect(whens('2025-03-21')).toEqual([['always', 1]]);
  });
});

describe('records in a row', () => {
  // What each change decides is seen in the labels, or in the reason for which there are none.
  it.each<Partial<AttributedAddress>>([
    { address: TRON },
    { currency: 'BSC', isContract: true },
    { actorId: 'other' },
    { actorName: 'Another' },
    { concepts: ['phishing'] },
    { tags: ['one'] },
    { confidence: '0.3' },
    { confidence: 'no number' },
    { jurisdiction: 'CH' },
    { url: 'https://example.org/' },
    { isContract: true },
    { verified: false },
    { sourceUrl: 'https://example.org/page' },
    { category: 'DONATION' },
    { threatLevel: 'HIGH' },
    { sanctions: { list: 'OFAC_SDN', entityId: '1', program: null, listedAt: null, delistedAt: null } },
  ])('have labels of their own: %j', (changes) => {
    const rules = loadRulebook();
    const base = createMapper(rules).map('own', record({}));
    const alone = createMapper(rules).map('own', record(changes));
    expect(alone).not.toEqual(base);

    const inRow = createMapper(rules);
    expect(inRow.map('own', record({}))).toEqual(base);
    expect(inRow.map('own', record(changes))).toEqual(alone);
    expect(inRow.map('own', record({}))).toEqual(base);
  });
});
