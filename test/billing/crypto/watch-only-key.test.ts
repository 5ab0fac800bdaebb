/** Watch-only keys: the vectors of BIP-32, 44, 49, 84, 86 and 380, random keys against a wallet, and everything that must be refused. */
import { sha256 } from '@noble/hashes/sha2.js';
import { createBase58check } from '@scure/base';
import { HDKey } from '@scure/bip32';
import { HDNodeWallet, Mnemonic } from 'ethers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  deriveAddress,
  descriptorChecksum,
  descriptorOf,
  pathOf,
  readWatchOnlyKey,
} from '../../../src/billing/crypto/watch-only-key.ts';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import type { ChainId } from '../../../src/chains/registry.ts';

/** The mnemonic of the vectors of BIP-49, 84 and 86. */
const PHRASE = `${'abandon '.repeat(11)}about`;
const root = HDKey.fromMasterSeed(Buffer.from(Mnemonic.fromPhrase(PHRASE).computeSeed().slice(2), 'hex'));
const account = (path: string): string => root.derive(path).publicExtendedKey;
const base58check = createBase58check(sha256);

/** Writes an extended key with other version bytes. */
function withVersion(key: string, version: number): string {
  const bytes = Buffer.from(base58check.decode(key));
  bytes.writeUInt32BE(version, 0);
  return base58check.encode(bytes);
}

const address = (chain: ChainId, text: string, index = 0): string =>
  deriveAddress(chain, readWatchOnlyKey(chain, text, 'KEY'), index);
const checked = (body: string): string => `${body}#${descriptorChecksum(body)}`;
const XPUB = account("m/84'/0'/0'");

