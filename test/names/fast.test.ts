/** Shortcuts of the matcher: bounds that skip work never change a score, and cheap comparisons agree with the plain ones. */
import { describe, expect, it } from 'vitest';
import { frequentNames, ordinaryNames, readRealNames, seeded } from '../../bench/name-lists.ts';
import { Meetings } from '../../src/names/align.ts';
import { leastEdits, weighedEdits } from '../../src/names/edits.ts';
import { floorOf, judge, judgeAbove } from '../../src/names/model.ts';
import { makePart } from '../../src/names/name-parts.ts';
import { parseName } from '../../src/names/parse.ts';
import { kanaUnits } from '../../src/names/readings/kana.ts';
import { abjadUnits } from '../../src/names/readings/letters.ts';
import { foreignUnits } from '../../src/names/readings/mandarin-foreign.ts';
import { programOf, rareIn, type Spelled } from '../../src/names/readings/spellings.ts';
import { thaiUnits } from '../../src/names/readings/thai.ts';
import { LEAST_SIMILARITY, mayMatch, meet } from '../../src/names/similarity.ts';
import { vocabulary } from '../../src/names/vocabulary.ts';
import { readOfacOnce } from '../setup/ofac-records.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { expectEqual } from '../support/equal.ts';

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const wordOf = (random: () => number, length: number): string =>
  Array.from({ length }, () => LETTERS[Math.floor(random() * 26)]).join('');

/** Changes one letter, swaps two words, or leaves a name as it is. */
function altered(name: string, random: () => number): string {
  const kind = Math.floor(random() * 4);
  const at = Math.floor(random() * name.length);
  if (kind === 0) return name.slice(0, at) + name.slice(at + 1);
  if (kind === 1) return name.slice(0, at) + wordOf(random, 1) + name.slice(at + 1);
  const words = name.split(' ');
  return kind === 2 ? [...words.slice(1), words[0]].join(' ') : name;
}

/** Counts the pairs whose score is at least the threshold, and fails if a shortcut changes one. */
function requireSame(pairs: readonly (readonly [string, string])[], threshold: number): number {
  let matches = 0;
  const floor = floorOf(threshold);
  for (const [asked, listed] of pairs) {
    const [a, b] = [parseName(asked), parseName(listed)];
    if (a.parts.length === 0 || b.parts.length === 0) continue;
    const slow = judge(a, b);
    const fast = judgeAbove(a, b, floor, new Meetings());
    if (slow.logit < floor) {
      if (fast !== null && fast.logit >= floor) expect.fail(`${asked} | ${listed} matches with shortcuts`);
      continue;
    }
    matches++;
    expectEqual([fast?.logit, fast?.aligned], [slow.logit, slow.aligned], `${asked} | ${listed}`);
  }
  return matches;
}

describe('the score of a candidate', () => {
  it('is the same with shortcuts, for people of many countries', () => {
    const random = seeded(5);
    const names = [...ordinaryNames(1_500, 21), ...frequentNames(1_500, 22)];
    const pairs = names.flatMap((name, at) => [
      [altered(name, random), name] as const,
      [name, names[(at + 1) % names.length] as string] as const,
      // Half of a name is common with another one.
      [`${name.split(' ')[0]} ${names[(at + 7) % names.length]?.split(' ').at(-1)}`, name] as const,
    ]);
    expect(requireSame(pairs, 0.7)).toBeGreaterThan(1_500);
    expect(requireSame(pairs.slice(0, 3_000), 0.5)).toBeGreaterThan(500);
  });
});

describeWithSharedData('the score of a candidate of the real lists', () => {
  it('is the same with shortcuts, with typos, other orders and other scripts', async () => {
    const random = seeded(9);
    const entities = await readRealNames((...path) => sharedData(...path), readOfacOnce);
    const pairs: (readonly [string, string])[] = [];
    for (let at = 0; at < entities.length; at += 6) {
      const { names = [] } = entities[at] ?? {};
      const pick = () => names[Math.floor(random() * names.length)]?.text ?? '';
      pairs.push([altered(pick(), random), pick()]);
      const other = entities[Math.floor(random() * entities.length)]?.names[0]?.text ?? '';
      pairs.push([pick(), other]);
    }
    expect(requireSame(pairs, 0.7)).toBeGreaterThan(1_000);
  }, 120_000);
});

/** The distance without shortcuts: every cell of the table, from the first letters. */
function plainEdits(a: string, b: string): number {
  // A letter before both words would change the cost of a wrong first letter, so the words are compared as they are.
  const rows: number[][] = [];
  const vowel = (letter: string) => 'aeiou'.includes(letter);
  const gap = (letter: string) => (vowel(letter) || letter === 'h' ? 0.7 : 1);
  const near = 'bp dt gk sz fv ck gj jz hg hk mn js lr'.split(' ');
  const swap = (x: string, y: string) =>
    x === y ? 0 : vowel(x) && vowel(y) ? 0.6 : near.includes(x + y) || near.includes(y + x) ? 0.75 : 1;
  for (let i = 0; i <= a.length; i++) {
    rows.push([]);
    for (let j = 0; j <= b.length; j++) {
      const costs = [i === 0 && j === 0 ? 0 : Number.POSITIVE_INFINITY];
      const [x, y] = [a[i - 1] as string, b[j - 1] as string];
      if (i > 0) costs.push((rows[i - 1]?.[j] as number) + gap(x));
      if (j > 0) costs.push((rows[i]?.[j - 1] as number) + gap(y));
      if (i > 0 && j > 0) {
        const first = x !== y && (i === 1 || j === 1) ? 0.15 : 0;
        costs.push((rows[i - 1]?.[j - 1] as number) + swap(x, y) + first);
      }
      if (i > 1 && j > 1 && x === b[j - 2] && a[i - 2] === y)
        costs.push((rows[i - 2]?.[j - 2] as number) + 0.8);
      rows[i]?.push(Math.min(...costs));
    }
  }
  return rows[a.length]?.[b.length] as number;
}

