/** The bounds of candidates: a name is ruled out by the numbers of its words only if no comparison could lift it to the threshold. */
import { describe, expect, it } from 'vitest';
import { seeded } from '../../bench/name-lists.ts';
import { AskedWords } from '../../src/names/index/asked-words.ts';
import { CandidateBounds } from '../../src/names/index/candidate-bounds.ts';
import { KINDS, NAME_WORDS, SCRIPTS } from '../../src/names/index/format.ts';
import { OwnWords } from '../../src/names/index/own-words.ts';
import { packFacts, WordFacts } from '../../src/names/index/word-facts.ts';
import { floorOf, judge } from '../../src/names/model.ts';
import { indexedPart, type NamePart, PARTS_MAX } from '../../src/names/name-parts.ts';
import { type ParsedName, parseName } from '../../src/names/parse.ts';
import { LEAST_SIMILARITY, meet } from '../../src/names/similarity.ts';

/** The words of names as an index stores them, and the bounds over them. */
function boundsOf(names: readonly string[]) {
  const parsed = names.map((name) => parseName(name));
  const numbers = new Map<string, number>();
  const parts: NamePart[] = [];
  const rows = new Int32Array(names.length * NAME_WORDS);
  const nameWords: number[] = [];
  for (const [at, { parts: own, forms, segments }] of parsed.entries()) {
    for (const part of [...own, ...forms, ...segments.map((segment) => segment.part)]) {
      const key = `${part.kind} ${part.script} ${part.text} ${part.folded} ${part.origin}`;
      let number = numbers.get(key);
      if (number === undefined) {
        number = parts.length;
        numbers.set(key, number);
        parts.push(indexedPart(part.text, part.kind, part.script, part.folded, part.origin));
      }
      nameWords.push(number);
    }
    rows[at * NAME_WORDS + 2] = nameWords.length;
  }
  const texts = parts.map(({ kind, script, text, folded, origin }) => {
    const own = `${KINDS.indexOf(kind)}${SCRIPTS.indexOf(script)}${text}${folded === text ? '' : ` ${folded}`}`;
    return Buffer.from(origin === '' ? own : `${own}\t${origin}`);
  });
  let end = 0;
  const ends = Int32Array.from(texts, ({ length }) => {
    end += length;
    return end;
  });
  const facts = new WordFacts(ends, Buffer.concat(texts), packFacts(parts));
  const part = (word: number): NamePart => parts[word] as NamePart;
  const bounds = new CandidateBounds({
    ...{ rows, nameWords: Int32Array.from(nameWords), facts, asked: new AskedWords() },
    ...{ own: new OwnWords(facts, part), part },
  });
  return { parsed, bounds };
}

const GIVEN =
  'vladimir sergey muhammad mohamed ahmed hassan li zedong jun juan joao bob robert ann kim abu bakr'.split(
    ' ',
  );
const FAMILY =
  'putin ivanov ivanova smith schmidt garcia al-zawahiri zawahiri khan xi park ng o’neil abubakr bin laden binladen rahman'.split(
    ' ',
  );
const MORE = ['', '', '', ' V.', ' Ltd', ' Trading Company', ' de la Cruz', ' 14', ' Vladimirovich', ' S.V.'];

/** Words of names in Arabic and Hebrew letters, some of which Latin spelling writes as one (`Nasrallah`, `Abubakr`). */
const OWN =
  'محمد أحمد حسن علي أيمن الظواهري أبو بكر نصر الله عبد الرحمن خان بن لادن فضل جان יוסף בן דוד כהן'.split(
    ' ',
  );
const SPELLED =
  'nasrallah nasr allah fazl fadlallah ayman aymen yusuf yosef david cohen ali jan benladen'.split(' ');

function namesOf(seed: number, count: number, given = GIVEN, family = FAMILY): string[] {
  const random = seeded(seed);
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)] as string;
  return Array.from({ length: count }, () => {
    const words = [pick(given), pick(family)];
    if (random() < 0.3) words.push(pick(family));
    let name = words.join(random() < 0.1 ? '' : ' ');
    if (random() < 0.5) {
      const at = Math.floor(random() * name.length);
      name = name.slice(0, at) + (random() < 0.5 ? 'e' : '') + name.slice(at + 1);
    }
    return name + pick(MORE);
  });
}