describe('derivation from a public key', () => {
  it('derives the children of test vector 2 of BIP-32', () => {
    const seed = Buffer.from(
      'fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a29f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542',
      'hex',
    );
    const key = HDKey.fromExtendedKey(HDKey.fromMasterSeed(seed).publicExtendedKey);
    expect(key.deriveChild(0).publicExtendedKey).toBe(
      'xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7ap6r1D3tgFxHmwMkQTPH',
    );
  });

  it('derives the addresses of BIP-44: bitcoin and Ethereum', () => {
    expect(address('BTC', account("m/44'/0'/0'"))).toBe('1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA');
    expect(address('ETH', account("m/44'/60'/0'"))).toBe('0x9858EfFD232B4033E47d90003D41EC34EcaEda94');
  });

  it('derives the address of BIP-49 from the key of its vector', () => {
    const upub =
      'upub5EFU65HtV5TeiSHmZZm7FUffBGy8UKeqp7vw43jYbvZPpoVsgU93oac7Wk3u6moKegAEWtGNF8DehrnHtv21XXEMYRUocHqguyjknFHYfgY';
    const ypub = withVersion(upub, 0x049d7cb2);
    const { key } = parseAddress('BTC', address('BTC', ypub));
    // The vector is of the test network: only the hash of the script is compared.
    expect(Buffer.from(key.subarray(2)).toString('hex')).toBe('336caa13e08b96080a32b5d818d59b4ab3b36742');
    expect(address('BTC', ypub)).toMatch(/^3/);
  });

  it('derives the addresses of BIP-84', () => {
    const zpub =
      'zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs';
    expect(address('BTC', zpub, 0)).toBe('bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu');
    expect(address('BTC', zpub, 1)).toBe('bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g');
    expect(address('BTC', checked(`wpkh([73c5da0a/84h/0h/0h]${XPUB}/0/*)`), 1)).toBe(
      'bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g',
    );
  });

  it('derives the addresses of BIP-86', () => {
    const descriptor = checked(`tr(${account("m/86'/0'/0'")}/0/*)`);
    expect(address('BTC', descriptor, 0)).toBe(
      'bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr',
    );
    expect(address('BTC', descriptor, 1)).toBe(
      'bc1p4qhjn9zdvkux4e44uhx8tc55attvtyu358kutcqkudyccelu0was9fqzwh',
    );
  });

  it('derives addresses of LTC, DOGE, BCH and TRON in the form of the chain', () => {
    expect(address('LTC', withVersion(account("m/84'/2'/0'"), 0x04b24746))).toMatch(/^ltc1q/);
    expect(address('LTC', withVersion(account("m/44'/2'/0'"), 0x019da462))).toBe(
      'LUWPbpM43E2p7ZSh8cyTBEkvpHmr3cB8Ez',
    );
    expect(address('DOGE', withVersion(account("m/44'/3'/0'"), 0x02facafd))).toBe(
      'DBus3bamQjgJULBJtYXpEzDWQRwF5iwxgC',
    );
    expect(address('BCH', account("m/44'/145'/0'"))).toBe(
      'bitcoincash:qqyx49mu0kkn9ftfj6hje6g2wfer34yfnq5tahq3q6',
    );
    expect(address('TRON', account("m/44'/195'/0'"))).toBe('TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH');
  });

  it('derives the same addresses as a wallet with the private key', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.integer({ min: 0, max: 0x7fff_ffff }),
        (seed, index) => {
          const wallet = HDNodeWallet.fromSeed(seed).derivePath("44'/60'/0'");
          expect(address('ETH', wallet.neuter().extendedKey, index)).toBe(
            wallet.derivePath(`0/${index}`).address,
          );
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('settings of keys', () => {
  it('computes the checksum of BIP-380', () => {
    expect(descriptorChecksum('raw(deadbeef)')).toBe('89f8spxm');
    expect(descriptorChecksum('raw(Ü)')).toBeNull();
  });

  it('writes the descriptor that a wallet imports', () => {
    const text = checked(`wpkh([73c5da0a/84h/0h/0h]${XPUB}/0/*)`);
    const key = readWatchOnlyKey('BTC', text, 'KEY');
    expect(descriptorOf(key)).toBe(text);
    expect(pathOf(key, 7)).toBe('84h/0h/0h/0/7');
    expect(descriptorOf(readWatchOnlyKey('BTC', withVersion(XPUB, 0x04b24746), 'KEY'))).toBe(
      checked(`wpkh(${XPUB}/0/*)`),
    );
  });

  it.each([
    ['xprv', root.privateExtendedKey],
    ['zprv', withVersion(root.privateExtendedKey, 0x04b2430c)],
    ['tprv', withVersion(root.privateExtendedKey, 0x04358394)],
    ['xprv in a descriptor', checked(`wpkh(${root.privateExtendedKey}/0/*)`)],
    ['private bytes under a public prefix', withVersion(root.privateExtendedKey, 0x0488b21e)],
  ])('refuses a private key (%s) and does not repeat it', (_, text) => {
    const refused = (): unknown => readWatchOnlyKey('BTC', text, 'KEY');
    expect(refused).toThrow(/is a private key/);
    try {
      refused();
    } catch (error) {
      expect(String((error as Error).message)).not.toContain(text.slice(10, 40));
    }
  });

  it.each([
    ['another checksum', checked(`wpkh(${XPUB}/0/*)`).replace(/.$/, 'q').replace(/q$/, 'p'), /checksum/],
    ['no checksum', `wpkh(${XPUB}/0/*)`, /must have its checksum/],
    ['a hardened step', checked(`wpkh(${XPUB}/0'/*)`), /without a hardened mark/],
    ['hardened addresses', checked(`wpkh(${XPUB}/0/*')`), /must end with \/\*/],
    ['one address', checked(`wpkh(${XPUB}/0/5)`), /must end with \/\*/],
    ['two branches', checked(`wpkh(${XPUB}/<0;1>/*)`), /must be numbers/],
    ['several keys', checked(`multi(1,${XPUB}/0/*,${XPUB}/0/*)`), /one key/],
    ['an unclosed function', checked(`sh(wpkh(${XPUB}/0/*)`), /one key/],
    ['a key of a test network', withVersion(XPUB, 0x043587cf), /main network/],
    ['a typing error', `${XPUB.slice(0, -1)}${XPUB.endsWith('1') ? '2' : '1'}`, /checksum is wrong/],
    ['an address', 'bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu', /not an extended public key|form/],
    ['nothing', '', /form/],
    ['a long text', 'x'.repeat(600), /at most 512/],
  ])('refuses %s', (_, text, message) => {
    expect(() => readWatchOnlyKey('BTC', text, 'KEY')).toThrow(message);
    expect(() => readWatchOnlyKey('BTC', text, 'KEY')).toThrow(/^KEY: /);
  });

  it('refuses a form that the chain does not have', () => {
    expect(() => readWatchOnlyKey('DOGE', withVersion(XPUB, 0x04b24746), 'KEY')).toThrow(
      /must be one of pkh/,
    );
    expect(() => readWatchOnlyKey('ETH', withVersion(XPUB, 0x04b24746), 'KEY')).toThrow(/must be an xpub/);
    expect(() => readWatchOnlyKey('TRON', checked(`pkh(${XPUB}/0/*)`), 'KEY')).toThrow(
      /without a descriptor/,
    );
  });

  it('never throws anything but an error of the setting', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.mixedCase(fc.constant(checked(`wpkh(${XPUB}/0/*)`)))), (text) => {
        try {
          readWatchOnlyKey('BTC', text, 'KEY');
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_CONFIG' });
        }
      }),
      { numRuns: 500 },
    );
  });
});
