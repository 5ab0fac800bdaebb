import { describe, expect, it } from 'vitest';
import { detectCoinJoin } from '../../../src/graph/cluster/coinjoin.ts';
import { address, type Party, pays, transaction } from './transactions.ts';

const wpkh = (number: number): string => address('p2wpkh', number);
const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

/** A Whirlpool round: `size` inputs and outputs of the pool value, `remixed` of the inputs from an earlier round. */
const whirlpool = (pool: number, size: number, remixed: number, extra = 30_000) =>
  transaction({
    inputs: range(size).map((at) => pays(wpkh(at), at < remixed ? pool : pool + extra)),
    outputs: range(size).map((at) => pays(wpkh(100 + at), pool)),
  });

/** A ZeroLink transaction: `count` participants of the denomination, one change output each, and the coordinator's fee. */
const wasabi1 = (count: number, base: number, blockNumber = 620_000) => ({
  inputs: range(count).map((at) => pays(wpkh(at), base + 1_000_000 + at * 7_919)),
  outputs: [
    ...range(count).map((at) => pays(wpkh(200 + at), base)),
    ...range(count).map((at) => pays(wpkh(400 + at), 950_000 + at * 7_919)),
    pays(wpkh(999), 313_131),
  ],
  blockNumber,
});

/** A WabiSabi transaction: inputs and outputs by falling value, nearly all outputs of a standard denomination. */
function wasabi2(inputs: number, outputs: number, oddOutputs: number, blockNumber = 800_000) {
  const denominations = [
    134_217_728, 50_000_000, 43_046_721, 20_000_000, 8_388_608, 1_062_882, 100_000, 5_000,
  ];
  const values = range(outputs).map((at) =>
    at < oddOutputs ? 7_777_777 + at * 13 : (denominations[at % denominations.length] as number),
  );
  return transaction({
    inputs: range(inputs).map((at) =>
      pays(at % 5 === 0 ? address('p2tr', at) : wpkh(at), 90_000_000 - at * 12_345),
    ),
    outputs: values
      .sort((a, b) => b - a)
      .map((value, at) => pays(at % 2 === 0 ? address('p2tr', 1_000 + at) : wpkh(1_000 + at), value)),
    blockNumber,
  });
}

/**
 * A JoinMarket transaction: makers and a taker of one script type, equal payments, one change output each (none for a taker that sweeps).
 */
function joinMarket(
  count: number,
  takerSweeps: boolean,
  form: 'p2wpkh' | 'p2pkh' = 'p2wpkh',
): {
  inputs: Party[];
  outputs: Party[];
} {
  const amount = 23_456_789;
  const inputs: Party[] = [];
  const outputs: Party[] = [];
  for (let at = 0; at < count; at++) {
    const isTaker = at === 0;
    const own = isTaker && takerSweeps ? amount + 4_000 : amount + 3_000_000 * (at + 1) + at * 977;
    // Two inputs per participant, as a wallet would combine them.
    inputs.push(pays(address(form, at * 2), Math.floor(own / 3)));
    inputs.push(pays(address(form, at * 2 + 1), own - Math.floor(own / 3)));
    outputs.push(pays(isTaker ? address('p2sh', 500) : address(form, 500 + at), amount));
    const change = own - amount + (isTaker ? -4_000 : 500);
    if (change > 1_000) outputs.push(pays(address(form, 700 + at), change));
  }
  return { inputs, outputs };
}

