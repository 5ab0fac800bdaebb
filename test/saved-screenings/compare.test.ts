/** Comparison of two saved answers: the score line by line, and what a difference follows from. */
import { describe, expect, it } from 'vitest';
import {
  type Comparison,
  compareAnswers,
  type SavedSide,
} from '../../src/saved-screenings/compare/compare.ts';
import { changesOf } from '../../src/saved-screenings/compare/rows.ts';
import type { SavedScreening } from '../../src/saved-screenings/records.ts';

const FACTS: SavedScreening = {
  ...{ id: 'a', accountId: 'acc', kind: 'SCREENING', chain: 'ETH', addresses: ['0x1'] },
  request: { address: '0x1', chain: 'ETH' },
  ...{ riskScore: 40, riskLevel: 'MEDIUM', decision: null },
  ...{ dataVersion: 'd1', policyVersion: 'p1', softwareVersion: '1.0.0' },
  lists: [{ list: 'OFAC_SDN', publishedAt: '2026-11-01', checkedAt: '2026-11-20T00:00:00Z' }],
  ...{ savedAtMs: 0, savedBy: 'key_1', bytes: 10, sha256: '00', storedBytes: 5 },
};
const factor = (name: string, category: string, points: number) => ({
  ...{ factor: name, category, riskType: 'OWNERSHIP', direction: 'both', asset: null, points },
});
const label = (source: string, name: string, confidence = 1) => ({
  ...{ source, chain: 'ETH', entityId: name.toLowerCase(), name, confidence },
});
const exposure = (category: string, percentage: number) => ({
  ...{ direction: 'in', type: 'DIRECT', category, entity: null, asset: null, percentage },
});
const ANSWER = {
  ...{ riskLevel: 'MEDIUM', sanctioned: false, assessed: true, entity: null },
  scoreBreakdown: [factor('OWN_LABEL', 'GAMBLING', 30), factor('DIRECT_EXPOSURE', 'MIXER', 10)],
  sanctionsCheck: { lists: [] },
  entityLabels: [label('own', 'Casino')],
  exposures: [exposure('MIXER', 5), exposure('EXCHANGE', 95)],
  totalTransactions: 10,
  transactionFlow: { inflow: { txCount: 6, valueUsd: 100 }, outflow: { txCount: 4, valueUsd: 50 } },
  coverage: {
    labels: { status: 'COMPLETE', asOf: '2026-11-01' },
    graph: { status: 'COMPLETE', asOf: '2026-11-20' },
    balances: { status: 'COMPLETE', asOf: '2026-11-20T10:00:00Z' },
  },
};
type Facts = Partial<SavedScreening>;
const side = (answer: object = {}, facts: Facts = {}): SavedSide => ({
  screening: { ...FACTS, ...facts },
  answer: { ...ANSWER, ...answer },
});
const causesOf = ({ causes }: Comparison) => causes.map(({ cause }) => cause);
const linesOf = ({ score }: Comparison) =>
  score.lines.map(({ factor: name, before, after, difference, causes }) => [
    ...[name, before, after, difference],
    causes.join(),
  ]);

/** The guarantee of every comparison. */
function expectSums({ score }: Comparison): void {
  const sum = (of: (line: Comparison['score']['lines'][number]) => number): number =>
    score.lines.reduce((total, line) => total + of(line), 0);
  expect([
    sum((line) => line.before ?? 0),
    sum((line) => line.after ?? 0),
    sum((line) => line.difference),
  ]).toEqual([score.before, score.after, score.difference]);
}

it('fields that differ are listed once, those of the earlier answer first, with null where one is missing', () => {
  const changes = changesOf({ a: 1, b: [1], c: null }, { d: 0, c: null, b: [2], e: undefined as never });
  expect(changes).toEqual([
    { field: 'a', before: 1, after: null },
    { field: 'b', before: [1], after: [2] },
    { field: 'd', before: null, after: 0 },
  ]);
  expect(changesOf({ n: 0 }, { n: false }).map(({ before, after }) => [before, after])).toEqual([[0, false]]);
});

