import { describe, expect, it } from 'vitest';
import { scamsReader } from '../../../src/sources/scams/read.ts';
import { readSource, temporaryFiles } from '../../setup/read-source.ts';
import { describeWithSharedData, sharedData } from '../../setup/shared-data.ts';

const file = temporaryFiles();

describe('the lists of scams', () => {
  it('name a contract and its creator', async () => {
    const header =
      'contract_address,contract_tag,contract_creator,contract_creation_tx,contract_creator_tag,source,notes,contract_creator_etherscan_label';
    const path = file(
      'x.csv',
      `${header}\n0xc,,0xd,0xt,Some Exploiter,list,,heist\n0xe,Tag,,,,list,A hack,\n`,
    );
    const { addresses, headers } = await readSource(scamsReader, path);
    expect(headers[0]?.layout).toBe('MALICIOUS_SMART_CONTRACTS');
    expect(
      addresses.map(({ address, actorName, concepts, tags, isContract }) => ({
        address,
        actorName,
        concepts,
        tags,
        isContract,
      })),
    ).toEqual([
      {
        address: '0xc',
        actorName: 'Some Exploiter',
        concepts: ['heist', 'malicious_smart_contract'],
        tags: ['malicious contract'],
        isContract: true,
      },
      {
        address: '0xd',
        actorName: 'Some Exploiter',
        concepts: ['heist', 'malicious_smart_contract'],
        tags: ['creator of a malicious contract'],
        isContract: null,
      },
      {
        address: '0xe',
        actorName: 'Tag',
        concepts: ['malicious_smart_contract'],
        tags: ['malicious contract', 'A hack'],
        isContract: true,
      },
    ]);
  });

  it('say whether an address is a contract, if they know', async () => {
    const path = file(
      'x.csv',
      'address,etherscan_tag,etherscan_labels,is_contract\n0xa,Fake_Phishing1,phish-hack,False\n0xb,,phish-hack,True\n0xc,x,phish-hack,\n,x,y,True\n0xd,x\n',
    );
    const { addresses, rejects } = await readSource(scamsReader, path);
    expect(addresses.map(({ actorName, isContract }) => [actorName, isContract])).toEqual([
      ['Fake_Phishing1', false],
      ['phish-hack', true],
      ['x', null],
    ]);
    expect(rejects.map(({ provenance, reason }) => [provenance.line, reason])).toEqual([
      [5, 'address: is empty.'],
      [6, 'The row has 2 cells; expected 4.'],
    ]);
  });

  it('of an unknown layout are rejected with the known ones', async () => {
    await expect(readSource(scamsReader, file('x.csv', 'a,b\n'))).rejects.toMatchObject({
      code: 'INVALID_FILE',
      message: expect.stringContaining('banned_address,wallet_tag,data_source'),
    });
  });
});

describeWithSharedData('the published lists of scams', () => {
  it.each([
    ['phishing_scams.csv', 'PHISHING_SCAMS', 6_726, { 'phish-hack': 6_726 }],
    [
      'malicious_smart_contracts.csv',
      'MALICIOUS_SMART_CONTRACTS',
      1_506,
      { 'phish-hack': 1_186, exploit: 152, heist: 80, malicious_smart_contract: 88 },
    ],
    [
      'etherscan_malicious_labels.csv',
      'ETHERSCAN_MALICIOUS_LABELS',
      7_780,
      { 'phish-hack': 7_570, exploit: 139, heist: 71 },
    ],
  ])('%s', async (name, layout, count, byConcept) => {
    const { addresses, rejects, headers } = await readSource(scamsReader, sharedData('scams', name));
    expect(headers).toEqual([{ type: 'header', lists: [], publishedAt: null, layout }]);
    expect(rejects).toEqual([]);
    expect(addresses).toHaveLength(count);
    const counts: Record<string, number> = {};
    for (const { concepts } of addresses)
      counts[concepts[0] as string] = (counts[concepts[0] as string] ?? 0) + 1;
    expect(counts).toEqual(byConcept);
    expect(addresses.every(({ address }) => /^0x[0-9a-fA-F]{40}$/.test(address))).toBe(true);
    expect(addresses.every(({ actorName }) => actorName !== '')).toBe(true);
  });

  it('are read together', async () => {
    const paths = ['phishing_scams.csv', 'etherscan_malicious_labels.csv'].map((name) =>
      sharedData('scams', name),
    );
    const { addresses, headers } = await readSource(scamsReader, ...paths);
    expect(addresses).toHaveLength(6_726 + 7_780);
    expect(headers.map(({ layout }) => layout)).toEqual(['ETHERSCAN_MALICIOUS_LABELS+PHISHING_SCAMS']);
  });
});
