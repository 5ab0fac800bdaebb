import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Transfer } from '../../src/chains/transfer.ts';
import { ethereumEtlReader } from '../../src/graph/ingest/ethereum-etl.ts';
import { ingestFiles } from '../../src/graph/ingest/ingest-files.ts';
import { readRows } from '../../src/graph/ingest/rows.ts';
import { openTransferStore } from '../../src/graph/store.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-etl-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const lines = (name: string, rows: readonly object[]): string =>
  file(name, rows.map((row) => JSON.stringify(row)).join('\n'));

/** Reads the transfers of files, and the reasons for rejected rows. */
async function read(
  ...files: string[]
): Promise<{ transfers: Transfer[]; faults: string[]; ignored: number }> {
  const reader = await ethereumEtlReader({ chain: 'ETH', files });
  const transfers: Transfer[] = [];
  const faults: string[] = [];
  let ignored = 0;
  for (const path of files) {
    for await (const row of readRows(path)) {
      if (!row.ok) continue;
      try {
        const transfer = reader(row.fields);
        if (transfer) transfers.push(transfer);
        else ignored++;
      } catch (error) {
        faults.push((error as Error).message);
      }
    }
  }
  return { transfers, faults, ignored };
}

const A = '0x00000000219ab540356cBB839Cbe05303d7705Fa';
const B = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const C = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
const hash = (digit: string): string => `0x${digit.repeat(64)}`;
const trace = (fields: object): object => ({
  block_number: 10,
  block_timestamp: 1_683_029_999,
  transaction_hash: hash('1'),
  transaction_index: 0,
  from_address: A.toLowerCase(),
  to_address: B.toLowerCase(),
  value: 7,
  trace_type: 'call',
  call_type: 'call',
  reward_type: null,
  trace_address: '0',
  error: null,
  status: 1,
  ...fields,
});