describe('a comparison of two screenings', () => {
  it('of equal answers finds nothing, whatever the times of their balances', () => {
    const balances = { status: 'COMPLETE', asOf: '2026-11-21T10:00:00Z' };
    const compared = compareAnswers(
      side(),
      side({ coverage: { ...ANSWER.coverage, balances } }, { id: 'b' }),
    );
    expect(compared).toMatchObject({
      ...{ isChanged: false, causes: [], verdict: [], request: [], lists: [], transfers: [], coverage: [] },
      ...{ flags: null, parties: null, notCompared: [] },
      score: { before: 40, after: 40, difference: 0 },
    });
    expectSums(compared);
  });

  it('names a listing, and attributes the points of each line', () => {
    const entry = { list: 'OFAC_SDN', entityId: 'x', matchType: 'DIRECT', delistedAt: null };
    const compared = compareAnswers(
      side(),
      side(
        {
          ...{ riskLevel: 'CRITICAL', sanctioned: true, sanctionsCheck: { lists: [entry] } },
          scoreBreakdown: [...ANSWER.scoreBreakdown, factor('SANCTIONS_IN_FORCE', 'SANCTIONED_ENTITY', 100)],
        },
        {
          ...{ riskScore: 100, riskLevel: 'CRITICAL', dataVersion: 'd2' },
          lists: [{ list: 'OFAC_SDN', publishedAt: '2026-11-22', checkedAt: '2026-11-23T00:00:00Z' }],
        },
      ),
    );
    expect(compared.sanctions).toEqual({ added: [entry], removed: [], changed: [] });
    expect(linesOf(compared)).toEqual([
      ['SANCTIONS_IN_FORCE', null, 100, 100, 'SANCTIONS'],
      // 140 points, of which a score has 100.
      ['CAP', null, -40, -40, 'SANCTIONS,DATA'],
      ['OWN_LABEL', 30, 30, 0, ''],
      ['DIRECT_EXPOSURE', 10, 10, 0, ''],
    ]);
    expectSums(compared);
    expect(causesOf(compared)).toEqual(['SANCTIONS', 'LISTS', 'DATA']);
    expect(compared.verdict.map(({ field }) => field).toSorted()).toEqual(['riskLevel', 'sanctioned']);
    expect(compared.lists).toEqual([
      {
        list: 'OFAC_SDN',
        before: { publishedAt: '2026-11-01', checkedAt: '2026-11-20T00:00:00Z' },
        after: { publishedAt: '2026-11-22', checkedAt: '2026-11-23T00:00:00Z' },
      },
    ]);
    expect(compared.causes[0]?.message).toBe('Entries of sanctions lists: 1 added.');
  });

  it('shows an entry that was delisted as changed, with the field', () => {
    const entry = { list: 'OFAC_SDN', entityId: 'x', matchType: 'DIRECT', delistedAt: null };
    const delisted = { ...entry, delistedAt: '2026-11-22' };
    const { sanctions } = compareAnswers(
      side({ sanctionsCheck: { lists: [entry] } }),
      side({ sanctionsCheck: { lists: [delisted] } }),
    );
    expect(sanctions).toEqual({
      ...{ added: [], removed: [] },
      changed: [{ before: entry, after: delisted, fields: ['delistedAt'] }],
    });
  });

  it('tells a label that was removed from one with another confidence', () => {
    const compared = compareAnswers(
      side({ entityLabels: [label('own', 'Casino'), label('ofac', 'Casino')] }),
      side(
        {
          entityLabels: [label('own', 'Casino', 0.5)],
          scoreBreakdown: [factor('OWN_LABEL', 'GAMBLING', 15), factor('DIRECT_EXPOSURE', 'MIXER', 10)],
        },
        { riskScore: 25 },
      ),
    );
    expect(compared.labels).toEqual({
      added: [],
      removed: [label('ofac', 'Casino')],
      changed: [
        { before: label('own', 'Casino'), after: label('own', 'Casino', 0.5), fields: ['confidence'] },
      ],
    });
    expect(linesOf(compared)[0]).toEqual(['OWN_LABEL', 30, 15, -15, 'LABELS']);
    expectSums(compared);
    expect(compared.causes[0]?.message).toBe('Labels of the address: 1 removed, 1 changed.');
  });

  it('counts two equal rows of one side as two', () => {
    const { labels } = compareAnswers(
      side({ entityLabels: [label('own', 'A'), label('own', 'A')] }),
      side({ entityLabels: [label('own', 'A')] }),
    );
    expect(labels).toMatchObject({ added: [], removed: [label('own', 'A')], changed: [] });
  });

  it('does not take the label of an exposure, which answers of earlier versions lack, for a difference', () => {
    const labelled = (source: string) =>
      ANSWER.exposures.map((row) => ({ ...row, label: { address: '0x2', source, date: null } }));
    const later = compareAnswers(side(), side({ exposures: labelled('own') }));
    expect([later.isChanged, later.exposures]).toEqual([false, { added: [], removed: [], changed: [] }]);
    const other = compareAnswers(side({ exposures: labelled('own') }), side({ exposures: labelled('ofac') }));
    expect(other.exposures?.changed.map(({ fields }) => fields)).toEqual([['label'], ['label']]);
  });

  it('says whether exposure changed with or without new transfers', () => {
    const exposures = [exposure('MIXER', 50), exposure('EXCHANGE', 50)];
    const relabelled = compareAnswers(side(), side({ exposures }));
    expect(causesOf(relabelled)).toEqual(['EXPOSURE']);
    expect(relabelled.causes[0]?.message).toMatch(/totals of the transfers are the same/);
    const transactionFlow = { ...ANSWER.transactionFlow, inflow: { txCount: 7, valueUsd: 120 } };
    const graph = { status: 'COMPLETE', asOf: '2026-11-22' };
    const moved = compareAnswers(
      side(),
      side({
        ...{ exposures, transactionFlow, totalTransactions: 11 },
        coverage: { ...ANSWER.coverage, graph },
      }),
    );
    expect(causesOf(moved)).toEqual(['TRANSFERS', 'EXPOSURE', 'COVERAGE']);
    expect(moved.causes[0]?.message).toBe(
      'Known transfers changed: totalTransactions from 10 to 11, inflow.txCount from 6 to 7, inflow.valueUsd from 100 to 120.',
    );
    expect(moved.causes[1]?.message).toBe('Exposures: 2 changed.');
    expect(moved.transfers).toEqual([
      { field: 'totalTransactions', before: 10, after: 11 },
      { field: 'inflow.txCount', before: 6, after: 7 },
      { field: 'inflow.valueUsd', before: 100, after: 120 },
    ]);
    expect(moved.coverage).toEqual([{ field: 'graph', before: ANSWER.coverage.graph, after: graph }]);
  });

  it('attributes points to the policy alone if nothing else changed', () => {
    const compared = compareAnswers(
      side(),
      side(
        { scoreBreakdown: [factor('OWN_LABEL', 'GAMBLING', 45), factor('DIRECT_EXPOSURE', 'MIXER', 10)] },
        { riskScore: 55, policyVersion: 'p2', softwareVersion: '2.0.0' },
      ),
    );
    expect(linesOf(compared)[0]).toEqual(['OWN_LABEL', 30, 45, 15, 'POLICY,SOFTWARE']);
    expect(compared.causes).toEqual([
      { cause: 'POLICY', message: 'The risk policy changed from p1 to p2.' },
      { cause: 'SOFTWARE', message: 'The program changed from 1.0.0 to 2.0.0.' },
    ]);
    expectSums(compared);
  });

  it('names a list as cut only if it is as long as the limit', () => {
    const limited = (limit: number): SavedSide => side({}, { request: { ...FACTS.request, limit } });
    // One label and two exposures.
    expect(compareAnswers(limited(3), limited(3)).notCompared).toEqual([]);
    expect(compareAnswers(limited(2), limited(2)).notCompared).toEqual(['exposures']);
    expect(compareAnswers(limited(1), limited(1)).notCompared).toEqual(['labels', 'exposures']);
  });

  it('of different requests says so, and compares no section that one of them left out', () => {
    const { scoreBreakdown: _, entityLabels: __, ...rest } = ANSWER;
    const compared = compareAnswers(side(), {
      screening: {
        ...FACTS,
        ...{ riskScore: 70, request: { ...FACTS.request, sections: ['exposures'], limit: 2 } },
      },
      answer: rest,
    });
    expect(compared).toMatchObject({ labels: null, notCompared: ['labels', 'exposures'] });
    expect(compared.request).toEqual([
      { field: 'sections', before: null, after: ['exposures'] },
      { field: 'limit', before: null, after: 2 },
    ]);
    expect(compared.causes.find(({ cause }) => cause === 'REQUEST')?.message).toBe(
      'The requests differ: sections from (not set) to ["exposures"], limit from (not set) to 2.',
    );
    expect(linesOf(compared)).toEqual([['SCORE', 40, 70, 30, 'REQUEST']]);
    expectSums(compared);
  });

  it('reads answers of another form without an error', () => {
    for (const answer of [
      {},
      { scoreBreakdown: 'x', exposures: [null, 3], coverage: [], transactionFlow: 1 },
    ]) {
      const compared = compareAnswers({ screening: FACTS, answer }, side());
      expectSums(compared);
      expect(compared.score.lines).toHaveLength(1);
    }
  });
});

