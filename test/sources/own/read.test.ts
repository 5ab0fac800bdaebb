import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../../src/base/paths.ts';
import { OWN_FIELDS, parseOwnHeader } from '../../../src/sources/own/columns.ts';
import { ownReader } from '../../../src/sources/own/read.ts';
import { readSource, temporaryFiles } from '../../setup/read-source.ts';

const file = temporaryFiles();

const HEADER = OWN_FIELDS.join(',');
const ROW =
  '0xAbc,eth,acme,Acme Exchange,exchange,low,0.8,hot; cold,mt,https://acme.example,2020-01-02,2026-01-02T03:04:05Z,https://acme.example/list,no';
const LABEL = {
  type: 'address',
  address: '0xAbc',
  currency: 'eth',
  actorId: 'acme',
  actorName: 'Acme Exchange',
  concepts: [],
  category: 'EXCHANGE',
  threatLevel: 'LOW',
  tags: ['hot', 'cold'],
  confidence: '0.8',
  jurisdiction: 'MT',
  url: 'https://acme.example',
  sourceUrl: 'https://acme.example/list',
  firstSeen: '2020-01-02',
  lastSeen: '2026-01-02',
  isContract: false,
  verified: true,
};

describe('parseOwnHeader', () => {
  it('finds the default columns in any order and letter case', () => {
    const columns = parseOwnHeader('\uFEFFCategory, Chain ,ADDRESS,entity\r\n');
    expect(columns.index).toMatchObject({ category: 0, chain: 1, address: 2, entity: 3, name: -1 });
    expect(columns).toMatchObject({ count: 4, ignored: [] });
  });

  it('maps other names, which take precedence over a column of the same name', () => {
    const columns = parseOwnHeader('Wallet,Net,name,Owner,type,note', {
      wallet: 'address',
      Net: 'chain',
      owner: 'name',
      type: 'category',
    });
    expect(columns.index).toMatchObject({ address: 0, chain: 1, name: 3, category: 4, entity: -1 });
    expect(columns.ignored).toEqual(['name', 'note']);
  });

  it.each([
    ['a,b', {}, /lacks address, chain, entity, category/],
    ['address,chain,category', {}, /lacks entity/],
    ['address;chain;entity;category', {}, / Its columns are separated by semicolons; save it with commas\.$/],
    ['address\tchain\tentity\tcategory', {}, / Its columns are separated by tabs; save it with commas\.$/],
    ['address', {}, /It reads: address\.$/],
    [
      'address,address,chain,entity,category',
      {},
      /columns 1 \('address'\) and 2 \('address'\) both mean address/,
    ],
    ['address,chain,entity,category', { x: 'nonsense' }, /'x' is mapped to 'nonsense', which is not a field/],
    ['"address,chain', {}, /quote/],
  ])('refuses %s', (header, mapping, message) => {
    expect(() => parseOwnHeader(header, mapping)).toThrow(message);
  });
});