/** Returns names that were ruled out though they score `floor` or more, or more than their bound; the number of those; and the share ruled out. */
function ruledOutOf(
  listed: readonly string[],
  asked: readonly ParsedName[],
  floor: number,
): { readonly lost: readonly string[]; readonly within: number; readonly ruledOut: number } {
  const { parsed, bounds } = boundsOf(listed);
  const lost: string[] = [];
  let [within, ruledOut] = [0, 0];
  for (const query of asked) {
    bounds.begin(query);
    for (const [name, other] of parsed.entries()) {
      const may = bounds.mayReach(name, floor);
      if (!may) ruledOut++;
      const { logit } = judge(query, other);
      if (logit < floor) continue;
      within++;
      if (!may || logit > bounds.most + 1e-9)
        lost.push(`${query.parts.map(({ text }) => text).join(' ')} | ${listed[name]}`);
    }
  }
  return { lost, within, ruledOut: ruledOut / (asked.length * listed.length) };
}

describe('the bounds of candidates', () => {
  const listed = namesOf(41, 400);
  const { parsed, bounds } = boundsOf(listed);
  const asked = [
    ...namesOf(43, 80),
    // Names of the list with a letter left out, or in another order.
    ...listed
      .slice(0, 80)
      .map((name, at) => name.slice(0, at % name.length) + name.slice((at % name.length) + 1)),
    ...listed.slice(80, 120).map((name) => name.split(' ').toReversed().join(' ')),
  ].map((name) => parseName(name));

  it.each([0.7, 0.85, 0.6])('rule out only names that score less than %s, and many of them', (threshold) => {
    const { lost, within, ruledOut } = ruledOutOf(listed, asked, floorOf(threshold));
    expect(lost).toEqual([]);
    expect(within).toBeGreaterThan(150);
    expect(ruledOut).toBeGreaterThan(0.25);
  });

  it('rule out names in Arabic and Hebrew letters only if they score less, also if words may be one', () => {
    const latin = [...GIVEN, ...SPELLED];
    const family = [...FAMILY, ...SPELLED];
    // Words that are one in the other name, on either side.
    const joined = [
      'Hassan Nasrallah',
      'Hassan Nasr Allah',
      'حسن نصر الله',
      'حسن نصرالله',
      'Fazlullah Khan',
      'فضل الله خان',
      'Ali Jan Khan',
      'علیجان خان',
    ];
    const own = [
      ...joined,
      ...namesOf(51, 200, OWN, OWN),
      ...namesOf(52, 100, OWN, family),
      ...namesOf(53, 100, latin, family),
    ];
    const queries = [
      ...joined,
      ...namesOf(54, 120, latin, family),
      ...namesOf(55, 60, OWN, OWN),
      ...namesOf(56, 30, OWN, family),
    ];
    const { lost, within, ruledOut } = ruledOutOf(
      own,
      queries.map((name) => parseName(name)),
      floorOf(0.7),
    );
    expect(lost).toEqual([]);
    expect(within).toBeGreaterThan(200);
    expect(ruledOut).toBeGreaterThan(0.25);
  });

  it('compare each pair of words as `meet` does, for the pairs that match', () => {
    let matched = 0;
    const wrong: string[] = [];
    for (const query of asked) {
      bounds.begin(query);
      for (const [name, other] of parsed.entries()) {
        bounds.mayReach(name, null);
        for (const [i, left] of query.parts.entries()) {
          for (const [j, right] of other.parts.entries()) {
            const known = bounds.meetings[i * PARTS_MAX + j];
            const met = meet(left, right);
            if (met.similarity >= LEAST_SIMILARITY) matched++;
            const isSame =
              met.similarity < LEAST_SIMILARITY
                ? (known?.similarity ?? 1) < LEAST_SIMILARITY
                : known?.kind === met.kind && known.similarity === met.similarity;
            if (!isSame) wrong.push(`${left.text} ${right.text}`);
          }
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(matched).toBeGreaterThan(5_000);
  });

  it('rule out nothing without a threshold, in characters, and of words that may be one', () => {
    const floor = floorOf(0.7);
    const other = boundsOf([
      'Xi Jinping',
      '习近平',
      'أيمن الظواهري',
      'Abu Bakr Rahman',
      'Peter Example',
      '김정은',
    ]);
    const within = (name: string, least: number | null = floor): boolean[] => {
      other.bounds.begin(parseName(name));
      return other.parsed.map((_, at) => other.bounds.mayReach(at, least));
    };
    expect(within('Ulf Montgomeryshires', null)).toEqual([true, true, true, true, true, true]);
    expect(within('Ulf Montgomeryshires')).toEqual([false, true, false, false, false, true]);
    // A query in another script.
    expect(within('أيمن الظواهري')).toEqual([false, true, true, false, false, true]);
    expect(within('金正恩')).toEqual([true, true, true, true, true, true]);
    expect(within('Abubakr Rahman')[3]).toBe(true);
    expect(within('Rahman Abubakr Salih')[3]).toBe(true);
    expect(within('Peterexample')[4]).toBe(true);
    expect(within('Peter Exa Mple')[4]).toBe(true);
  });
});
