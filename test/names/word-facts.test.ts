/** The comparison of words by their bytes and letters: the same results as the comparison of decoded words. */
import { describe, expect, it } from 'vitest';
import { seeded } from '../../bench/name-lists.ts';
import { isOneEdit, isOneEditOf, masksOf, mayCost, weighedEdits } from '../../src/names/edits.ts';
import { AskedWord, AskedWords, type Hits, NO_HITS } from '../../src/names/index/asked-words.ts';
import { KINDS, keyHash, SCRIPTS } from '../../src/names/index/format.ts';
import { FoundWords } from '../../src/names/index/found-words.ts';
import { indexKeysOf, queryHashesOf } from '../../src/names/index/keys.ts';
import { LEAST_USEFUL, packFacts, WordFacts } from '../../src/names/index/word-facts.ts';
import { indexedPart, makePart, type NamePart } from '../../src/names/name-parts.ts';
import { heardOf, mayRead, readingOf } from '../../src/names/readings/pattern.ts';
import { mayBeWadeSpelling, wadeOf } from '../../src/names/readings/wade.ts';
import { LEAST_SIMILARITY, mayBeWade, meet } from '../../src/names/similarity.ts';
import { vocabulary } from '../../src/names/vocabulary.ts';

const word = (text: string): NamePart => makePart(text, 'name', 'latin', vocabulary());
const askedWord = (text: string): AskedWord => new AskedWord(word(text), 0);

const WORDS = (
  'vladimir wladimir vladimirovich vladimirov ivanov ivanova ivanovna muhammad mohammed mohamed muhamad abdulaziz zedong tsetung xi hsi ' +
  'li lee ly an ann khan kahn chan jan juan joao garcia garzia gaxiola schmidt schmitt smith smyth bob robert kim gim park pak ng'
).split(' ');

/** Words that differ from others by a few letters. */
function variants(seed: number, count: number): string[] {
  const random = seeded(seed);
  return Array.from({ length: count }, () => {
    let text = WORDS[Math.floor(random() * WORDS.length)] as string;
    for (let edits = Math.floor(random() * 3); edits > 0; edits--) {
      const at = Math.floor(random() * text.length);
      const letter = String.fromCharCode(97 + Math.floor(random() * 26));
      const rest = random() < 0.5 ? text.slice(at) : text.slice(at + 1);
      text = text.slice(0, at) + (random() < 0.7 ? letter : '') + rest;
    }
    return text === '' ? 'a' : text;
  });
}

const bytesOf = (text: string): Uint8Array => Buffer.from(text);

function factsOf(parts: readonly NamePart[]): WordFacts {
  const texts = parts.map(({ kind, script, text, folded }) => {
    const own = `${KINDS.indexOf(kind)}${SCRIPTS.indexOf(script)}${text}`;
    return folded === text ? own : `${own} ${folded}`;
  });
  let end = 0;
  const ends = Int32Array.from(texts, (text) => {
    end += text.length;
    return end;
  });
  return new WordFacts(ends, bytesOf(texts.join('')), packFacts(parts));
}

