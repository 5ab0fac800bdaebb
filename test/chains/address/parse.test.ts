/** Addresses of all chains: forms, faults, traps, and the properties that every codec must have. */
import { readFileSync } from 'node:fs';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { base58xmr } from '@scure/base';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AddressError } from '../../../src/chains/address/address.ts';
import {
  addressFaultOf,
  detectChains,
  formatAddressKey,
  maxKeyBytes,
  parseAddress,
  writeAddressKey,
  writeAddressKeyFromText,
} from '../../../src/chains/address/parse.ts';
import { CHAINS, type ChainId, chainOf } from '../../../src/chains/registry.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';

const faultOf = (chain: ChainId, text: string): string => {
  try {
    parseAddress(chain, text);
  } catch (error) {
    if (error instanceof AddressError) return error.fault;
    throw error;
  }
  return 'none';
};
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Every kind byte with the sizes of its payload, and the bytes with which a payload must begin. */
const KINDS: readonly (readonly [ChainId, number, number, string?])[] = [
  ['ETH', 1, 20],
  ...(['BTC', 'LTC'] as const).flatMap((id) =>
    [
      [1, 20],
      [2, 20],
      [3, 20],
      [4, 32],
      [5, 32],
      [17, 2],
      [18, 40],
    ].map(([kind, size]) => [id, kind as number, size as number] as const),
  ),
  ['LTC', 7, 66],
  ...(['DOGE', 'DASH', 'BSV', 'ZEC', 'BCH'] as const).flatMap((id) => [
    [id, 1, 20] as const,
    [id, 2, 20] as const,
  ]),
  ['BCH', 6, 32],
  ['ZEC', 8, 43],
  ['ZEC', 9, 64],
  ['SOL', 1, 32],
  ['TRON', 1, 20],
  ['XRP', 1, 20],
  ['XLM', 1, 32],
  ['XLM', 2, 32],
  ['XLM', 3, 32],
  ['XLM', 4, 33],
  ['ALGO', 1, 32],
  ['DOT', 1, 32],
  ['ATOM', 1, 20],
  ['ATOM', 2, 32],
  ['XMR', 1, 64],
  ['XMR', 2, 64],
  ['TON', 1, 33, '00'],
  ['TON', 1, 33, 'ff'],
  ['ADA', 16, 57, '01'],
  ['ADA', 17, 57, '11'],
  ['ADA', 22, 29, '61'],
  ['ADA', 30, 29, 'e1'],
];

const keys = fc
  .tuple(fc.constantFrom(...KINDS), fc.uint8Array({ minLength: 66, maxLength: 66 }))
  .map(([[chain, kind, size, prefix], bytes]) => {
    const key = Uint8Array.of(chainOf(chain).keyByte, kind, ...bytes.subarray(0, size));
    if (prefix !== undefined) key[2] = Number.parseInt(prefix, 16);
    return { chain, key };
  });

describeWithSharedData('the published vectors', () => {
  const vectors = JSON.parse(readFileSync(sharedData('addresses', 'vectors.json'), 'utf8')) as {
    chain: ChainId;
    address: string;
    valid: boolean;
    canonical: string;
    kind: string;
    payloadHex: string;
    memo?: string;
    reason?: string;
  }[];
  const faults: Record<string, string> = {
    crc32: 'checksum',
    checksum: 'checksum',
    crc16: 'checksum',
    'BIP173 bad checksum': 'checksum',
    'one letter case flipped: EIP-55 checksum': 'checksum',
    'v1 with bech32, needs bech32m (BIP350)': 'checksum',
    '39 hex digits': 'length',
    '63 hex': 'length',
    'lower case': 'characters',
    'non-hex': 'characters',
    'b not in charset': 'characters',
    '0 not in base58': 'characters',
    'O not in base58': 'characters',
    'testnet prefix': 'network',
    'testnet hrp': 'network',
    'testnet X-address': 'network',
    testnet: 'network',
    'no segwit on BSV': 'chain',
    'not 0x41': 'prefix',
    'Cronos POS bech32': 'prefix',
    'public key, not an address': 'prefix',
    'ICAP/IBAN form: ethers.getAddress accepts it': 'form',
  };

  for (const vector of vectors) {
    // Accepted since: the prefix has no meaning of its own.
    if (vector.reason === '0X prefix') {
      it('takes 0X as 0x', () => {
        const { canonical } = parseAddress(vector.chain, vector.address);
        expect(canonical).toBe(parseAddress(vector.chain, vector.address.replace('0X', '0x')).canonical);
      });
      continue;
    }
    it(`${vector.chain} ${vector.address} ${vector.reason ?? vector.kind}`, () => {
      if (!vector.valid) {
        expect(faultOf(vector.chain, vector.address)).toBe(faults[vector.reason ?? '']);
        return;
      }
      const parsed = parseAddress(vector.chain, vector.address);
      const { canonical, kind, memo } = parsed;
      expect({ canonical, kind, memo, payloadHex: hex(parsed.key.subarray(2)) }).toEqual({
        canonical: vector.canonical,
        kind: vector.kind,
        memo: vector.memo ?? null,
        payloadHex: vector.payloadHex,
      });
      expect(detectChains(vector.address)).toContain(vector.chain);
      const again = parseAddress(vector.chain, canonical);
      expect([again.canonical, hex(again.key)]).toEqual([canonical, hex(parsed.key)]);
    });

    it.skipIf(!vector.valid)(`${vector.chain} ${vector.address} with one character changed`, () => {
      const fold = (text: string): string => text.toLowerCase().replaceAll('-', '+').replaceAll('_', '/');
      const { key } = parseAddress(vector.chain, vector.address);
      for (let at = 0; at < vector.address.length; at++) {
        for (const letter of '0189AZazQqB+/-_:') {
          const changed = vector.address.slice(0, at) + letter + vector.address.slice(at + 1);
          if (fold(changed) === fold(vector.address)) continue;
          if (faultOf(vector.chain, changed) !== 'none') continue;
          expect(hex(parseAddress(vector.chain, changed).key)).not.toBe(hex(key));
        }
      }
    });
  }
});