describe('CoinJoin detection by protocol', () => {
  it.each([100_000, 1_000_000, 5_000_000, 50_000_000])('recognises Whirlpool of the pool %i', (pool) => {
    for (const remixed of [1, 2, 3])
      expect(detectCoinJoin(whirlpool(pool, 5, remixed))).toEqual({ kind: 'WHIRLPOOL', confidence: 0.99 });
  });

  it('recognises Whirlpool with more than five participants', () => {
    expect(detectCoinJoin(whirlpool(5_000_000, 8, 5))?.kind).toBe('WHIRLPOOL');
  });

  it('recognises Wasabi 1.0', () => {
    expect(detectCoinJoin(transaction(wasabi1(20, 10_023_000)))).toEqual({
      kind: 'WASABI_1_0',
      confidence: 0.95,
    });
  });

  it('recognises Wasabi 1.0 of the first months, by its coordinator', () => {
    const early = wasabi1(5, 15_500_000, 540_000);
    early.outputs[early.outputs.length - 1] = pays('bc1qs604c7jv6amk4cxqlnvuxv26hv3e48cds4m0ew', 313_131);
    expect(detectCoinJoin(transaction(early))).toEqual({ kind: 'WASABI_1_0', confidence: 0.99 });
  });

  it('recognises Wasabi 1.1, whose levels double the denomination', () => {
    const { inputs, outputs, blockNumber } = wasabi1(20, 10_023_000);
    const levels = [2, 4].flatMap((times) =>
      range(3).map((at) => pays(wpkh(5_000 + times * 10 + at), 10_023_000 * times)),
    );
    const whales = range(6).map((at) => pays(wpkh(6_000 + at), 45_000_000 + at * 31));
    const found = detectCoinJoin(
      transaction({ inputs: [...inputs, ...whales], outputs: [...outputs, ...levels], blockNumber }),
    );
    expect(found?.kind).toBe('WASABI_1_1');
  });

  it.each([10, 12, 15])('recognises Wasabi 1.1 if the second level has %i outputs like the base', (count) => {
    const base = 10_023_000;
    const { inputs, outputs, blockNumber } = wasabi1(count, base);
    const level = range(count).map((at) => pays(wpkh(5_000 + at), base * 2));
    const whales = range(count).map((at) => pays(wpkh(6_000 + at), base * 2 + 500_000 + at * 31));
    const round = { inputs: [...inputs, ...whales], outputs: [...outputs, ...level], blockNumber };
    expect(detectCoinJoin(transaction(round))).toEqual({ kind: 'WASABI_1_1', confidence: 0.95 });
  });

  it('recognises the Tx0 that prepares a Whirlpool round', () => {
    const outputs = [
      pays(null, 0),
      pays(wpkh(900), 50_000),
      ...range(6).map((at) => pays(wpkh(100 + at), 1_000_000 + 30_200)),
      pays(wpkh(901), 423_456),
    ];
    const inputs = [pays(wpkh(1), 6_700_000)];
    expect(detectCoinJoin(transaction({ inputs, outputs }))).toEqual({
      kind: 'WHIRLPOOL_TX0',
      confidence: 0.9,
    });
    const early = transaction({ inputs, outputs, blockNumber: 560_000 });
    expect(detectCoinJoin(early)).toBeNull();
    const exact = outputs.map((output) =>
      output.value === 1_030_200n ? pays(output.address, 1_000_000) : output,
    );
    expect(detectCoinJoin(transaction({ inputs, outputs: exact }))).toBeNull();
  });

  it('recognises the standard denominations of Wasabi 2.0', () => {
    // Powers of 2, of 3 and their doubles, and the 1-2-5 series, as WalletWasabi's DenominationBuilder makes them.
    const standard = [
      137_438_953_472, 100_000_000_000, 20_000_000_000, 10_460_353_203, 6_973_568_802, 2_147_483_648,
      500_000_000, 387_420_489, 258_280_326, 134_217_728, 86_093_442, 33_554_432, 14_348_907, 9_565_938,
      1_048_576, 354_294, 65_536, 50_000, 19_683, 13_122, 8_192, 6_561, 5_000,
    ];
    const tx = transaction({
      inputs: range(60).map((at) => pays(wpkh(at), 9_000_000_000 - at * 12_345)),
      outputs: standard.flatMap((value, at) => [
        pays(wpkh(1_000 + at), value),
        pays(address('p2tr', 2_000 + at), value),
      ]),
    });
    expect(detectCoinJoin(tx)).toEqual({ kind: 'WASABI_2_0', confidence: 0.97 });
  });

  it('recognises Wasabi 2.0, large and small', () => {
    expect(detectCoinJoin(wasabi2(60, 100, 8))).toEqual({ kind: 'WASABI_2_0', confidence: 0.97 });
    expect(detectCoinJoin(wasabi2(20, 40, 4))).toEqual({ kind: 'WASABI_2_0', confidence: 0.85 });
  });

  it.each([3, 5, 8])('recognises JoinMarket of %i participants, the taker with change', (count) => {
    expect(detectCoinJoin(transaction(joinMarket(count, false)))?.kind).toBe('JOINMARKET');
  });

  it('recognises JoinMarket of old wallets, and of a taker without change', () => {
    expect(detectCoinJoin(transaction(joinMarket(4, false, 'p2pkh')))?.kind).toBe('JOINMARKET');
    expect(detectCoinJoin(transaction(joinMarket(4, true)))?.kind).toBe('JOINMARKET');
  });

  it('recognises the general form if no protocol matches: other chains, mixed scripts, two participants', () => {
    const { inputs, outputs } = joinMarket(5, false, 'p2pkh');
    expect(detectCoinJoin(transaction({ inputs, outputs, chain: 'LTC' }))).toEqual({
      kind: 'GENERAL',
      confidence: 0.7,
    });
    const mixed = joinMarket(5, false);
    mixed.inputs[2] = pays(address('p2pkh', 77), mixed.inputs[2]?.value ?? 0n);
    expect(detectCoinJoin(transaction(mixed))?.kind).toBe('GENERAL');
    expect(detectCoinJoin(transaction(joinMarket(2, false)))).toEqual({ kind: 'GENERAL', confidence: 0.4 });
  });

  it('has a lower confidence if the values of inputs are unknown', () => {
    const { inputs, outputs } = joinMarket(5, false);
    const blind = inputs.map(({ address }) => pays(address, null));
    expect(detectCoinJoin(transaction({ inputs: blind, outputs }))).toEqual({
      kind: 'GENERAL',
      confidence: 0.4,
    });
  });
});