describe('facts of words', () => {
  const listed = variants(1, 400).map(word);
  const facts = factsOf(listed);
  const asked = variants(2, 200).map(askedWord);

  it('compare words as `meet` does, or leave them to it', () => {
    let compared = 0;
    for (const each of asked) {
      const { part } = each;
      for (const [at, other] of listed.entries()) {
        const decoded = meet(part, other);
        const matches = decoded.similarity >= LEAST_SIMILARITY;
        if (facts.isUnlike(each, at)) {
          expect(matches, `${part.text} ${other.text}`).toBe(false);
          continue;
        }
        const meeting = facts.meet(each, at);
        if (meeting === null) continue;
        if (matches) compared++;
        expect(meeting.similarity >= LEAST_SIMILARITY, `${part.text} ${other.text}`).toBe(matches);
        if (matches) expect(meeting, `${part.text} ${other.text}`).toEqual(decoded);
      }
    }
    expect(compared).toBeGreaterThan(1_000);
  });

  it('know every spelling of Chinese names, and few other words', () => {
    const syllables = 'zhi chuang xiong jiang zedong qiaoguan xiaoping zuo ri guoyue yuanbian shuo lüe'.split(
      ' ',
    );
    for (const syllable of syllables) {
      const wade = wadeOf(syllable);
      if (wade !== null) expect(mayBeWadeSpelling(wade), wade).toBe(true);
    }
    expect(syllables.filter((syllable) => wadeOf(syllable) !== null).length).toBeGreaterThan(8);
    for (const text of ['garcia', 'schmidt', 'muhammad', 'petrov'])
      expect(askedWord(text).isChinese, text).toBe(false);
    for (const text of ['zedong', 'tsetung', 'beijing']) expect(askedWord(text).isChinese, text).toBe(true);
  });

  it('compare a word that was just checked as `meet` does', () => {
    let compared = 0;
    for (const each of asked) {
      const { part } = each;
      for (const [at, other] of listed.entries()) {
        if (!facts.mayBeUseful(each, at)) continue;
        const meeting = facts.meetChecked(each, at);
        if (meeting === null) continue;
        compared++;
        const decoded = meet(part, other);
        if (decoded.similarity >= LEAST_SIMILARITY)
          expect(meeting, `${part.text} ${other.text}`).toEqual(decoded);
        else expect(meeting.similarity).toBeLessThan(LEAST_SIMILARITY);
      }
    }
    expect(compared).toBeGreaterThan(1_000);
  });

  it('find one edit in bytes as in texts', () => {
    let found = 0;
    const texts = [...variants(3, 150), 'ab', 'ba', 'a', 'abab', 'baba', 'aab', 'abb'];
    for (const a of texts) {
      for (const b of texts) {
        const isOne = isOneEdit(a, b);
        if (isOne) found++;
        expect(isOneEditOf(a, bytesOf(`..${b}.`), 2, 2 + b.length), `${a} ${b}`).toBe(isOne);
      }
    }
    expect(found).toBeGreaterThan(100);
  });

  it('hold the kind, the weight and the lengths of each word', () => {
    for (const [at, part] of listed.entries()) {
      expect(KINDS[facts.kindOf(at)]).toBe(part.kind);
      expect(facts.weights[at]).toBe(part.weight);
      expect(facts.textLength(at)).toBe(part.text.length);
      expect(facts.heardLength(at)).toBe(part.folded.length);
      expect(facts.firstLetter(at)).toBe(part.text.charCodeAt(0));
      expect(facts.isLatin(at)).toBe(true);
    }
  });
});

/** Whether the search of candidates follows a word: it is similar, or matches with an error in one letter. */
function isFollowed(part: NamePart, other: NamePart): boolean {
  const { similarity } = meet(part, other);
  const isSlip = isOneEdit(part.folded, other.folded) || isOneEdit(part.text, other.text);
  return similarity >= LEAST_USEFUL || (similarity >= LEAST_SIMILARITY && isSlip);
}

/** Words around the limits of 16 stored bytes and 60 counted letters, with one to three letters exchanged or left out. */
function longWords(seed: number): string[] {
  const random = seeded(seed);
  const letters = Array.from({ length: 70 }, (_, at) => 'konstantinopolisrabevumdaz'[(at * 7) % 26]).join('');
  return [8, 14, 15, 16, 17, 18, 30, 58, 59, 60, 61, 62].flatMap((length) =>
    [0, 1, 2, 3].map((edits) => {
      const text = [...letters.slice(0, length)];
      for (let left = edits; left > 0; left--) {
        const at = Math.floor(random() * text.length);
        text.splice(at, 1, ...(random() < 0.6 ? ['x'] : []));
      }
      return text.join('');
    }),
  );
}