describe('forms of one account', () => {
  const same = (chain: ChainId, ...texts: string[]): void => {
    expect(new Set(texts.map((text) => hex(parseAddress(chain, text).key))).size).toBe(1);
  };

  it('have one key: legacy and cashaddr, with and without prefix, in upper case', () => {
    const cash = 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a';
    same('BCH', '1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu', cash, cash.slice(12), cash.toUpperCase());
  });

  it('have one key: TON raw, bounceable, non-bounceable, in both alphabets', () => {
    same(
      'TON',
      '0:83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8',
      'EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N',
      'UQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqEBI',
    );
  });

  it('have one key: EVM in lower, upper and checksummed case', () => {
    const text = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045';
    same('ETH', text, text.toLowerCase(), `0x${text.slice(2).toUpperCase()}`);
  });

  it('have one key: Monero standard and integrated, whose payment id is the memo', () => {
    const standard =
      '44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A';
    const body = Uint8Array.of(19, ...parseAddress('XMR', standard).key.subarray(2), 1, 2, 3, 4, 5, 6, 7, 8);
    const integrated = base58xmr.encode(Uint8Array.of(...body, ...keccak_256(body).subarray(0, 4)));
    same('XMR', standard, integrated);
    expect(parseAddress('XMR', integrated)).toMatchObject({ kind: 'integrated', memo: '0102030405060708' });
  });

  it('have one key: Polkadot and generic SS58', () => {
    same(
      'DOT',
      '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5',
      '5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY',
    );
  });

  it('never share a key between BTC, BCH, LTC and BSV', () => {
    const found = (['BTC', 'BCH', 'LTC', 'BSV'] as const).map((chain) =>
      hex(parseAddress(chain, '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy').key),
    );
    expect(new Set(found).size).toBe(4);
  });
});

describe('address errors', () => {
  it('name the chain of an address of another chain', () => {
    expect(() => parseAddress('ETH', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t')).toThrow(/but an address of TRON/);
    expect(() => parseAddress('BTC', '0x4200000000000000000000000000000000000006')).toThrow(
      /ETH, BSC, POLYGON/,
    );
    expect(faultOf('SOL', '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5')).toBe('chain');
  });

  it('report white space, empty text and length', () => {
    expect(() => parseAddress('BTC', ' 3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy')).toThrow(/white space/);
    expect(faultOf('BTC', '')).toBe('length');
    expect(faultOf('BTC', '1'.repeat(1000))).toBe('length');
  });
});

describe('known pitfalls', () => {
  it.each([
    ['BTC', 'BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4', 'p2wpkh'],
    ['BTC', 'bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y', 'witness_v1'],
    ['BTC', 'BC1SW50QGDZ25J', 'witness_v16'],
    ['BTC', 'bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs', 'witness_v2'],
  ] as const)('%s accepts %s (BIP 350) as %s', (chain, text, kind) => {
    expect(parseAddress(chain, text).kind).toBe(kind);
  });

  it.each([
    'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3T4',
    'bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4',
    'BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R',
    'bc1pw5dgrnzv',
    'BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P',
    'bc1gmk9yu',
  ])('BTC rejects %s (BIP 350)', (text) => {
    expect(faultOf('BTC', text)).not.toBe('none');
  });

  it('verifies the checksum of cashaddr', () => {
    expect(faultOf('BCH', 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6q')).toBe('checksum');
  });

  it('matches an independent Keccak for EIP-55', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 20, maxLength: 20 }), (bytes) => {
        const digits = hex(bytes);
        const asked = hex(keccak_256(Buffer.from(digits)));
        const due = [...digits].map((d, i) =>
          Number.parseInt(asked.charAt(i), 16) > 7 ? d.toUpperCase() : d,
        );
        expect(parseAddress('ETH', `0x${digits}`).canonical).toBe(`0x${due.join('')}`);
      }),
    );
  });
});

