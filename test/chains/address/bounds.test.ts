/** Addresses with a valid checksum around invalid contents, and texts of exactly the maximum length. */
import { crc32 } from 'node:zlib';
import { blake2b } from '@noble/hashes/blake2.js';
import { sha256, sha512_256 } from '@noble/hashes/sha2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { base32nopad, base58, base58xmr, base58xrp, bech32, bech32m, createBase58check } from '@scure/base';
import { describe, expect, it } from 'vitest';
import { AddressError } from '../../../src/chains/address/address.ts';
import {
  BITCOIN_DIGITS,
  DECODED_END,
  decodeBase58,
  decoded,
  NOT_BASE58,
  TOO_LONG,
} from '../../../src/chains/address/base58.ts';
import { decodeBase58Check } from '../../../src/chains/address/base58check.ts';
import { BECH32, BECH32M, decodeBech32, unpackWords } from '../../../src/chains/address/bech32.ts';
import {
  formatAddressKey,
  parseAddress,
  writeAddressKey,
  writeAddressKeyFromText,
} from '../../../src/chains/address/parse.ts';
import { UTXO_KINDS } from '../../../src/chains/address/utxo.ts';
import { CHAIN_LIMITS } from '../../../src/chains/limits.ts';
import type { ChainId } from '../../../src/chains/registry.ts';

const check58 = createBase58check(sha256);
const read = (chain: ChainId, text: string): string => {
  try {
    const { kind, memo } = parseAddress(chain, text);
    return memo === null ? kind : `${kind} ${memo}`;
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    return `${error.fault}: ${error.message}`;
  }
};
const filled = (length: number, ...head: number[]) => Uint8Array.from({ length }, (_, at) => head[at] ?? 7);

describe('base58', () => {
  it('accepts up to 512 characters of its alphabet only', () => {
    const bytes = (text: string) => Buffer.from(text, 'latin1');
    const decode = (text: string) => decodeBase58(bytes(text), 0, text.length, BITCOIN_DIGITS);
    expect([
      decode('2'.repeat(512)),
      decode('2'.repeat(513)),
      decode('1'.repeat(384)),
      decode('1'.repeat(385)),
    ]).toEqual([375, TOO_LONG, 384, TOO_LONG]);
    expect(['0', 'O', 'I', 'l', '1l', ' '].map(decode)).toEqual(Array(6).fill(NOT_BASE58));
    for (const length of [0, 1, 2, 31, 32, 33, 64, 100]) {
      const payload = filled(length, 0, length % 2 === 0 ? 0 : 9, 255);
      expect(decode(base58.encode(payload))).toBe(length);
      expect([...decoded.subarray(DECODED_END - length)]).toEqual([...payload]);
    }
  });

  it('is read between its bounds only, also if it is all zero digits', () => {
    const decode = (text: string, start: number, end: number) =>
      decodeBase58(Buffer.from(text), start, end, BITCOIN_DIGITS);
    expect([decode('11111', 1, 3), decode('2111', 1, 4), decode('1112', 0, 2), decode('1112', 1, 1)]).toEqual(
      [2, 3, 2, 0],
    );
  });

  it('with a checksum accepts at least one byte, and more than one block', () => {
    const decode = (text: string) => decodeBase58Check(Buffer.from(text), 0, text.length, BITCOIN_DIGITS);
    for (const length of [1, 20, 54, 55, 56, 57, 64, 65, 100])
      expect(decode(check58.encode(filled(length)))).toBe(length);
    expect([decode(check58.encode(filled(0))), decode('1'), decode('1'.repeat(400))]).toEqual([-2, -2, -2]);
    const long = check58.encode(filled(80));
    expect(decode(`${long.slice(0, -1)}${long.endsWith('2') ? '3' : '2'}`)).toBe(-1);
  });
});

