import { describe, expect, it } from 'vitest';
import { freshnessOf, type ListChecks, staleListAdvice } from '../../src/labels/freshness.ts';

const NOW = Date.UTC(2026, 10, 21);
const fresh = { checkedAt: '2026-11-20T10:00:00.000Z', publishedAt: '2026-11-01', records: 10 };
const ALL: ListChecks = { OFAC_SDN: fresh, OFAC_CONS: fresh, EU: fresh, UN: fresh, UK: fresh, CH: fresh };

describe('missing or stale lists', () => {
  it('are named one by one, without the fresh list of the same publisher', () => {
    const { staleLists, stale } = freshnessOf(
      { ...ALL, OFAC_CONS: { ...fresh, checkedAt: '2026-11-01' } },
      NOW,
      7,
    );
    expect(stale).toEqual(['US']);
    expect(staleLists).toEqual([{ list: 'OFAC_CONS', group: 'US', checkedAt: '2026-11-01' }]);
  });

  it('are reported with the command that updates them', () => {
    const { CH: _, ...withoutCh } = ALL;
    const { staleLists } = freshnessOf(
      { ...withoutCh, OFAC_CONS: { ...fresh, checkedAt: '2026-11-01' } },
      NOW,
      7,
    );
    const [cons, ch, ...more] = staleListAdvice(staleLists);
    expect(cons).toMatch(
      /OFAC_CONS .*2026-11-01.*`assay sync ofac`.*`assay lists attest OFAC_CONS --checked/,
    );
    expect(ch).toMatch(/CH .*never loaded.*`assay sync ch`.*`assay import ch FILE --checked/);
    expect(more).toEqual([]);
  });

  it('are empty if all are fresh', () => {
    expect(staleListAdvice(freshnessOf(ALL, NOW, 7).staleLists)).toEqual([]);
  });
});
