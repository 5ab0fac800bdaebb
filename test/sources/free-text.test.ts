import { describe, expect, it } from 'vitest';
import { findWallets, withUnreadableWallets } from '../../src/sources/free-text.ts';
import { ofacReader } from '../../src/sources/ofac/read.ts';
import type { DesignatedParty } from '../../src/sources/records.ts';
import { MARCH_4, readOfacOnce } from '../setup/ofac-records.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { collect } from './collect.ts';

const TRON = 'TW5tokvhEfrb77z98Rc8HqbkzQJ6sxYtGX';
const TRON_2 = 'TBKpozurdWLrbKkxtDqkveeq1dSB8Axj3V';
const BTC = '1NE2NiGhhbkFPSEyNWwj7hKGhGDedBtSrQ';
const SEGWIT = 'bc1q72ud4m6zf5g37jkhc2ty95zm5vel9ufdxquqpm';
const ETH = '0x1da5821544e25c636c1417ba96ade4cf6d2f9b5a';
const SOL = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM';

describe('wallets in prose', () => {
  it('finds those of a UK designation, with the chain it names', () => {
    const text = `Xinbi is associated with the following Tron crypto addresses: \n\n${TRON}\n${TRON_2}`;
    expect(findWallets(text)).toEqual([
      { address: TRON, currency: 'TRX' },
      { address: TRON_2, currency: 'TRX' },
    ]);
  });

  it('uses the last named currency that fits the address', () => {
    const text = `Bitcoin: ${BTC}; ${SEGWIT}. Ethereum ${ETH}, USDT wallet ${TRON}. Digital Currency Address - XBT ${BTC}.`;
    expect(findWallets(text)).toEqual([
      { address: BTC, currency: 'XBT' },
      { address: SEGWIT, currency: 'XBT' },
      { address: ETH, currency: 'ETH' },
      { address: TRON, currency: 'USDT' },
    ]);
    expect(findWallets(`crypto wallet ${TRON}`)).toEqual([{ address: TRON, currency: null }]);
    // A currency is ignored if the address cannot be on its chain.
    expect(findWallets(`Bitcoin and more: ${ETH}`)).toEqual([{ address: ETH, currency: null }]);
  });

  it.each([
    ['(0x…)', `(${ETH})`],
    ['quoted', `'${ETH}'`],
    ['after a colon', `address:${ETH}`],
    ['after a dash', `USDT-${ETH}`],
    ['at the end of a sentence', `Pays to ${ETH}.`],
    ['in an explorer URL', `https://etherscan.io/address/${ETH}`],
  ])('finds an address %s', (_, text) => expect(findWallets(text).map((one) => one.address)).toEqual([ETH]));

  it('requires a word about crypto near an address without a checksum', () => {
    expect(findWallets(`Solana wallet: ${SOL}`)).toEqual([{ address: SOL, currency: 'SOL' }]);
    expect(findWallets(`Registration ${SOL}`)).toEqual([]);
    expect(findWallets(`wallet https://example.org/watch?v=${SOL}`)).toEqual([]);
  });

  it.each([
    ['a passport', 'Passport 4005504207 (Russia); Identification Number 210302198701102136'],
    ['a phone number', 'Phone Number 8613314257947; +7 (495) 620-69-39'],
    [
      'a transaction hash',
      'tx 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060 in a wallet',
    ],
    [
      'a bare hash',
      'SHA-256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855, MD5 d41d8cd98f00b204e9800998ecf8427e',
    ],
    ['an IBAN', 'IBAN DE89370400440532013000DE89370400, crypto wallet'],
    ['a long word', 'Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft2'],
    ['a mistyped address', `Bitcoin wallet ${BTC.slice(0, -1)}R, TRON ${TRON.slice(0, -1)}Z`],
    ['a UNC link', 'https://www.interpol.int/en/How-we-work/Notices/View-UN-Notices-Individuals click here'],
  ])('does not take %s for a wallet', (_, text) => expect(findWallets(text)).toEqual([]));

  it('returns a wallet once, and is linear in long noise', () => {
    expect(findWallets(`${BTC} ${BTC} ${BTC}`).length).toBe(1);
    expect(findWallets(`${'a1'.repeat(2_000_000)}`)).toEqual([]);
  });
});

describe('misprinted wallets', () => {
  const party = (remarks: string): DesignatedParty => ({
    type: 'party',
    list: 'UK',
    entityId: '1',
    schema: 'Unknown',
    names: [],
    programs: [],
    birthDates: [],
    countries: [],
    listedAt: null,
    delistedAt: null,
    addresses: [],
    remarks,
    provenance: { file: 'list.xml', line: 7 },
  });
  const rejected = (remarks: string): string[] =>
    [...withUnreadableWallets(party(remarks))]
      .slice(1)
      .map((one) => (one.type === 'reject' ? one.text : 'party'));

  it('are rejected with their position, and not ignored', () => {
    const misprint = `${TRON.slice(0, -1)}Z`;
    expect([...withUnreadableWallets(party(`Crypto wallets: ${TRON}, ${misprint}`))].slice(1)).toEqual([
      {
        type: 'reject',
        reason: 'Looks like a wallet address, but is not valid on any supported chain.',
        text: misprint,
        entityId: '1',
        provenance: { file: 'list.xml', line: 7 },
      },
    ]);
    expect(rejected(`digital currency address bc1q72ud4m6zf5g37jkhc2ty95zm5vel9ufdxquqpn`).length).toBe(1);
    expect(rejected(`Pays to ${ETH.slice(0, -1)}`)).toEqual([ETH.slice(0, -1)]);
  });

  it('are not found in transaction hashes, numbers and links', () => {
    expect(
      rejected(
        'Crypto wallet. tx 0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060, Passport 4005504207, https://example.org/A1b2C3d4E5f6G7h8I9j0K1l2M3n4',
      ),
    ).toEqual([]);
  });
});

describeWithSharedData(
  'the remarks of OFAC, where wallets stand among passports, phones, tickers and links',
  () => {
    const wallets = (parties: readonly DesignatedParty[]): Set<string> =>
      new Set(parties.flatMap((party) => findWallets(party.remarks ?? '').map((one) => one.address)));

    it('yield exactly the listed wallets that are valid', async () => {
      const { parties } = await collect(
        ofacReader,
        ...['sdn', 'add', 'alt', 'sdn_comments'].map((name) => sharedData('ofac', `${name}_2021-07.csv`)),
      );
      const listed = new Set(parties.flatMap((party) => party.addresses.map((one) => one.address)));
      const found = wallets(parties);
      expect([...found].filter((address) => !listed.has(address))).toEqual([]);
      expect([...listed].filter((address) => !found.has(address))).toEqual([
        // A payment id of Monero, an address of an unsupported chain, an Ethereum address of 39 digits.
        '5be5543ff73456ab9f2d207887e2af87322c651ea1a873c5b25b7ffae456c320',
        'GPwg61XoHqQPNmAucFACuQ5H9sGCDv9TpS',
        '0xa7e5d5a720f06526557c513402f2e6b5fa20b00',
      ]);
      expect(parties.flatMap((party) => [...withUnreadableWallets(party)].slice(1)).length).toBe(2);
    });

    it('yield none if the wallets are in fields of their own', async () => {
      const { parties } = await collect(readOfacOnce, MARCH_4);
      expect([...wallets(parties)]).toEqual([]);
      expect(parties.flatMap((party) => [...withUnreadableWallets(party)].slice(1))).toEqual([]);
    });
  },
);