describe('a comparison of two KYT answers', () => {
  const flag = (code: string, percentage = 1) => ({
    ...{
      code,
      party: 'from',
      direction: 'in',
      category: 'MIXER',
      riskType: 'COUNTERPARTY',
      entity: null,
      percentage,
    },
  });
  const kyt = (answer: object, facts: Facts = {}): SavedSide => ({
    screening: { ...FACTS, kind: 'KYT', decision: 'ALLOW', ...facts },
    answer: {
      ...{ riskLevel: 'MEDIUM', decision: 'ALLOW', flags: [], coverage: {} },
      from: { address: '0x1', entity: null, sanctioned: false },
      ...answer,
    },
  });

  it('names flags, parties and the decision; its score is one line', () => {
    const compared = compareAnswers(
      kyt({ flags: [flag('A'), flag('B')], link: { sent: { txCount: 1, valueUsd: 5 }, returned: null } }),
      kyt(
        {
          ...{ decision: 'BLOCK', flags: [flag('A', 2), flag('C')] },
          from: { address: '0x1', entity: null, sanctioned: true },
          link: { sent: { txCount: 2, valueUsd: 9 }, returned: null },
        },
        { riskScore: 100, decision: 'BLOCK' },
      ),
    );
    expect(compared.flags).toEqual({
      added: [flag('C')],
      removed: [flag('B')],
      changed: [{ before: flag('A'), after: flag('A', 2), fields: ['percentage'] }],
    });
    expect(compared.parties).toEqual([{ field: 'from.sanctioned', before: false, after: true }]);
    expect(compared.verdict).toEqual([{ field: 'decision', before: 'ALLOW', after: 'BLOCK' }]);
    expect(compared.transfers?.map(({ field }) => field)).toEqual(['sent.txCount', 'sent.valueUsd']);
    expect(linesOf(compared)).toEqual([['SCORE', 40, 100, 60, 'TRANSFERS,PARTIES,FLAGS']]);
    expectSums(compared);
    expect(compared).toMatchObject({ labels: null, sanctions: null, notCompared: [], isChanged: true });
  });
});
