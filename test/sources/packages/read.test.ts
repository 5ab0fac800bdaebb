import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { shippedData } from '../../../src/base/paths.ts';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import { parseChainId } from '../../../src/chains/registry.ts';
import { CATEGORIES } from '../../../src/labels/taxonomy.ts';
import { packagesFiles, packagesReader } from '../../../src/sources/packages/read.ts';
import { readSource, temporaryFiles } from '../../setup/read-source.ts';

const file = temporaryFiles();

const HEADER =
  '{"package":"@a/b","version":"1.2.3","licence":"MIT","url":"https://a.example","date":"2026-01-02"}';
const ROW =
  '{"chain":"ETH","address":"0xabc","entity":"a","name":"A","url":null,"category":"BRIDGE","tags":["gateway"]}';

describe('labels from npm packages', () => {
  it('name their package, and apply to their own chain only', async () => {
    const { addresses, rejects, headers } = await readSource(
      packagesReader,
      file('a_b.ndjson', `${HEADER}\n${ROW}\n{"chain":"ETH"}\n`),
    );
    expect(headers).toEqual([{ type: 'header', lists: [], publishedAt: '2026-01-02', layout: 'PACKAGES' }]);
    expect(addresses).toHaveLength(1);
    expect(addresses[0]).toMatchObject({
      currency: 'ETH',
      actorId: 'a',
      category: 'BRIDGE',
      isContract: true,
      sourceUrl: 'https://www.npmjs.com/package/@a/b/v/1.2.3',
      lastSeen: '2026-01-02',
    });
    expect(rejects.map(({ provenance }) => provenance.line)).toEqual([3]);
  });

  it('are rejected without their first line', async () => {
    await expect(readSource(packagesReader, file('a_b.ndjson', `${ROW}\n`))).rejects.toMatchObject({
      code: 'INVALID_FILE',
    });
  });

  it('ship with 3,298 addresses, each valid on its chain and only once in its package', async () => {
    const { addresses, rejects } = await readSource(packagesReader, ...(await packagesFiles()));
    expect(rejects).toEqual([]);
    const byFile: Record<string, number> = {};
    const keys = new Set<string>();
    for (const { address, currency, category, provenance } of addresses) {
      byFile[provenance.file] = (byFile[provenance.file] ?? 0) + 1;
      expect(CATEGORIES).toContain(category);
      const parsed = parseAddress(parseChainId(currency as string), address);
      keys.add(`${provenance.file} ${currency} ${parsed.canonical}`);
    }
    expect(byFile).toEqual({
      '0x_contract-addresses.ndjson': 94,
      'axelar-network_axelar-chains-config.ndjson': 207,
      'bgd-labs_aave-address-book.ndjson': 1_532,
      'metamask_contract-metadata.ndjson': 662,
      'safe-global_safe-deployments.ndjson': 727,
      'wormhole-foundation_sdk-base.ndjson': 76,
    });
    expect(keys.size).toBe(addresses.length);
    // Wrapped Ether belongs to none of these, and USDC is a token, whichever protocol lends it.
    const weth = addresses.filter(({ address }) =>
      /^0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2$/i.test(address),
    );
    expect(weth.every(({ category }) => category === 'TOKEN')).toBe(true);
    const usdc = addresses.filter(({ address }) =>
      /^0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48$/i.test(address),
    );
    expect(usdc.map(({ category }) => category)).toEqual(['TOKEN']);
  });

  it('have the licences that the README names', async () => {
    const readme = readFileSync(shippedData('packages', 'README.md'), 'utf8');
    for (const path of await packagesFiles()) {
      const header = JSON.parse(readFileSync(path, 'utf8').split('\n')[0] as string);
      expect(['MIT', 'Apache-2.0', 'ISC']).toContain(header.licence);
      expect(readme).toContain(`| ${header.package} | ${header.version} | ${header.licence} |`);
    }
  });
});
