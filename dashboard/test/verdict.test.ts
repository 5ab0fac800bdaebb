/** The sentence of the verdict, in every language: what is not known never reads as clean. */
import { describe, expect, it } from 'vitest';
import de from '../src/i18n/de.json';
import en from '../src/i18n/en.json';
import { createFormats } from '../src/i18n/formats.ts';
import fr from '../src/i18n/fr.json';
import { type Language, type Messages, translator } from '../src/i18n/messages.ts';
import { isOutdated, shownLevel, verdictSentence } from '../src/pages/screening/verdict.ts';

const i18nOf = (language: Language, messages: Messages) =>
  ({
    ...createFormats(language),
    t: translator(language, messages),
    word: (group: string, code: string) => (messages as Record<string, string>)[`${group}.${code}`] ?? code,
  }) as never;

const COMPLETE = { status: 'COMPLETE', asOf: null };
const STALE = { code: 'STALE_OR_MISSING_DATA' };
const MIXER = {
  factor: 'DIRECT_EXPOSURE',
  category: 'MIXER',
  direction: 'in',
  percentage: 26.4,
  hops: 1,
  points: 36,
};
const screening = (parts: object = {}) =>
  ({
    assessed: true,
    sanctioned: false,
    riskLevel: 'LOW',
    riskScore: 0,
    reasons: [],
    scoreBreakdown: [],
    sanctionsCheck: { lists: [] },
    coverage: { graph: COMPLETE },
    ...parts,
  }) as never;

const english = i18nOf('en', en);

describe('the verdict', () => {
  it.each([
    [{}, 'LOW', 'Low risk. Nothing that was read raises the risk.'],
    [
      { coverage: { graph: { status: 'NONE', asOf: null } } },
      'LOW',
      'Low risk. Labels and lists were read; its transfers were not.',
    ],
    [{ assessed: false }, 'UNKNOWN', 'Nothing is known about this address. That is not a clean result.'],
    [
      { reasons: [STALE] },
      'UNKNOWN',
      'Little or nothing that was read raises the risk, but lists are missing or out of date. That is not a clean result.',
    ],
    [
      {
        riskLevel: 'HIGH',
        scoreBreakdown: [{ ...MIXER, points: 1, category: 'SCAM' }, MIXER],
        reasons: [STALE],
      },
      'HIGH',
      'High risk. 26.4% of what it received came directly from Mixer.',
    ],
    [
      { riskLevel: 'MEDIUM', scoreBreakdown: [{ ...MIXER, direction: 'out', hops: 2 }] },
      'MEDIUM',
      'Medium risk. 26.4% of what it sent went through 2 hops to Mixer.',
    ],
    [
      { riskLevel: 'CRITICAL', scoreBreakdown: [{ ...MIXER, factor: 'OWN_LABEL', category: 'RANSOMWARE' }] },
      'CRITICAL',
      'Critical risk. The address itself is labelled Ransomware.',
    ],
    [
      {
        assessed: false,
        sanctioned: true,
        riskLevel: 'CRITICAL',
        sanctionsCheck: {
          lists: [
            { list: 'OFAC_SDN', entityName: 'Lazarus', delistedAt: null },
            { list: 'UK', entityName: 'Lazarus', delistedAt: null },
            { list: 'EU', entityName: 'Old', delistedAt: '2020-01-01' },
          ],
        },
      },
      'CRITICAL',
      'Sanctioned: listed by OFAC_SDN and UK as Lazarus.',
    ],
  ])('of %j has the level %s and says "%s"', (parts, level, sentence) => {
    expect([shownLevel(screening(parts)), verdictSentence(screening(parts), english)]).toEqual([
      level,
      sentence,
    ]);
  });

  it.each([
    ['de', de, 'Hohes Risiko. 26,4 % des Empfangenen kamen direkt von Mixer.'],
    ['fr', fr, 'Risque élevé. 26,4 % des fonds reçus viennent directement de Mixeur.'],
  ] as const)('is a sentence in %s', (language, messages, sentence) => {
    const data = screening({ riskLevel: 'HIGH', scoreBreakdown: [MIXER] });
    expect(verdictSentence(data, i18nOf(language, messages)).replace(/\u202f|\u00a0/g, ' ')).toBe(sentence);
  });
});

it.each([
  ['the labels are the same, and the lists are current', {}, 'v1', false, false],
  ['the labels were replaced', {}, 'v2', false, true],
  ['a list is out of date since', {}, 'v1', true, true],
  ['a list was out of date already', { reasons: [STALE] }, 'v1', true, false],
  [
    'a list is out of date since, and the answer is about an earlier day',
    { asOf: '2026-11-01' },
    'v1',
    true,
    false,
  ],
])('says that an answer is outdated: %s', (_, parts, dataVersion, stale, expected) => {
  const data = screening({ asOf: null, dataVersion: 'v1', ...parts });
  const ready = { snapshot: { dataVersion }, lists: [{ stale: false }, { stale }] } as never;
  expect(isOutdated(data, ready)).toBe(expected);
});