describe('CoinJoin detection of similar transactions', () => {
  it('ignores a batch of withdrawals from one hot wallet', () => {
    const outputs = range(60).map((at) =>
      pays(address('p2pkh', at), at % 3 === 0 ? 10_000_000 : 500_000 + at * 991),
    );
    const hot = address('p2sh', 1);
    const inputs = range(25).map(() => pays(hot, 40_000_000));
    expect(detectCoinJoin(transaction({ inputs, outputs }))).toBeNull();
  });

  it('ignores equal withdrawals from many addresses with one change output', () => {
    const inputs = range(12).map((at) => pays(wpkh(at), 15_000_000));
    const outputs = [...range(11).map((at) => pays(wpkh(100 + at), 10_000_000)), pays(wpkh(300), 69_990_000)];
    expect(detectCoinJoin(transaction({ inputs, outputs, blockNumber: 500_000 }))).toBeNull();
  });

  it('ignores a consolidation', () => {
    const inputs = range(120).map((at) => pays(wpkh(at), 5_000_000));
    expect(detectCoinJoin(transaction({ inputs, outputs: [pays(wpkh(500), 599_000_000)] }))).toBeNull();
  });

  it('ignores a payroll of three equal payments and one change output', () => {
    const inputs = [pays(wpkh(1), 40_000_000), pays(wpkh(2), 5_000_000), pays(wpkh(3), 2_000_000)];
    const outputs = [...range(3).map((at) => pays(wpkh(10 + at), 10_000_000)), pays(wpkh(20), 16_990_000)];
    expect(detectCoinJoin(transaction({ inputs, outputs }))).toBeNull();
  });

  it('ignores a payment to two friends', () => {
    const inputs = [pays(wpkh(1), 8_000_000), pays(wpkh(2), 9_000_000)];
    const outputs = [pays(wpkh(3), 5_000_000), pays(wpkh(4), 5_000_000), pays(wpkh(5), 6_990_000)];
    expect(detectCoinJoin(transaction({ inputs, outputs }))).toBeNull();
  });

  it('ignores token transfers that pay dust to many', () => {
    const inputs = range(5).map((at) => pays(wpkh(at), 100_000));
    const outputs = [
      ...range(4).map((at) => pays(wpkh(10 + at), 546)),
      ...range(4).map((at) => pays(wpkh(20 + at), 90_000 + at)),
    ];
    expect(detectCoinJoin(transaction({ inputs, outputs }))).toBeNull();
  });

  it('ignores five equal payments from a wallet of one address', () => {
    const inputs = range(5).map(() => pays(wpkh(1), 1_010_000));
    expect(
      detectCoinJoin(transaction({ inputs, outputs: range(5).map((at) => pays(wpkh(9 + at), 1_000_000)) })),
    ).toBeNull();
  });

  it('ignores the form of a protocol before the protocol existed', () => {
    expect(detectCoinJoin({ ...whirlpool(5_000_000, 5, 2), blockNumber: 500_000 })?.kind).not.toBe(
      'WHIRLPOOL',
    );
    expect(detectCoinJoin(wasabi2(60, 100, 8, 700_000))?.kind).not.toBe('WASABI_2_0');
    expect(detectCoinJoin(transaction(wasabi1(20, 10_023_000, 500_000)))?.kind).not.toBe('WASABI_1_0');
  });

  it('ignores Wasabi 2.0 in another order, or with too few standard outputs', () => {
    const ordered = wasabi2(60, 100, 8);
    const [first, ...rest] = ordered.outputs;
    expect(detectCoinJoin({ ...ordered, outputs: [...rest, first!] })?.kind).not.toBe('WASABI_2_0');
    expect(detectCoinJoin(wasabi2(60, 100, 25))?.kind).not.toBe('WASABI_2_0');
  });

  it('ignores Whirlpool with too large a premix, or with only one kind of input', () => {
    expect(detectCoinJoin(whirlpool(1_000_000, 5, 2, 200_000))?.kind).not.toBe('WHIRLPOOL');
    expect(detectCoinJoin(whirlpool(1_000_000, 5, 5))?.kind).not.toBe('WHIRLPOOL');
  });

  it('ignores a coinbase', () => {
    const tx = transaction({
      inputs: [],
      outputs: range(4).map((at) => pays(wpkh(at), 1_000_000)),
      isCoinbase: true,
    });
    expect(detectCoinJoin(tx)).toBeNull();
  });

  it('is decided in bounded time if no match is found', () => {
    const inputs = range(400).map((at) => pays(wpkh(at), 1_000_003 + ((at * 7_919) % 900_001)));
    const outputs = [
      ...range(150).map((at) => pays(wpkh(1_000 + at), 1_500_000)),
      ...range(150).map((at) => pays(wpkh(2_000 + at), 300_001 + at * 13)),
    ];
    const found = detectCoinJoin(transaction({ inputs, outputs }));
    expect(found === null || found.confidence <= 0.85).toBe(true);
  });
});