describe('edits', () => {
  it('cost the same without the letters that both words begin or end with', () => {
    const random = seeded(3);
    for (let count = 0; count < 4_000; count++) {
      const word = wordOf(random, 2 + Math.floor(random() * 8));
      const other = count % 3 === 0 ? wordOf(random, 5) : altered(altered(word, random), random);
      if (Math.abs(weighedEdits(word, other) - plainEdits(word, other)) > 1e-9)
        expect(weighedEdits(word, other), `${word} ${other}`).toBe(plainEdits(word, other));
    }
  });

  it('are never fewer than their bound, and infinite only above the limit', () => {
    const random = seeded(4);
    const vocab = vocabulary();
    for (let count = 0; count < 4_000; count++) {
      const one = makePart(wordOf(random, 3 + Math.floor(random() * 8)), 'name', 'latin', vocab);
      const text = count % 2 === 0 ? wordOf(random, 6) : altered(altered(one.text, random), random);
      const other = makePart(text === '' ? 'x' : text, 'name', 'latin', vocab);
      const cost = weighedEdits(one.folded, other.folded);
      expect(leastEdits(one.letters, other.letters)).toBeLessThanOrEqual(cost + 1e-9);
      const limited = weighedEdits(one.folded, other.folded, 1.5);
      expect(limited === cost || (limited === Number.POSITIVE_INFINITY && cost > 1.5)).toBe(true);
      if (!mayMatch(one, other, LEAST_SIMILARITY) && one.groups.length === 0)
        expect(meet(one, other).similarity, `${one.text} ${other.text}`).toBe(0);
    }
  });
});

describe('spellings of a word in another script', () => {
  const units: readonly (readonly Spelled[])[] = [
    ...['محمد', 'عبدالله', 'القذافی', 'یوسف', 'نصرالله', 'חיים', 'דוד'].map(abjadUnits),
    ...['สมชาย', 'ธนากร', 'จันทร์โอชา'].map(thaiUnits),
    ...['弗拉基米尔', '普京', '特朗普'].map((word) => foreignUnits(word) ?? []),
    ...['やまだ', 'マイケル', 'しんじ'].flatMap((word) => {
      const { plain, loan } = kanaUnits(word);
      return [[plain], loan];
    }),
  ];

  it('are those that the regular expression of its patterns accepts', () => {
    const random = seeded(8);
    let accepted = 0;
    let rares = 0;
    for (const steps of units) {
      const usual = new RegExp(`^${steps.map(({ pattern }) => pattern).join('')}$`);
      const any = new RegExp(`^${steps.map(eitherOf).join('')}$`);
      const program = programOf(steps);
      for (let count = 0; count < 3_000; count++) {
        // Words that the patterns accept, with and without a wrong letter: one alternative of each group.
        const word = steps
          .map(({ pattern, rare }) => sampleOf(random() < 0.1 ? (rare ?? pattern) : pattern, random))
          .join('');
        const tried = random() < 0.3 ? altered(word, random).replaceAll(' ', '') : word;
        if (tried.length > 30) continue;
        const found = rareIn(tried, program);
        const isUsual = usual.test(tried);
        const isAny = any.test(tried);
        if (isUsual) accepted++;
        if (found > 0) rares++;
        // More than two rare spellings are none.
        if ((found === 0) !== isUsual || (found > 0 && !isAny) || (!isAny && found !== -1))
          expect.fail(`${any.source} ${tried}: ${found}`);
      }
    }
    expect(accepted).toBeGreaterThan(10_000);
    expect(rares).toBeGreaterThan(1_000);
    expect(rareIn('a'.repeat(31), programOf([{ pattern: 'a' }]))).toBe(-1);
    expect(() => programOf([{ pattern: '[abcdefghij]{4,4}' }])).toThrow(/more than/);
  });

  it('count how many letters are spelled as another letter usually is', () => {
    const program = programOf([
      { pattern: 'sh', rare: 's' },
      { pattern: 'a' },
      { pattern: 'kh', rare: '(?:h|k)' },
    ]);
    const words = ['shakh', 'sakh', 'shah', 'sah', 'sak', 'shag'];
    expect(words.map((word) => rareIn(word, program))).toEqual([0, 1, 1, 2, 2, -1]);
  });
});

const eitherOf = ({ pattern, rare }: { readonly pattern: string; readonly rare?: string }): string =>
  rare === undefined ? pattern : `(?:${pattern}|${rare})`;

/** Returns a word that a pattern accepts. */
function sampleOf(pattern: string, random: () => number): string {
  const flat = pattern.replace(/\(\?:([^()]*)\)(\??)/g, (_, inner: string, maybe: string) =>
    maybe === '?' && random() < 0.5 ? '' : pickOf(inner.split('|'), random),
  );
  return flat
    .replace(/\[([a-zY]+)\](?:\{(\d),(\d)\}|(\?))?/g, (_, set: string, from, to, maybe) => {
      const least = maybe ? 0 : Number(from ?? 1);
      const most = maybe ? 1 : Number(to ?? 1);
      const count = least + Math.floor(random() * (most - least + 1));
      return Array.from({ length: count }, () => pickOf([...set.replace('Y', '')], random)).join('');
    })
    .replace(/([a-z])\?/g, (_, letter: string) => (random() < 0.5 ? letter : ''));
}

const pickOf = (all: readonly string[], random: () => number): string =>
  all[Math.floor(random() * all.length)] ?? '';