describe('bech32', () => {
  const decode = (text: string, hrp: number, constant: number) =>
    decodeBech32(Buffer.from(text), 0, text.length, hrp, constant);

  it('requires a data part, one letter case, its own checksum, and no remaining bits', () => {
    expect([decode(bech32.encode('a', [1]), 1, BECH32), decode(bech32.encode('a', []), 1, BECH32)]).toEqual([
      1, -2,
    ]);
    expect(decode(bech32.encode('a', Array(512).fill(3), false as never), 1, BECH32)).toBe(512);
    expect(decode(bech32.encode('a', Array(513).fill(3), false as never), 1, BECH32)).toBe(-2);
    const text = bech32.encode('abc', [1, 2]);
    expect([
      decode(text, 3, BECH32),
      decode(text.toUpperCase(), 3, BECH32),
      decode(`A${text.slice(1)}`, 3, BECH32),
    ]).toEqual([2, 2, -4]);
    expect([decode(text, 3, BECH32M), decode(bech32m.encode('abc', [1, 2]), 3, BECH32)]).toEqual([-1, -1]);
    expect([
      decode(text, 2, BECH32),
      decode(text.replace('1', 'x'), 3, BECH32),
      decode(`${text.slice(0, -1)}b`, 3, BECH32),
    ]).toEqual([-8, -8, -4]);
    const unpack = (words: number[]) => {
      decode(bech32.encode('a', words), 1, BECH32);
      return unpackWords(0, words.length);
    };
    expect([
      unpack([0, 0]),
      unpack([31, 28]),
      unpack([31, 29]),
      unpack([31]),
      unpack([0, 0, 0]),
      unpack([0, 0, 0, 16]),
    ]).toEqual([1, 1, -8, -8, -8, 2]);
  });

  const segwit = (
    version: number,
    length: number,
    coder: typeof bech32 = version === 0 ? bech32 : (bech32m as never),
    hrp = 'bc',
  ) => read('BTC', coder.encode(hrp, [version, ...bech32.toWords(filled(length))], false as never));

  it('of witnesses accepts programs of 2 to 40 bytes, and of 20 or 32 for version 0', () => {
    expect([
      segwit(0, 20),
      segwit(0, 32),
      segwit(1, 32),
      segwit(1, 31),
      segwit(2, 2),
      segwit(16, 40),
      segwit(2, 32),
    ]).toEqual(['p2wpkh', 'p2wsh', 'p2tr', 'witness_v1', 'witness_v2', 'witness_v16', 'witness_v2']);
    for (const [version, length] of [
      [0, 19],
      [0, 21],
      [0, 31],
      [0, 33],
      [0, 2],
      [1, 1],
      [1, 41],
    ] as const)
      expect(segwit(version, length), `${version} ${length}`).toMatch(/^length/);
    expect(segwit(17, 32)).toContain('witness version above 16');
    expect(segwit(0, 20, bech32m as never)).toContain('needs the bech32 checksum');
    expect(segwit(1, 32, bech32)).toContain('needs the bech32m checksum');
    expect(segwit(1, 60)).toMatch(/^length/);
    expect(
      [segwit(0, 20, bech32, 'tb'), segwit(0, 20, bech32, 'bcrt')].map((fault) => fault.split(':')[0]),
    ).toEqual(['network', 'network']);
  });

  it('of Litecoin and Zcash accepts payloads of one size', () => {
    const ltc = (version: number, length: number) =>
      read('LTC', bech32.encode('ltcmweb', [version, ...bech32.toWords(filled(length))], false as never));
    expect(ltc(0, 66)).toBe('mweb');
    expect([ltc(0, 65), ltc(0, 67), ltc(1, 66)].map((fault) => fault.split(':')[0])).toEqual([
      'length',
      'length',
      'version',
    ]);
    const zs = (length: number) =>
      read('ZEC', bech32.encode('zs', bech32.toWords(filled(length)), false as never));
    expect([zs(43), zs(42).split(':')[0], zs(44).split(':')[0]]).toEqual(['sapling', 'length', 'length']);
    const tex = (length: number) =>
      read('ZEC', bech32m.encode('tex', bech32m.toWords(filled(length)), false as never));
    expect([tex(20), tex(19).split(':')[0]]).toEqual(['tex', 'length']);
  });
});