describe('facts of words that a search has found by a key', () => {
  const texts = [...variants(5, 300), 'vladimir', ...longWords(6)];
  const listed = texts.map(word);
  const facts = factsOf(listed);
  const asked = [...variants(7, 120), ...longWords(8)].map(askedWord);

  it('rule out nearly all words that are not followed, and none that is', () => {
    const lost: string[] = [];
    let [followed, kept, ruledOut] = [0, 0, 0];
    for (const each of asked) {
      const { part } = each;
      for (const [at, other] of listed.entries()) {
        const may = facts.mayBeUseful(each, at);
        if (isFollowed(part, other)) {
          followed++;
          if (!may) lost.push(`${part.text} ${other.text}`);
        } else if (
          (part.groups.length > 0 && other.groups.length > 0) ||
          (each.isChinese && mayBeWade(part.text.charCodeAt(0), other.text.charCodeAt(0)))
        ) {
          // Their letters do not decide.
          expect(may).toBe(true);
        } else if (may) kept++;
        else ruledOut++;
      }
    }
    expect(lost).toEqual([]);
    expect(followed).toBeGreaterThan(1_000);
    expect(kept).toBeLessThan(ruledOut * 0.02);
  });

  it('compare long words by all their letters', () => {
    let compared = 0;
    for (const each of asked.slice(-48)) {
      const { part } = each;
      for (const [at, other] of listed.entries()) {
        const checked = facts.mayBeUseful(each, at) ? facts.meetChecked(each, at) : null;
        for (const meeting of [checked, facts.isUnlike(each, at) ? null : facts.meet(each, at)]) {
          if (meeting === null) continue;
          const decoded = meet(part, other);
          if (decoded.similarity < LEAST_SIMILARITY && meeting.similarity < LEAST_SIMILARITY) continue;
          expect(meeting, `${part.text} ${other.text}`).toEqual(decoded);
          compared++;
        }
      }
    }
    expect(compared).toBeGreaterThan(1_000);
  });

  it('find words one edit away, as heard or as written', () => {
    let found = 0;
    const wrong: string[] = [];
    for (const { part } of asked) {
      for (const [at, other] of listed.entries()) {
        const isOne = isOneEdit(part.folded, other.folded) || isOneEdit(part.text, other.text);
        if (isOne) found++;
        if (facts.isOneEdit(part, at) !== isOne) wrong.push(`${part.text} ${other.text}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(found).toBeGreaterThan(100);
  });

  it('are met once in each search', () => {
    const at = listed.findIndex(({ text }) => text === 'vladimir');
    for (let search = 0; search < 3; search++) {
      facts.begin();
      expect([facts.isNew(at), facts.isNew(at), facts.isNew(at + 1)]).toEqual([true, false, true]);
    }
  });

  it('rule out no word for a part whose letters do not decide', () => {
    const part = new AskedWord(makePart('smith', 'initial', 'latin', vocabulary()), 0);
    for (const [at] of listed.entries()) {
      expect(facts.mayBeUseful(part, at)).toBe(true);
      expect(facts.meetChecked(part, at)).toBeNull();
    }
  });
});

describe('facts of words of several kinds', () => {
  const KINDS_SPELLED = ['name', 'particle', 'honorific', 'descriptive'] as const;
  const texts =
    'al el ben ibn van von company companies compania co trading tradings sheikh shaikh general bob robert rob ahdul abdul'.split(
      ' ',
    );
  const listed = texts.flatMap((text) =>
    KINDS_SPELLED.map((kind) => makePart(text, kind, 'latin', vocabulary())),
  );
  const facts = factsOf(listed);

  it('compare each kind with each other as `meet` does, or leave them to it', () => {
    let [matched, left] = [0, 0];
    for (const part of listed) {
      const asked = new AskedWord(part, 0);
      for (const [at, other] of listed.entries()) {
        const decoded = meet(part, other);
        const meeting = facts.isUnlike(asked, at) ? null : facts.meet(asked, at);
        const label = `${part.kind} ${part.text} ${other.kind} ${other.text}`;
        if (facts.isUnlike(asked, at)) expect(decoded.similarity, label).toBeLessThan(LEAST_SIMILARITY);
        else if (meeting === null) left++;
        else if (decoded.similarity < LEAST_SIMILARITY)
          expect(meeting.similarity, label).toBeLessThan(LEAST_SIMILARITY);
        else {
          matched++;
          expect(meeting, label).toEqual(decoded);
        }
      }
    }
    expect(matched).toBeGreaterThan(300);
    expect(left).toBeLessThan(listed.length ** 2 / 4);
  });
});

describe('facts of words of which not only the spelling counts', () => {
  const parts = [
    makePart('v', 'initial', 'latin', vocabulary()),
    makePart('limited', 'form', 'latin', vocabulary()),
    makePart('12', 'number', 'latin', vocabulary()),
    makePart('robert', 'name', 'latin', vocabulary()),
    makePart('muhammad', 'name', 'abjad', vocabulary(), 'محمد'),
    makePart('zedong', 'name', 'syllabic', vocabulary(), '泽东'),
    indexedPart('hasan', 'name', 'latin', 'hasan', 'حسن'),
  ];
  const facts = new WordFacts(
    Int32Array.from(parts, ({ text }, at) => (at + 1) * 40 - 40 + text.length),
    new Uint8Array(40 * parts.length),
    packFacts(parts),
  );

  it('are never ruled out, and are left to the comparison of decoded words, except initials and numbers', () => {
    // `robert` is left to it only for another name with a group of given names.
    const asked = askedWord('bob');
    expect(asked.isGrouped).toBe(true);
    for (const [at, part] of parts.entries()) {
      expect(facts.mayBeUseful(asked, at), part.text).toBe(true);
      expect(facts.meetChecked(asked, at), part.text).toBeNull();
      expect(facts.isUnlike(asked, at), part.text).toBe(false);
      const isCompared = part.kind === 'initial' || part.kind === 'number';
      expect(facts.meet(asked, at), part.text).toEqual(isCompared ? meet(asked.part, part) : null);
    }
  });

  it('are in Latin letters only if they do not keep letters of their own', () => {
    expect(parts.map((_, at) => facts.isLatin(at))).toEqual([true, true, true, true, false, false, false]);
    expect(parts.map((_, at) => KINDS[facts.kindOf(at)])).toEqual(parts.map(({ kind }) => kind));
    expect(parts.map((_, at) => facts.lettersOf(at))).toEqual(parts.map(({ letters }) => letters));
  });
});

describe('words of queries', () => {
  const meetingOf = (at: number): { kind: 'spelling'; similarity: number } => ({
    kind: 'spelling',
    similarity: at / 1_000,
  });

  it('keep how they compare with the last words of the index', () => {
    const words = new AskedWords();
    const asked = ['ivanov', 'smith'].map((text) => words.of(word(text))) as [AskedWord, AskedWord];
    expect(words.meetingWith(asked[0], 0)).toBeUndefined();
    let kept = 0;
    for (let at = 0; at < 40_000; at++) {
      const each = asked[at % 2] as AskedWord;
      expect(words.keep(each, at, meetingOf(at))).toEqual(meetingOf(at));
      expect(words.meetingWith(each, at)).toEqual(meetingOf(at));
      expect(words.meetingWith(asked[(at + 1) % 2] as AskedWord, at)).toBeUndefined();
    }
    for (let at = 0; at < 40_000; at++) {
      const known = words.meetingWith(asked[at % 2] as AskedWord, at);
      if (known === undefined) continue;
      kept++;
      expect(known).toEqual(meetingOf(at));
    }
    // Later ones have taken the places of earlier ones.
    expect(kept).toBeGreaterThan(8_000);
    expect(kept).toBeLessThanOrEqual(2 ** 14);
  });

  it('tell which parts are compared by their letters', () => {
    const seen = (part: NamePart): readonly boolean[] => {
      const { isSpelled, isGrouped, hasMeaning } = new AskedWord(part, 0);
      return [isSpelled, isGrouped, hasMeaning];
    };
    expect(seen(word('ivanov'))).toEqual([true, false, false]);
    expect(seen(word('robert'))).toEqual([true, true, false]);
    expect(seen(makePart('company', 'descriptive', 'latin', vocabulary()))).toEqual([true, false, true]);
    expect(seen(makePart('al', 'particle', 'latin', vocabulary()))).toEqual([true, false, false]);
    for (const part of [
      makePart('v', 'initial', 'latin', vocabulary()),
      makePart('12', 'number', 'latin', vocabulary()),
      makePart('ivanov', 'name', 'syllabic', vocabulary()),
      indexedPart('hasan', 'name', 'latin', 'hasan', 'حسن'),
    ])
      expect(seen(part)[0]).toBe(false);
  });

  it('are one object for equal parts until they are too many, or have too many hits', () => {
    const words = new AskedWords();
    const hitsOf = (count: number): Hits => ({ ...NO_HITS, words: new Array<number>(count).fill(0) });
    const first = words.of(word('ivanov'));
    words.keep(first, 7, meetingOf(7));
    words.keepHits(first, hitsOf(1_500_000));
    words.trim();
    expect(words.of(word('ivanov'))).toBe(first);
    words.keepHits(words.of(word('smith')), hitsOf(1));
    words.trim();
    const second = words.of(word('ivanov'));
    expect(second).not.toBe(first);
    expect(second.hits).toBeNull();
    expect(words.meetingWith(second, 7)).toBeUndefined();
    for (let at = 0; at < 19_999; at++) words.of(indexedPart(`n${at}`, 'name', 'latin', `n${at}`, ''));
    words.trim();
    expect(words.of(word('ivanov'))).toBe(second);
    words.of(word('smith'));
    words.trim();
    expect(words.of(word('ivanov'))).not.toBe(second);
  });
});

describe('the number of edits', () => {
  it('rules out only words of which the edits cost more, and most of those', () => {
    let [ruledOut, within, kept] = [0, 0, 0];
    for (const left of variants(11, 150)) {
      const letters = bytesOf(left);
      const masks = masksOf(letters);
      for (const right of variants(12, 150)) {
        const cost = weighedEdits(left, right);
        for (const most of [1.2, 1.7, 2.2, 3]) {
          const may = mayCost(masks, left.length, bytesOf(`..${right}`), 2, 2 + right.length, most);
          if (cost <= most) within++;
          else if (may) kept++;
          else ruledOut++;
          if (cost <= most) expect(may, `${left} ${right} ${most}`).toBe(true);
        }
      }
    }
    expect(within).toBeGreaterThan(1_000);
    expect(ruledOut).toBeGreaterThan(kept * 5);
  });
});

describe('hashes of the keys of a query', () => {
  it('are those under which an index has the word, apart from consonants, which have another mark', () => {
    for (const part of variants(4, 200).map(word)) {
      const asked = new Set(queryHashesOf(part));
      const indexed = indexKeysOf(part).filter((key) => key[0] !== "'");
      for (const key of indexed) expect(asked, `${part.text} ${key}`).toContain(keyHash(key));
      expect(asked.size).toBe(indexed.length + (part.consonants.length >= 1 ? 1 : 0));
    }
  });
});

describe('found words', () => {
  it.each([10, 64, 65, 1_000])('are sorted by gain, then by number, if there are %i', (count) => {
    const random = seeded(count);
    const rows = Array.from({ length: count }, (_, at) => ({
      word: (at * 7919) % 10_007,
      gain: Math.floor(random() * 9),
    }));
    const found = new FoundWords().begin();
    for (const { word: at, gain } of rows) found.add(at, gain);
    const sorted = found.sorted();
    rows.sort((a, b) => b.gain - a.gain || a.word - b.word);
    expect([...sorted.words]).toEqual(rows.map((row) => row.word));
    expect([...sorted.gains]).toEqual(rows.map((row) => row.gain));
  });
});

describe('consonants of Arabic and Hebrew letters', () => {
  it('rule out only words that the reading does not accept', () => {
    const origins = 'محمد عبدالله نصرالله قذافی حسن بنلادن معمر یوسف ابوبکر ששון נתניהו כהן יעקב'.split(' ');
    const latin =
      'muhammad mohammed abdullah nasrallah nasrullah qaddafi gaddafi hassan hasan binladen muammar yusuf yousef abubakr sasson netanyahu cohen yaakov jacob smith ivanov'.split(
        ' ',
      );
    let accepted = 0;
    let ruledOut = 0;
    for (const origin of origins) {
      for (const text of latin) {
        const matches = readingOf(origin).matches(text) > 0;
        const may = mayRead(origin, heardOf(text));
        if (matches) accepted++;
        if (!may) ruledOut++;
        if (matches) expect(may, `${origin} ${text}`).toBe(true);
      }
    }
    expect(accepted).toBeGreaterThan(10);
    expect(ruledOut).toBeGreaterThan(100);
  });
});