describe('internal traces', () => {
  it('move value by calls, creations and self-destructs, each at its path', async () => {
    const { transfers } = await read(
      lines('traces.json', [
        trace({ trace_address: '', value: 100 }),
        trace({ trace_address: '0' }),
        trace({ trace_address: '0,2', trace_type: 'create', call_type: null, to_address: C.toLowerCase() }),
        trace({ trace_address: [0, 2, 1], trace_type: 'suicide', call_type: null, value: 3 }),
      ]),
    );
    expect(transfers.map(({ position, amount, to }) => [position, amount, to])).toEqual([
      ['value', 100n, B],
      ['trace:0', 7n, B],
      ['trace:0_2', 7n, C],
      ['trace:0_2_1', 3n, B],
    ]);
    expect(transfers[0]).toMatchObject({
      asset: 'ETH',
      decimals: 18,
      from: A,
      timestampMs: 1_683_029_999_000,
      valueUsd: null,
    });
  });

  it('exclude delegated, static and code calls, and calls without value', async () => {
    const { transfers, ignored } = await read(
      lines('traces.json', [
        trace({ call_type: 'delegatecall', value: 1_000 }),
        trace({ call_type: 'staticcall' }),
        trace({ call_type: 'callcode' }),
        trace({ value: 0 }),
      ]),
    );
    expect(transfers).toEqual([]);
    expect(ignored).toBe(4);
  });

  it('exclude reverted calls, by the status of the row', async () => {
    const { transfers } = await read(
      lines('traces.json', [
        trace({ trace_address: '', status: 1 }),
        trace({ trace_address: '0', status: 0, error: 'Reverted' }),
        trace({ trace_address: '0,0', status: 0 }),
        trace({ trace_address: '1' }),
      ]),
    );
    expect(transfers.map(({ position }) => position)).toEqual(['value', 'trace:1']);
  });

  it('revert the calls below a failed one if rows have no status', async () => {
    const bare = (trace_address: string, more: object = {}): object =>
      trace({ trace_address, status: undefined, ...more });
    const { transfers } = await read(
      lines('traces.json', [
        bare('', { value: 0 }),
        bare('0', { error: 'Reverted' }),
        bare('0,0'),
        bare('0,0,1'),
        bare('01'),
        bare('1'),
        // The same path in another transaction did not fail.
        bare('0,0', { transaction_hash: hash('2') }),
      ]),
    );
    expect(transfers.map(({ txHash, position }) => `${txHash.slice(2, 3)} ${position}`)).toEqual([
      '1 value',
      '1 trace:01',
      '1 trace:1',
      '2 trace:0_0',
    ]);
  });

  it('revert all of a failed transaction, and keep it as a contact', async () => {
    const { transfers } = await read(
      lines('traces.json', [
        trace({ trace_address: '', status: 0, error: 'Out of gas', value: 55 }),
        trace({ status: 0 }),
      ]),
    );
    expect(transfers.map(({ position, amount }) => [position, amount])).toEqual([['value', 0n]]);
    const bare = [trace({ trace_address: '', status: undefined, value: 55 }), trace({ status: undefined })];
    const receipts = {
      transaction_hash: hash('1'),
      cumulative_gas_used: 5,
      status: 0,
      contract_address: null,
    };
    const found = await read(lines('bare.json', bare), lines('receipts.json', [receipts]));
    expect(found.transfers.map(({ position, amount }) => [position, amount])).toEqual([['value', 0n]]);
  });

  it('count a transaction and its outermost call once', async () => {
    const transaction = {
      hash: hash('1'),
      from_address: A,
      to_address: B,
      value: '100',
      block_number: 10,
      block_timestamp: 1_683_029_999,
      receipt_status: 1,
    };
    const files = [
      lines('transactions.json', [transaction]),
      lines('traces.json', [trace({ trace_address: '', value: '100' }), trace({ trace_address: '0' })]),
    ];
    const store = openTransferStore({ path: join(folder, 'graph'), readOnly: false });
    const report = await ingestFiles({ format: 'ethereum-etl', files, chain: 'ETH' }, { store });
    await store.close();
    expect(report).toMatchObject({ stored: 2, duplicates: 1, rejected: 0 });
  });

  it('assign rewards to miners, and the genesis balances to their owners', async () => {
    const reward = (more: object): object =>
      trace({
        trace_type: 'reward',
        call_type: null,
        transaction_hash: null,
        from_address: null,
        trace_address: '',
        ...more,
      });
    const { transfers } = await read(
      lines('traces.json', [
        reward({ reward_type: 'block', value: '5000000000000000000' }),
        reward({ reward_type: 'uncle', value: 4 }),
        reward({ reward_type: 'uncle', value: 4 }),
        reward({ reward_type: 'block', block_number: 11 }),
        reward({ trace_type: 'genesis', reward_type: null, block_number: 0, value: 9 }),
        trace({
          trace_type: 'daofork',
          call_type: null,
          transaction_hash: null,
          block_number: 1_920_000,
          value: 9,
        }),
      ]),
    );
    expect(transfers.map(({ from, position }) => [from, position])).toEqual([
      [null, 'reward:block'],
      [null, 'reward:uncle:0'],
      [null, 'reward:uncle:1'],
      [null, 'reward:block'],
      [null, `genesis:${B.toLowerCase()}`],
      [A, `daofork:${A.toLowerCase()}`],
    ]);
    expect(new Set(transfers.map(({ txHash }) => txHash)).size).toBe(4);
    expect(transfers[0]?.amount).toBe(5_000_000_000_000_000_000n);
  });

  it('name the deepest calls within the limit of positions', async () => {
    const deep = Array.from({ length: 60 }, (_, at) => at).join(',');
    const { transfers } = await read(
      lines('traces.json', [trace({ trace_address: deep }), trace({ trace_address: `${deep},1` })]),
    );
    expect(transfers.every(({ position }) => position.length <= 64)).toBe(true);
    expect(new Set(transfers.map(({ position }) => position)).size).toBe(2);
  });

  it('are read from CSV too', async () => {
    const header =
      'block_number,transaction_hash,transaction_index,from_address,to_address,value,input,output,trace_type,call_type,reward_type,gas,gas_used,subtraces,trace_address,error,status,trace_id';
    const rows = [
      `10,${hash('1')},0,${A.toLowerCase()},${B.toLowerCase()},1000000000000000000000,0x,0x,call,call,,1,1,1,,,1,x`,
      `10,${hash('1')},0,${B.toLowerCase()},${C.toLowerCase()},5,0x,0x,call,call,,1,1,0,"0,1",,1,y`,
      `10,${hash('1')},0,${B.toLowerCase()},${C.toLowerCase()},5,0x,0x,call,delegatecall,,1,1,0,"0,2",,1,z`,
    ];
    const blocks = 'number,hash,timestamp\n10,0xaa,1683029999\n';
    const { transfers, faults } = await read(
      file('traces.csv', [header, ...rows].join('\n')),
      file('blocks.csv', blocks),
    );
    expect(faults).toEqual([]);
    expect(transfers.map(({ position, amount }) => [position, amount])).toEqual([
      ['value', 1_000_000_000_000_000_000_000n],
      ['trace:0_1', 5n],
    ]);
  });

  it('are rejected if they cannot be read', async () => {
    const { faults, transfers } = await read(
      lines('traces.json', [
        trace({ transaction_hash: null }),
        trace({ trace_type: 'teleport' }),
        trace({ trace_address: '0,x' }),
        trace({ value: -5 }),
        trace({ trace_type: 'reward', to_address: null }),
      ]),
    );
    expect(transfers).toEqual([]);
    expect(faults).toHaveLength(5);
    expect(faults[1]).toContain('teleport');
  });
});