describe('base58check addresses', () => {
  it.each<[ChainId, string]>([
    ['BTC', '1BoatSLRHtKNngkdXEeobR76b53LETtpy0'],
    ['BTC', '1BoatSLRHtKNngkdXEeobR76b53LETtpyI'],
    ['DOGE', 'D7Y55r6Yoc1G8EECxkQ6SuSjTgGJJ7M6yl'],
    ['TRON', 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6O'],
  ])('of %s name a character outside of the alphabet in %s', (chain, text) => {
    expect(read(chain, text)).toMatch(/^characters: .*not in the base58 alphabet/);
  });

  it.each([
    ['BTC', 0, 'p2pkh', [111, 196]],
    ['LTC', 48, 'p2pkh', [111, 58, 196]],
    ['DOGE', 30, 'p2pkh', [113, 196]],
    ['DASH', 76, 'p2pkh', [140, 19]],
    ['BSV', 5, 'p2sh', [111, 196]],
    ['BCH', 5, 'p2sh', [111, 196]],
  ] as const)('of %s have 20 bytes after a version byte of the chain', (chain, version, kind, tests) => {
    expect(read(chain, check58.encode(filled(21, version)))).toBe(kind);
    for (const length of [20, 22])
      expect(read(chain, check58.encode(filled(length, version)))).toMatch(/^length/);
    for (const test of tests)
      expect(read(chain, check58.encode(filled(21, test)))).toMatch(/^(network|chain)/);
    expect(read(chain, check58.encode(filled(21, 255)))).toMatch(/^prefix/);
  });

  it('of Zcash have two version bytes', () => {
    const zec = (version: number, length: number) =>
      read('ZEC', check58.encode(filled(length, version >> 8, version & 255)));
    expect([zec(0x1cb8, 22), zec(0x1cbd, 22), zec(0x169a, 66)]).toEqual(['p2pkh', 'p2sh', 'sprout']);
    expect(
      [zec(0x1cb8, 21), zec(0x169a, 65), zec(0x1d25, 22), zec(0x1cb9, 22)].map(
        (fault) => fault.split(':')[0],
      ),
    ).toEqual(['length', 'length', 'network', 'prefix']);
  });

  it('of Tron begin with 41, also in hex', () => {
    expect([
      read('TRON', check58.encode(filled(21, 0x41))),
      read('TRON', `41${'ab'.repeat(20)}`),
      read('TRON', `41${'AB'.repeat(20)}`),
    ]).toEqual(['account', 'hex', 'hex']);
    expect(
      [
        read('TRON', check58.encode(filled(21, 0x40))),
        read('TRON', check58.encode(filled(22, 0x41))),
        read('TRON', `42${'ab'.repeat(20)}`),
      ].map((fault) => fault.split(':')[0]),
    ).toEqual(['prefix', 'length', 'prefix']);
  });

  it('of Ripple are an account, or an account with a tag', () => {
    const encode = (body: Uint8Array) =>
      base58xrp.encode(Uint8Array.of(...body, ...sha256(sha256(body)).subarray(0, 4)));
    const tagged = (prefix: number, flag: number, ...tag: number[]) =>
      read(
        'XRP',
        encode(
          Uint8Array.of(
            prefix >> 8,
            prefix & 255,
            ...filled(20),
            flag,
            ...Array.from({ length: 8 }, (_, at) => tag[at] ?? 0),
          ),
        ),
      );
    expect([
      read('XRP', encode(filled(21, 0))),
      read('XRP', encode(filled(21, 1))).split(':')[0],
      read('XRP', encode(filled(22, 0))).split(':')[0],
    ]).toEqual(['account', 'prefix', 'length']);
    expect([
      tagged(0x0544, 0),
      tagged(0x0544, 1),
      tagged(0x0544, 1, 255, 255, 255, 255),
      tagged(0x0544, 1, 0, 1),
    ]).toEqual(['x-address', 'x-address 0', 'x-address 4294967295', 'x-address 256']);
    expect(
      [
        tagged(0x0544, 0, 1),
        tagged(0x0544, 1, 0, 0, 0, 0, 1),
        tagged(0x0544, 2),
        tagged(0x0493, 0),
        tagged(0x0545, 0),
      ].map((fault) => fault.split(':')[0]),
    ).toEqual(['form', 'form', 'form', 'network', 'prefix']);
  });
});

describe('other addresses', () => {
  it('of Solana have 32 bytes', () => {
    expect([32, 31, 33].map((length) => read('SOL', base58.encode(filled(length))).split(':')[0])).toEqual([
      'account',
      'length',
      'length',
    ]);
    expect(read('SOL', `${base58.encode(filled(32)).slice(0, -1)}0`)).toMatch(/^characters/);
  });

  it('of Stellar have a kind, its length, and a checksum', () => {
    const crc16 = (bytes: Uint8Array) =>
      bytes.reduce((crc, byte) => {
        let next = crc ^ (byte << 8);
        for (let bit = 0; bit < 8; bit++) next = (next & 0x8000 ? (next << 1) ^ 0x1021 : next << 1) & 0xffff;
        return next;
      }, 0);
    const strkey = (version: number, length: number, ...tail: number[]) => {
      const body = Uint8Array.of(version << 3, ...filled(length - tail.length), ...tail);
      return read('XLM', base32nopad.encode(Uint8Array.of(...body, crc16(body) & 255, crc16(body) >> 8)));
    };
    expect([
      strkey(6, 32),
      strkey(2, 32),
      strkey(11, 32),
      strkey(1, 33),
      strkey(12, 40, 0, 0, 0, 0, 0, 0, 1, 2),
    ]).toEqual(['account', 'contract', 'liquidity_pool', 'claimable_balance', 'muxed 258']);
    expect(
      [strkey(1, 32), strkey(6, 33), strkey(12, 32), strkey(18, 32), strkey(6, 40)].map(
        (fault) => fault.split(':')[0],
      ),
    ).toEqual(Array(5).fill('prefix'));
    expect([strkey(6, 31), strkey(6, 34)].map((fault) => fault.split(':')[0])).toEqual(['length', 'length']);
    const good = base32nopad.encode(Uint8Array.of(48, ...filled(32), 0, 0));
    expect([read('XLM', good), read('XLM', good.toLowerCase())].map((fault) => fault.split(':')[0])).toEqual([
      'checksum',
      'characters',
    ]);
  });

  it('of Algorand end with the last bytes of a hash', () => {
    const algo = (bytes: Uint8Array) => read('ALGO', base32nopad.encode(bytes));
    const good = Uint8Array.of(...filled(32), ...sha512_256(filled(32)).subarray(28));
    expect([
      algo(good),
      algo(good.map((byte, at) => (at === 35 ? byte ^ 1 : byte))).split(':')[0],
      algo(filled(35)).split(':')[0],
    ]).toEqual(['account', 'checksum', 'length']);
    const text = base32nopad.encode(good);
    const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
    // The last character has two unused bits.
    expect(read('ALGO', text.slice(0, -1) + last.charAt(last.indexOf(text.at(-1)!) + 1))).toMatch(
      /^(form|checksum)/,
    );
  });

  it('of Polkadot have its prefix or the generic one', () => {
    const dot = (prefix: readonly number[], length = 32) => {
      const body = Uint8Array.of(...prefix, ...filled(length));
      const hash = blake2b(Uint8Array.of(...Buffer.from('SS58PRE'), ...body), { dkLen: 64 });
      return read('DOT', base58.encode(Uint8Array.of(...body, ...hash.subarray(0, 2)))).split(':')[0];
    };
    expect([
      dot([0]),
      dot([42]),
      dot([2]),
      dot([63]),
      dot([64, 1]),
      dot([64]),
      dot([0], 31),
      dot([0], 33),
    ]).toEqual(['account', 'generic', 'network', 'network', 'network', 'length', 'length', 'length']);
  });

  it('of Monero have the length of their kind', () => {
    const xmr = (tag: number, length: number) => {
      const body = filled(length + 1, tag);
      return read('XMR', base58xmr.encode(Uint8Array.of(...body, ...keccak_256(body).subarray(0, 4))));
    };
    expect([xmr(18, 64), xmr(42, 64), xmr(19, 72)]).toEqual([
      ...['standard', 'subaddress', 'integrated 0707070707070707'],
    ]);
    expect(
      [xmr(19, 64), xmr(18, 72), xmr(42, 72), xmr(18, 63), xmr(18, 65), xmr(17, 64), xmr(53, 64)].map(
        (fault) => fault.split(':')[0],
      ),
    ).toEqual([...Array(5).fill('length'), 'prefix', 'network']);
  });

  describe('of Cardano before Shelley', () => {
    type Attribute = readonly [key: number, value: Uint8Array];
    const head = (major: number, value: number): number[] =>
      value < 24
        ? [(major << 5) | value]
        : value < 256
          ? [(major << 5) | 24, value]
          : value < 65_536
            ? [(major << 5) | 25, value >> 8, value & 255]
            : [(major << 5) | 26, value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255];
    const bodyOf = (attributes: readonly Attribute[], count = attributes.length, root = 28) =>
      Uint8Array.of(
        ...[0x83, ...head(2, root), ...filled(root), ...head(5, count)],
        ...attributes.flatMap(([key, value]) => [...head(0, key), ...head(2, value.length), ...value]),
        0,
      );
    const wrapped = (body: Uint8Array, size = head(2, body.length), sum = crc32(body)) =>
      base58.encode(Uint8Array.of(0x82, 0xd8, 24, ...size, ...body, ...head(0, sum)));
    const path: Attribute = [1, filled(30)];
    const faultOf = (text: string) => read('ADA', text).split(':')[0];

    it('keep their text, with and without a derivation path', () => {
      for (const attributes of [[], [path], [path, [3, filled(24)] as const]]) {
        const text = wrapped(bodyOf(attributes));
        expect(parseAddress('ADA', text)).toMatchObject({ kind: 'byron', canonical: text, memo: null });
      }
    });

    it('have a checksum, one network, and no byte too many or too few', () => {
      const body = bodyOf([path]);
      expect(faultOf(wrapped(body, undefined, (crc32(body) ^ 1) >>> 0))).toBe('checksum');
      expect(faultOf(wrapped(bodyOf([path, [2, filled(5)]])))).toBe('network');
      expect(faultOf(base58.encode(filled(60, 0x81)))).toBe('prefix');
      // Another first, second or third byte.
      for (const at of [0, 1, 2]) {
        const other = base58.decode(wrapped(body)).map((byte, each) => (each === at ? byte ^ 1 : byte));
        expect(faultOf(base58.encode(other)), String(at)).toBe('prefix');
      }
      const size = body.length;
      for (const text of [
        wrapped(bodyOf([path], 1, 27)),
        wrapped(bodyOf([path], 1, 29)),
        wrapped(bodyOf([path], 2)),
        wrapped(bodyOf([path], 0)),
        wrapped(Uint8Array.of(...body, 0)),
        wrapped(body.subarray(0, -1)),
        wrapped(body.map((byte, at) => (at === 0 ? 0x82 : byte))),
        // A length that is not in its shortest form, and lengths that are one too short or too long.
        wrapped(body, [0x59, 0, size]),
        wrapped(body, head(2, size - 1)),
        wrapped(body, head(2, size + 1)),
      ])
        expect(faultOf(text), text).toBe('form');
      const whole = base58.decode(wrapped(body));
      expect(faultOf(base58.encode(Uint8Array.of(...whole, 0)))).toBe('form');
      expect(faultOf(base58.encode(whole.subarray(0, -1)))).toBe('form');
    });
  });

  it('in bech32 may be all upper case', () => {
    const text = (hrp: string, words: readonly number[], coder: typeof bech32 = bech32) =>
      coder.encode(hrp, [...words], false as never).toUpperCase();
    const bytes = (length: number, ...head: number[]) => bech32.toWords(filled(length, ...head));
    expect([
      read('BTC', text('bc', [0, ...bytes(20)])),
      read('LTC', text('ltcmweb', [0, ...bytes(66)])),
      read('ZEC', text('zs', bytes(43))),
      read('ZEC', text('tex', bytes(20), bech32m as never)),
      read('ATOM', text('cosmos', bytes(20))),
      read('ADA', text('addr', bytes(29, 0x61))),
      read('ADA', text('stake', bytes(29, 0xe1))),
    ]).toEqual(['p2wpkh', 'mweb', 'sapling', 'tex', 'account', 'enterprise', 'reward']);
    expect(
      [read('ADA', text('addr_test', bytes(29, 0x60))), read('BTC', text('tb', [0, ...bytes(20)]))].map(
        (fault) => fault.split(':')[0],
      ),
    ).toEqual(['network', 'network']);
  });

  it('of Cardano have the length of their kind, and pointers three numbers', () => {
    const ada = (hrp: string, length: number, ...head: number[]) =>
      read('ADA', bech32.encode(hrp, bech32.toWords(filled(length, ...head)), false as never)).split(':')[0];
    for (const [hrp, header, length, kind] of [
      ['addr', 0x01, 57, 'base'],
      ['addr', 0x31, 57, 'base_script_stake_script'],
      ['addr', 0x61, 29, 'enterprise'],
      ['addr', 0x71, 29, 'enterprise_script'],
      ['stake', 0xe1, 29, 'reward'],
      ['stake', 0xf1, 29, 'reward_script'],
    ] as const)
      expect(
        [length, length - 1, length + 1, 86 - length].map((each) => ada(hrp, each, header)),
        kind,
      ).toEqual([kind, 'length', 'length', 'length']);
    expect([
      ada('addr', 29, 0xe1),
      ada('stake', 29, 0x61),
      ada('addr', 29, 0x81),
      ada('addr', 29, 0x62),
    ]).toEqual(['prefix', 'prefix', 'version', 'network']);
    const pointer = (...numbers: number[]) =>
      ada('addr', 29 + numbers.length, ...filled(29, 0x41), ...numbers);
    const long = [...Array(9).fill(0x80), 1];
    expect([pointer(1, 2, 3), pointer(0x7f, 0x81, 0, 0), pointer(...long, ...long, ...long)]).toEqual(
      Array(3).fill('pointer'),
    );
    expect([
      pointer(),
      pointer(1, 2),
      pointer(1, 2, 3, 4),
      pointer(1, 2, 3, 0x80),
      pointer(1, 2, 0x83),
      pointer(0x80, ...long, ...long, ...long),
    ]).toEqual(Array(6).fill('form'));
  });

  it('of Zcash that are unified have receivers in order, complete and without metadata', () => {
    const zec = parseAddress('ZEC', check58.encode(filled(22, 0x1c, 0xb8))).key[0] as number;
    const unified = (...items: readonly (readonly [typecode: number, size: number, bytes?: number])[]) => {
      const payload = items.flatMap(([typecode, size, bytes = size]) => [typecode, size, ...filled(bytes)]);
      return read('ZEC', formatAddressKey(Uint8Array.of(zec, UTXO_KINDS.unified, ...payload), 'ZEC'));
    };
    expect([
      unified([0, 20], [2, 43]),
      unified([1, 20], [3, 43]),
      unified([2, 43], [3, 43], [4, 1]),
      unified([0xbf, 43]),
      unified([4, 252]),
    ]).toEqual(Array(5).fill('unified'));
    for (const [part, text] of [
      ['cut short or too long', unified([2, 43], [3, 43, 42])],
      ['cut short or too long', unified([4, 253])],
      ['cut short or too long', unified([2, 43], [0xfd, 30])],
      ['out of order', unified([3, 43], [2, 43])],
      ['out of order', unified([2, 43], [2, 43])],
      ['metadata', unified([2, 43], [0xc0, 3])],
      ['metadata', unified([2, 43], [0xfc, 3])],
      ['wrong length', unified([0, 19], [2, 43])],
      ['wrong length', unified([0, 20], [2, 44])],
      ['two transparent', unified([0, 20], [1, 20], [2, 43])],
    ] as const)
      expect(text).toContain(part);
  });

  it('of EVM chains have 40 hex digits after 0x', () => {
    const digits = 'ab'.repeat(20);
    expect([
      read('ETH', `0x${digits}`),
      read('ETH', `0x${digits.toUpperCase()}`),
      read('ETH', `0x${'12'.repeat(20)}`),
      read('ETH', `0X${digits}`),
      read('ETH', `0X${digits.toUpperCase()}`),
    ]).toEqual(['evm', 'evm', 'evm', 'evm', 'evm']);
    expect(
      [
        `0x${digits}a`,
        `0x${digits.slice(1)}`,
        `0y${digits}`,
        digits,
        `XE${digits}`,
        `0x${digits.slice(1)}g`,
        `0x${digits.slice(1)}B`,
        'x',
      ].map((text) => read('ETH', text).split(':')[0]),
    ).toEqual(['length', 'length', 'prefix', 'prefix', 'form', 'characters', 'checksum', 'prefix']);
  });
});

describe('any address', () => {
  it('has a limited length, and no surrounding white space', () => {
    const out = new Uint8Array(1_000);
    const longest = 'x'.repeat(CHAIN_LIMITS.addressTextMax);
    const direct = (text: string) => writeAddressKey('ETH', Buffer.from(text), 0, text.length, out, 0);
    for (const write of [direct, (text: string) => writeAddressKeyFromText('ETH', text, out, 0)]) {
      expect([write(longest), write(`${longest}x`), write('')]).toEqual([-3, -2, -2]);
    }
    expect(writeAddressKey('ETH', Buffer.from('x'), 1, 0, out, 0)).toBe(-2);
    expect([
      writeAddressKeyFromText('ETH', 'é', out, 0),
      writeAddressKeyFromText('ETH', '\u007f', out, 0),
    ]).toEqual([-4, -3]);
    expect(read('ETH', ` 0x${'ab'.repeat(20)}`)).toContain('begins or ends with white space');
    expect(read('BTC', `0x${'ab'.repeat(20)}`)).toMatch(/or another EVM chain/);
    expect(read('ETH', check58.encode(filled(21, 30)))).toContain('but an address of DOGE');
    expect(() => formatAddressKey(Uint8Array.of(1, 1, ...filled(19)), 'ETH')).toThrow(
      'is not an address key',
    );
    expect(() => formatAddressKey(Uint8Array.of(1, 2, ...filled(20)), 'ETH')).toThrow(
      'is not an address key',
    );
    expect(() => formatAddressKey(Uint8Array.of(2, 1, ...filled(20)), 'ETH')).toThrow(
      'is not an address key',
    );
  });
});