describe('every codec', () => {
  it('parses the canonical text of any key, from text and from bytes, and writes nothing around it', () => {
    const out = new Uint8Array(maxKeyBytes + 5);
    fc.assert(
      fc.property(keys, ({ chain, key }) => {
        const text = formatAddressKey(key, chain);
        const parsed = parseAddress(chain, text);
        expect(hex(parsed.key)).toBe(hex(key));
        expect(parsed.canonical).toBe(text);
        const bytes = Buffer.from(`,${text},`);
        out.fill(0xee);
        const length = writeAddressKey(chain, bytes, 1, bytes.length - 1, out, 3);
        const rest = 'ee'.repeat(out.length - 3 - length);
        expect(hex(out)).toBe(`eeeeee${hex(key)}${rest}`);
      }),
      { numRuns: 2000 },
    );
  });

  it('has no text for a key of a kind that does not exist, or of another chain', () => {
    const unknown = (id: ChainId, kind: number, keyByte: number = chainOf(id).keyByte): void => {
      const key = Uint8Array.of(keyByte, kind, ...new Uint8Array(33));
      expect(() => formatAddressKey(key, id), `${id} ${kind}`).toThrow(`is not an address key of ${id}`);
    };
    for (const { id, keyByte } of CHAINS) {
      for (const kind of [0, 255]) unknown(id, kind);
      unknown(id, 1, keyByte ^ 0x80);
    }
    // Around the witness versions, which have the kinds 18 to 32 besides the named ones.
    for (const id of ['BTC', 'LTC'] as const) for (const kind of [6, 9, 15, 16, 33, 34]) unknown(id, kind);
  });

  it('reads nothing behind the end of a text, wherever it is cut', () => {
    const [out, alone] = [new Uint8Array(maxKeyBytes), new Uint8Array(maxKeyBytes)];
    fc.assert(
      fc.property(keys, fc.constantFrom(...CHAINS.map((chain) => chain.id)), ({ chain, key }, other) => {
        const text = Buffer.from(formatAddressKey(key, chain));
        for (let end = 1; end < text.length; end++)
          for (const as of [chain, other]) {
            const cut = Buffer.from(text.subarray(0, end));
            // The text that would continue a test network or another prefix is behind the end.
            expect(writeAddressKey(as, text, 0, end, out, 0)).toBe(
              writeAddressKey(as, cut, 0, end, alone, 0),
            );
          }
      }),
      { numRuns: 300 },
    );
  });

  it('never parses a changed character as the same key', () => {
    const change = fc.tuple(keys, fc.nat(), fc.integer({ min: 33, max: 126 }));
    fc.assert(
      fc.property(change, ([{ chain, key }, nat, code]) => {
        const text = formatAddressKey(key, chain);
        const at = nat % text.length;
        const changed = text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1);
        if (changed.toLowerCase() === text.toLowerCase()) return;
        try {
          expect(hex(parseAddress(chain, changed).key)).not.toBe(hex(key));
        } catch (error) {
          if (!(error instanceof AddressError)) throw error;
        }
      }),
      { numRuns: 5000 },
    );
  });

  it('throws only AddressError, and gives the same result for bytes as for text', () => {
    const chains = fc.constantFrom(...CHAINS.map((chain) => chain.id));
    const valid = keys.map(({ chain, key }) => formatAddressKey(key, chain));
    const noisy = fc
      .tuple(valid, fc.nat(), fc.string({ unit: 'binary', maxLength: 3 }))
      .map(
        ([text, nat, noise]) =>
          text.slice(0, nat % text.length) + noise + text.slice((nat >> 3) % text.length),
      );
    const texts = fc.oneof(valid, noisy, fc.string({ unit: 'binary' }), fc.string({ maxLength: 120 }));
    const out = new Uint8Array(maxKeyBytes);
    fc.assert(
      fc.property(chains, texts, (chain, text) => {
        const fault = faultOf(chain, text);
        const fromText = writeAddressKeyFromText(chain, text, out, 0);
        const bytes = Buffer.from(text);
        const fromBytes = writeAddressKey(chain, bytes, 0, bytes.length, out, 0);
        expect(fromText > 0).toBe(fault === 'none');
        expect(fromBytes > 0).toBe(fault === 'none');
        if (fromText < 0) expect(['chain', 'characters', addressFaultOf(fromText)]).toContain(fault);
        else expect(hex(parseAddress(chain, text).key)).toBe(hex(out.subarray(0, fromBytes)));
      }),
      { numRuns: 5000 },
    );
  });
});
