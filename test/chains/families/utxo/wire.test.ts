/** Transactions as the nodes of each chain write them, with the features that only that chain has. */
import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../../../src/chains/address/parse.ts';
import { ScriptReader } from '../../../../src/chains/bitcoin-script.ts';
import { parseExactJson } from '../../../../src/chains/endpoints/exact-json.ts';
import { checkSums } from '../../../../src/chains/families/utxo/block-source.ts';
import { outputScriptOf, readNodeTransaction } from '../../../../src/chains/families/utxo/wire.ts';
import type { ChainId } from '../../../../src/chains/registry.ts';
import { knownTransfers } from '../../../../src/graph/utxo/project.ts';

const TXID = 'ab'.repeat(32);
const SPENT = 'cd'.repeat(32);
const P2PKH = `76a914${'11'.repeat(20)}88ac`;

const read = (chain: ChainId, text: string) =>
  readNodeTransaction(chain, new ScriptReader(chain), parseExactJson(text));
const transaction = (parts: { vin?: string; vout?: string; more?: string }): string =>
  `{"txid":"${TXID}","vin":[${parts.vin ?? ''}],"vout":[${parts.vout ?? ''}]${parts.more ?? ''}}`;
const output = (value: string, n: number, hex = P2PKH): string =>
  `{"value":${value},"n":${n},"scriptPubKey":{"hex":"${hex}"}}`;
const input = (more = ''): string => `{"txid":"${SPENT}","vout":3${more}}`;