describe('tokens', () => {
  const moved = (more: object): object => ({
    token_address: C.toLowerCase(),
    from_address: A.toLowerCase(),
    to_address: B.toLowerCase(),
    value: '4711',
    transaction_hash: hash('3'),
    log_index: 4,
    block_number: 10,
    block_timestamp: 1_683_029_999,
    ...more,
  });

  it.each([
    [{ token_type: 'ERC-721' }, 1n, 0],
    [{ token_standard: 'erc721' }, 1n, 0],
    [{ is_erc721: 'True' }, 1n, 0],
    [{ token_type: 'ERC-1155' }, 4711n, 0],
    [{ token_type: 'ERC-20' }, 4711n, 18],
    [{}, 4711n, 18],
  ])('%j moves %s', async (more, amount, decimals) => {
    const { transfers } = await read(lines('moved.json', [moved(more)]));
    expect(transfers[0]).toMatchObject({ amount, decimals, position: 'log:4', asset: C });
  });

  it('are distinguished by the contracts file, and have the decimals of the tokens file', async () => {
    const contracts = {
      address: C.toLowerCase(),
      bytecode: '0x',
      is_erc20: 'False',
      is_erc721: 'True',
      block_number: 1,
    };
    const pieces = await read(lines('moved.json', [moved({})]), lines('contracts.json', [contracts]));
    expect(pieces.transfers[0]).toMatchObject({ amount: 1n, decimals: 0 });
    const tokens =
      'address,symbol,name,decimals,total_supply,block_number\n' +
      `${C.toLowerCase()},WETH,Wrapped Ether,18,1,1\n`;
    const found = await read(lines('moved.json', [moved({})]), file('tokens.csv', tokens));
    expect(found.transfers[0]).toMatchObject({ amount: 4711n, decimals: 18 });
    expect(found.ignored).toBe(1);
  });

  it('of one batch are separate transfers', async () => {
    const { transfers } = await read(
      lines('moved.json', [
        moved({ token_type: '1155', batch_index: 0 }),
        moved({ token_type: '1155', batch_index: 1 }),
      ]),
    );
    expect(transfers.map(({ position }) => position)).toEqual(['log:4:0', 'log:4:1']);
  });
});

