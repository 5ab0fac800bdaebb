/** What the pages say about the query of a link. */
import { describe, expect, it } from 'vitest';
import { PATHS } from '../src/paths.ts';
import { checkLink } from '../src/shell/link-check.ts';

const CHAINS = [
  { id: 'ETH', monitored: true },
  { id: 'BTC', monitored: false },
];
const kinds = (path: string, search: Record<string, string>) =>
  checkLink(path, search, CHAINS).map(({ field, kind }) => `${field} ${kind}`);

describe('the query of a link', () => {
  it('accepts what the pages write themselves', () => {
    expect(
      kinds(PATHS.screening, {
        asOf: '2026-02-28',
        jurisdiction: 'DE',
        taint: 'poison',
        hops: '5',
        tab: 'legal',
      }),
    ).toEqual([]);
    expect(kinds(PATHS.screening, { 'exposure.sort': '-usd', 'exposure.only.category': 'MIXER' })).toEqual(
      [],
    );
    expect(kinds(PATHS.trace, { min: '0.5', since: '2026-01-01', from: 'file', target: 'any' })).toEqual([]);
    expect(kinds(PATHS.cases, { status: 'OPEN,IN_REVIEW,ESCALATED', address: 'a', chain: 'BTC' })).toEqual(
      [],
    );
    expect(kinds(PATHS.wallets, { chain: 'ETH', address: 'a', label: 'b', deleted: '' })).toEqual([]);
    expect(kinds(PATHS.home, {})).toEqual([]);
  });

  it.each([
    [PATHS.screening, { asOf: 'garbage' }, 'asOf day'],
    [PATHS.screening, { asOf: '2026-02-30' }, 'asOf day'],
    [PATHS.screening, { asof: '2026-02-28' }, 'asof unknown'],
    [PATHS.screening, { jurisdiction: 'de' }, 'jurisdiction country'],
    [PATHS.screening, { hops: '6' }, 'hops oneOf'],
    [PATHS.screening, { tab: 'exposures' }, 'tab oneOf'],
    [PATHS.trace, { hops: '5' }, 'hops oneOf'],
    [PATHS.trace, { min: '1,000' }, 'min number'],
    [PATHS.alerts, { status: 'OPEN' }, 'status oneOf'],
    [PATHS.cases, { address: 'a' }, 'address needs'],
    [PATHS.cases, { address: 'a', chain: 'EHT' }, 'chain oneOf'],
    [PATHS.wallets, { chain: 'BTC' }, 'chain oneOf'],
    [PATHS.home, { constructor: '1' }, 'constructor noFields'],
  ])('of %s names what is wrong in %o', (path, search, problem) => {
    expect(kinds(path, search)).toEqual([problem]);
  });
});