describe('transactions as node JSON', () => {
  it('keep all digits of an amount, with exponents too', () => {
    const { outputs } = read(
      'BTC',
      transaction({ vin: input(), vout: [output('20999999.97690000', 0), output('1e-8', 1)].join() }),
    );
    expect(outputs.map(({ value }) => value)).toEqual([2_099_999_997_690_000n, 1n]);
  });

  it.each(['-0.5', '"1,5"', '0.000000001', 'null', '1e400', '[1]'])('reject the amount %s', (value) => {
    expect(() => read('BTC', transaction({ vout: output(value, 0) }))).toThrow(
      expect.objectContaining({ code: 'CHAIN_BAD_ANSWER' }),
    );
  });

  it('resolve an input from the node that provides it, and leave it unknown otherwise', () => {
    const prevout = `,"prevout":{"value":1.5,"scriptPubKey":{"hex":"${P2PKH}"}}`;
    const address = new ScriptReader('BTC').read(Buffer.from(P2PKH, 'hex')).address;
    const spent = { txid: SPENT, vout: 3 };
    expect(read('BTC', transaction({ vin: input(prevout) })).inputs).toEqual([
      { ...spent, address, value: 150_000_000n },
    ]);
    expect(read('BTC', transaction({ vin: input() })).inputs).toEqual([
      { ...spent, address: null, value: null },
    ]);
    const dash = new ScriptReader('DASH').read(Buffer.from(P2PKH, 'hex')).address;
    const indexed = `,"address":"${dash}","valueSat":7,"value":0.00000007`;
    expect(read('DASH', transaction({ vin: input(indexed) })).inputs).toEqual([
      { ...spent, address: dash, value: 7n },
    ]);
  });

  it('with unknown inputs have no transfers, and do not delay others', () => {
    const body = { chain: 'BTC' as const, blockNumber: 1, indexInBlock: 0, timestampMs: 1_600_000_000_000 };
    const unknown = { ...body, ...read('BTC', transaction({ vin: input(), vout: output('1', 0) })) };
    const prevout = `,"prevout":{"value":1.5,"scriptPubKey":{"hex":"a914${'22'.repeat(20)}87"}}`;
    const known = { ...body, ...read('BTC', transaction({ vin: input(prevout), vout: output('1', 0) })) };
    expect(knownTransfers([unknown])).toEqual([]);
    expect(knownTransfers([unknown, known])).not.toEqual([]);
  });

  it('of Zcash show the value that entered and left each shielded pool', () => {
    const joinsplit = (from: string, into: string): string =>
      `,"vjoinsplit":[{"vpub_old":${from},"vpub_new":${into}}]`;
    const cases: readonly (readonly [string, { in: bigint; out: bigint } | undefined])[] = [
      [joinsplit('2.5', '0.00000000'), { in: 0n, out: 250_000_000n }],
      [joinsplit('0', '1.00000001'), { in: 100_000_001n, out: 0n }],
      [',"valueBalance":-10.00000000,"valueBalanceZat":-1000000000', { in: 0n, out: 1_000_000_000n }],
      [',"valueBalance":0.4', { in: 40_000_000n, out: 0n }],
      [
        ',"orchard":{"actions":[],"valueBalance":0.3,"valueBalanceZat":30000000}',
        { in: 30_000_000n, out: 0n },
      ],
      [`,"valueBalance":-0.25,"orchard":{"valueBalance":0.75}`, { in: 75_000_000n, out: 25_000_000n }],
      [',"vjoinsplit":[],"valueBalance":0.00000000,"orchard":{"valueBalanceZat":0}', undefined],
    ];
    for (const [more, shielded] of cases)
      expect(read('ZEC', transaction({ more })).shielded).toEqual(shielded);
    expect(() => read('ZEC', transaction({ more: ',"valueBalance":"--1"' }))).toThrow(/valueBalance/);
  });

  it('of Dash that pay out of the credit pool do not create money', () => {
    const unlock = read(
      'DASH',
      transaction({
        vout: output('2', 0),
        more: ',"type":9,"assetUnlockTx":{"version":1,"index":4,"fee":190}',
      }),
    );
    expect(unlock).toMatchObject({ isCoinbase: false, shielded: { in: 200_000_190n, out: 0n } });
    expect(() => checkSums(unlock)).not.toThrow();
  });

  it('of Litecoin exclude transfers inside the extension block, and include those that enter and leave it', () => {
    const hidden = '{"ismweb":true,"output_id":"00"}';
    const pegIn = `5920${'33'.repeat(32)}`;
    const body = read(
      'LTC',
      transaction({
        vin: [hidden, input(',"ismweb":false')].join(),
        vout: [hidden, output('4', 1, pegIn)].join(),
      }),
    );
    expect(body.inputs).toHaveLength(1);
    expect(body.outputs).toMatchObject([{ n: 1, value: 400_000_000n, script: 'other' }]);
    expect(parseAddress('LTC', body.outputs[0]!.address!).kind).toBe('witness_v9');
  });

  it('of Bitcoin Cash have addresses with their prefix, of Bitcoin SV the old ones', () => {
    const bch = read('BCH', transaction({ vin: input(), vout: output('1', 0, `aa20${'44'.repeat(32)}87`) }));
    expect(bch.outputs[0]).toMatchObject({ script: 'p2sh' });
    expect(parseAddress('BCH', bch.outputs[0]!.address!).canonical).toBe(bch.outputs[0]!.address);
    const bsv = read(
      'BSV',
      transaction({ vin: input(), vout: `${output('1', 0)},${output('0', 1, '006a0568656c6c6f')}` }),
    );
    expect(bsv.outputs).toMatchObject([
      { script: 'p2pkh', address: expect.stringMatching(/^1/) },
      { script: 'op_return', address: null },
    ]);
  });

  it.each([
    ['an amount', '10fd2027'],
    ['a unique token', '20'],
    ['a unique token with contents and an amount', '7203abcdef09'],
    ['an amount of eight bytes', '10ffffffffffffffff7f'],
  ])('of Bitcoin Cash pay the address of an output with tokens: %s', (_, tokens) => {
    const plain = read('BCH', transaction({ vin: input(), vout: output('1', 0, P2PKH) }));
    const holding = `ef${'11'.repeat(32)}${tokens}${P2PKH}`;
    const vout = output('1', 0, holding);
    expect(read('BCH', transaction({ vin: input(), vout })).outputs).toEqual(plain.outputs);
    expect(read('BTC', transaction({ vin: input(), vout })).outputs[0]).toMatchObject({ address: null });
    // A truncated prefix, or one that declares no tokens, is a script like any other.
    for (const odd of [holding.slice(0, 60), holding.slice(0, 68), `ef${'11'.repeat(32)}00${P2PKH}`, 'ef'])
      expect(read('BCH', transaction({ vin: input(), vout: output('1', 0, odd) })).outputs[0]).toMatchObject({
        address: null,
        script: 'other',
      });
  });

  it('that pay more than their inputs are rejected', () => {
    const prevout = `,"prevout":{"value":1,"scriptPubKey":{"hex":"${P2PKH}"}}`;
    const body = read('BTC', transaction({ vin: input(prevout), vout: output('1.00000001', 0) }));
    expect(() => checkSums(body)).toThrow(expect.objectContaining({ code: 'CHAIN_BAD_ANSWER' }));
  });
});

it.each([
  ['BTC', '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2'],
  ['BTC', '3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy'],
  ['BTC', 'bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq'],
  ['BTC', 'bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3'],
  ['BTC', 'bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0'],
  ['BTC', 'bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y'],
  ['BCH', 'bitcoincash:qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a'],
  ['LTC', 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9'],
] as const)('%s: pays the output script of %s', (chain, text) => {
  const { key, canonical } = parseAddress(chain, text);
  const script = Buffer.from(outputScriptOf(key)!);
  expect(new ScriptReader(chain).read(script).address).toBe(canonical);
});