describe('the sender of the transaction of a transfer', () => {
  const word = (value: string): string => value.replace(/^0x/, '').toLowerCase().padStart(64, '0');
  const moved = {
    token_address: C.toLowerCase(),
    from_address: A.toLowerCase(),
    to_address: B.toLowerCase(),
    value: '4711',
    transaction_hash: hash('3'),
    log_index: 4,
    block_number: 10,
    block_timestamp: 1_683_029_999,
  };
  const call = (more: object = {}): object => ({
    hash: hash('3'),
    from_address: A.toLowerCase(),
    to_address: C.toLowerCase(),
    value: 0,
    input: `0xa9059cbb${word(B)}${word((4711).toString(16))}`,
    block_number: 10,
    block_timestamp: 1_683_029_999,
    receipt_status: 1,
    ...more,
  });
  const inner = trace({
    transaction_hash: hash('3'),
    trace_type: 'call',
    call_type: 'call',
    trace_address: '0',
    value: 9,
  });
  const startOf = async (transaction: object | null, row: object = moved) => {
    const files = [lines('moved.json', [row]), ...(transaction ? [lines('tx.json', [transaction])] : [])];
    const { transfers, faults } = await read(...files);
    expect(faults).toEqual([]);
    return transfers[0]?.initiation;
  };

  it('is read from the transactions of the same command, in any order of files', async () => {
    expect(await startOf(call())).toEqual({ sender: A, callsAsset: true, decodes: true });
    expect(await startOf(call({ from_address: B }))).toEqual({ sender: B, callsAsset: true, decodes: false });
    expect(await startOf(call({ to_address: B, from_address: B }))).toEqual({
      sender: B,
      callsAsset: false,
      decodes: false,
    });
    expect(await startOf(call({ input: '0xdeadbeef' }))).toEqual({
      sender: A,
      callsAsset: true,
      decodes: false,
    });
    expect(await startOf(call({ input: undefined }))).toEqual({ sender: A, callsAsset: true, decodes: null });
  });

  it('is unknown without them, with a warning', async () => {
    expect(await startOf(null)).toBeNull();
    expect(await startOf(call({ hash: hash('4') }))).toBeNull();
  });

  it('applies to value inside the transaction, and to the transaction itself', async () => {
    expect(await startOf(call({ from_address: B }), inner)).toEqual({
      sender: B,
      callsAsset: null,
      decodes: null,
    });
    const { transfers } = await read(lines('tx.json', [call({ value: 5 })]));
    expect(transfers[0]?.initiation).toEqual({ sender: A, callsAsset: null, decodes: null });
  });
});

describe('receipts', () => {
  it('provide failed transactions and created contracts if transactions do not', async () => {
    const bare = (digit: string, more: object = {}): object => ({
      hash: hash(digit),
      from_address: A,
      to_address: B,
      value: 5,
      block_number: 10,
      block_timestamp: 1_683_029_999,
      ...more,
    });
    const receipts = `transaction_hash,cumulative_gas_used,contract_address,status\n${hash('1')},1,,0\n${hash('2')},1,${C.toLowerCase()},1\n`;
    const { transfers } = await read(
      lines('transactions.json', [bare('1'), bare('2', { to_address: null }), bare('3')]),
      file('receipts.csv', receipts),
    );
    expect(transfers.map(({ amount, to }) => [amount, to])).toEqual([
      [0n, B],
      [5n, C],
      [5n, B],
    ]);
  });
});

describeWithSharedData('real blocks 17173049 and 17173050', () => {
  it('are read completely, in any order of files', async () => {
    const files = ['token_transfers', 'transactions', 'logs', 'blocks'].map((name) =>
      sharedData(`transactions/ethereum/expected_${name}.json`),
    );
    const { transfers, faults } = await read(...files);
    expect(faults).toEqual([]);
    expect(transfers.filter(({ position }) => position === 'value')).toHaveLength(298);
    expect(transfers.filter(({ position }) => position.startsWith('log:'))).toHaveLength(291);
    const values = readFileSync(files[1] as string, 'utf8')
      .trim()
      .split('\n')
      .map((text) => /"value": (\d+)/.exec(text)?.[1]);
    const sum = values.reduce((total, value) => total + BigInt(value ?? 0), 0n);
    const statuses = readFileSync(files[1] as string, 'utf8')
      .trim()
      .split('\n')
      .map((text) => /"receipt_status": (\d)/.exec(text)?.[1]);
    const failed = values.reduce(
      (total, value, at) => (statuses[at] === '0' ? total + BigInt(value ?? 0) : total),
      0n,
    );
    const read298 = transfers.reduce(
      (total, { position, amount }) => (position === 'value' ? total + amount : total),
      0n,
    );
    expect(read298).toBe(sum - failed);
  });
});