describe('own labels', () => {
  it('are read from CSV', async () => {
    const { addresses, rejects, headers } = await readSource(
      ownReader(),
      file('own.csv', `${HEADER}\n${ROW}\n`),
    );
    expect(rejects).toEqual([]);
    expect(headers).toEqual([{ type: 'header', lists: [], publishedAt: null, layout: 'OWN_CSV' }]);
    expect(addresses).toEqual([{ ...LABEL, provenance: { file: 'own.csv', line: 2 } }]);
  });

  it('are read the same from NDJSON, compressed or not', async () => {
    const json = `${JSON.stringify({
      ...Object.fromEntries(OWN_FIELDS.map((field, at) => [field, ROW.split(',')[at]])),
      tags: ['hot', 'cold'],
      confidence: 0.8,
      is_contract: false,
    })}\n`;
    for (const content of [json, gzipSync(json)]) {
      const { addresses, rejects, headers } = await readSource(ownReader(), file('own.ndjson', content));
      expect(rejects).toEqual([]);
      expect(headers[0]?.layout).toBe('OWN_NDJSON');
      expect(addresses).toEqual([{ ...LABEL, provenance: { file: 'own.ndjson', line: 1 } }]);
    }
  });

  it('may use their own column names in both layouts', async () => {
    const reader = ownReader({ mapping: { wallet: 'address', owner: 'name', type: 'category' } });
    const csv = file('own.csv', 'wallet,chain,owner,type,note\n1abc,BTC,Acme,mixer,x\n');
    const ndjson = file(
      'own.ndjson',
      '{"wallet":"1abc","chain":"BTC","owner":"Acme","type":"mixer","note":"x"}\n',
    );
    for (const path of [csv, ndjson]) {
      const { addresses, rejects } = await readSource(reader, path);
      expect(addresses[0]).toMatchObject({
        address: '1abc',
        actorId: null,
        actorName: 'Acme',
        category: 'MIXER',
      });
      expect(rejects.map(({ reason }) => reason)).toEqual(["Columns that mean nothing are ignored: 'note'."]);
    }
  });

  it.each([
    ['address', 'address: is empty.'],
    ['chain', 'chain: is empty.'],
    ['category', 'category: is empty.'],
  ])('without %s are rejects', async (field, reason) => {
    const row = ROW.split(',');
    row[OWN_FIELDS.indexOf(field as never)] = ' ';
    const { addresses, rejects } = await readSource(
      ownReader(),
      file('own.csv', `${HEADER}\n${row}\n${ROW}\n`),
    );
    expect(addresses).toHaveLength(1);
    expect(rejects).toEqual([
      { type: 'reject', reason, text: row.join(','), provenance: { file: 'own.csv', line: 2 } },
    ]);
  });

  it.each([
    ['confidence', '80%', /^confidence: '80%' is not a number from 0 to 1/],
    ['first_seen', '01/02/2020', /^first_seen: .* is not an ISO date/],
    ['url', 'acme.example', /^url: /],
    ['jurisdiction', 'Malta', /^jurisdiction: /],
    ['is_contract', 'maybe', /^is_contract: 'maybe' must be true or false/],
    ['category', 'Exch@nge', /^category: /],
    ['address', 'x'.repeat(600), /^address: is longer/],
    ['name', 'a\u0000b', /^name: contains a control character/],
  ])('with a wrong %s are rejects that name it', async (field, value, reason) => {
    const row = ROW.split(',');
    row[OWN_FIELDS.indexOf(field as never)] = value;
    const { rejects } = await readSource(ownReader(), file('own.csv', `${HEADER}\n${row}\n`));
    expect(rejects[0]?.reason).toMatch(reason);
  });

  it('lose only the line that is invalid', async () => {
    const csv = await readSource(ownReader(), file('own.csv', `${HEADER}\n"open,1\na,b\n${ROW}\n`));
    expect(csv.addresses).toHaveLength(1);
    expect(csv.rejects.map(({ provenance }) => provenance.line)).toEqual([2, 3]);
    const ndjson = await readSource(
      ownReader(),
      file(
        'own.ndjson',
        '{"address":\n[]\n7\n{"address":"1a","chain":"BTC","entity":"x","category":"SCAM"}\n',
      ),
    );
    expect(ndjson.rejects.map(({ provenance }) => provenance.line)).toEqual([1, 2, 3]);
    expect(ndjson.addresses).toHaveLength(1);
  });

  it('are rejected without a header', async () => {
    await expect(readSource(ownReader(), file('own.csv', ''))).rejects.toMatchObject({
      code: 'INVALID_FILE',
    });
    await expect(readSource(ownReader(), file('own.csv', '1,2,3\n'))).rejects.toMatchObject({
      code: 'INVALID_FILE',
    });
  });

  it('are documented by an example that can be read', async () => {
    const doc = readFileSync(join(projectRoot, 'docs', 'own-labels.md'), 'utf8');
    const [csv, ndjson] = ['csv', 'json'].map(
      (kind) => new RegExp(`\`\`\`${kind}\\n([^\`]*)\`\`\``).exec(doc)?.[1] as string,
    );
    const fromCsv = await readSource(ownReader(), file('own.csv', csv as string));
    const fromJson = await readSource(ownReader(), file('own.ndjson', ndjson as string));
    expect([fromCsv.rejects, fromJson.rejects]).toEqual([[], []]);
    expect(fromCsv.addresses).toHaveLength(2);
    expect(fromJson.addresses.map(({ address }) => address)).toEqual(
      fromCsv.addresses.map(({ address }) => address),
    );
    for (const field of OWN_FIELDS) expect(doc).toContain(`| \`${field}\` |`);
  });
});
