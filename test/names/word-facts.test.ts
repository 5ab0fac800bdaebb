/** The comparison of words by their bytes and letters: the same results as the comparison of decoded words. */
import { describe, expect, it } from 'vitest';
import { seeded } from '../../bench/name-lists.ts';
import { isOneEdit, isOneEditOf } from '../../src/names/edits.ts';
import { AskedWord, AskedWords } from '../../src/names/index/asked-words.ts';
import { KINDS, keyHash, SCRIPTS } from '../../src/names/index/format.ts';
import { FoundWords } from '../../src/names/index/found-words.ts';
import { indexKeysOf, queryHashesOf } from '../../src/names/index/keys.ts';
import { LEAST_USEFUL, packFacts, WordFacts } from '../../src/names/index/word-facts.ts';
import { indexedPart, makePart, type NamePart } from '../../src/names/parse.ts';
import { heardOf, mayRead, readingOf } from '../../src/names/readings/pattern.ts';
import { LEAST_SIMILARITY, mayBeWade, meet } from '../../src/names/similarity.ts';
import { vocabulary } from '../../src/names/vocabulary.ts';

const word = (text: string): NamePart => makePart(text, 'name', 'latin', vocabulary());

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
  const asked = variants(2, 200).map(word);

  it('compare words as `meet` does, or leave them to it', () => {
    let compared = 0;
    for (const part of asked) {
      for (const [at, other] of listed.entries()) {
        const decoded = meet(part, other);
        const matches = decoded.similarity >= LEAST_SIMILARITY;
        if (facts.isUnlike(part, at)) {
          expect(matches, `${part.text} ${other.text}`).toBe(false);
          continue;
        }
        const meeting = facts.meet(part, at);
        if (meeting === null) continue;
        if (matches) compared++;
        expect(meeting.similarity >= LEAST_SIMILARITY, `${part.text} ${other.text}`).toBe(matches);
        if (matches) expect(meeting, `${part.text} ${other.text}`).toEqual(decoded);
      }
    }
    expect(compared).toBeGreaterThan(1_000);
  });

  it('compare a word that was just checked as `meet` does', () => {
    let compared = 0;
    for (const part of asked) {
      facts.begin(part);
      for (const [at, other] of listed.entries()) {
        if (!facts.mayBeUseful(part, true, at)) continue;
        const meeting = facts.meetChecked(part, at);
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
  const asked = [...variants(7, 120), ...longWords(8)].map(word);

  it('rule out nearly all words that are not followed, and none that is', () => {
    const lost: string[] = [];
    let [followed, kept, ruledOut] = [0, 0, 0];
    for (const part of asked) {
      facts.begin(part);
      for (const [at, other] of listed.entries()) {
        const may = facts.mayBeUseful(part, true, at);
        if (isFollowed(part, other)) {
          followed++;
          if (!may) lost.push(`${part.text} ${other.text}`);
        } else if (other.groups.length > 0 || mayBeWade(part.text.charCodeAt(0), other.text.charCodeAt(0))) {
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
    for (const part of asked.slice(-48)) {
      facts.begin(part);
      for (const [at, other] of listed.entries()) {
        const checked = facts.mayBeUseful(part, true, at) ? facts.meetChecked(part, at) : null;
        for (const meeting of [checked, facts.isUnlike(part, at) ? null : facts.meet(part, at)]) {
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
    for (const part of asked) {
      for (const [at, other] of listed.entries()) {
        const isOne = isOneEdit(part.folded, other.folded) || isOneEdit(part.text, other.text);
        if (isOne) found++;
        if (facts.isOneEdit(part, at) !== isOne) wrong.push(`${part.text} ${other.text}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(found).toBeGreaterThan(100);
  });

  it('meet a word once in each search', () => {
    const part = word('vladimir');
    const at = listed.findIndex(({ text }) => text === 'vladimir');
    for (let search = 0; search < 3; search++) {
      facts.begin(part);
      expect(facts.mayBeUseful(part, true, at)).toBe(true);
      expect(facts.mayBeUseful(part, true, at)).toBe(false);
    }
    facts.begin(part);
    expect(facts.mayBeUseful(part, false, at)).toBe(true);
    expect(facts.mayBeUseful(part, false, at)).toBe(false);
  });

  it('rule out no word for a part whose letters do not decide', () => {
    const part = makePart('smith', 'name', 'latin', vocabulary());
    for (const [at] of listed.entries()) {
      facts.begin(part);
      expect(facts.mayBeUseful(part, false, at)).toBe(true);
      expect(facts.meetChecked(part, at)).toBeNull();
    }
  });
});

describe('facts of words of which not only the spelling counts', () => {
  const parts = [
    makePart('v', 'initial', 'latin', vocabulary()),
    makePart('limited', 'form', 'latin', vocabulary()),
    makePart('al', 'particle', 'latin', vocabulary()),
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

  it('are never ruled out, and are left to the comparison of decoded words', () => {
    const asked = word('xyzzyx');
    facts.begin(asked);
    for (const [at, part] of parts.entries()) {
      expect(facts.mayBeUseful(asked, true, at), part.text).toBe(true);
      expect(facts.meetChecked(asked, at), part.text).toBeNull();
      expect(facts.isUnlike(asked, at), part.text).toBe(false);
      expect(facts.meet(asked, at), part.text).toBeNull();
    }
  });

  it('are in Latin letters only if they do not keep letters of their own', () => {
    expect(parts.map((_, at) => facts.isLatin(at))).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(parts.map((_, at) => KINDS[facts.kindOf(at)])).toEqual(parts.map(({ kind }) => kind));
    expect(parts.map((_, at) => facts.lettersOf(at))).toEqual(parts.map(({ letters }) => letters));
  });
});

describe('words of queries', () => {
  const count = { kept: 0 };
  const meetingOf = (at: number): { kind: 'spelling'; similarity: number } => ({
    kind: 'spelling',
    similarity: at / 1_000,
  });

  it('keep how they compare with words of the index, however many', () => {
    const asked = new AskedWord(word('ivanov'), count);
    expect(asked.meetingWith(0)).toBeUndefined();
    const numbers = Array.from({ length: 900 }, (_, at) => at * 1_031);
    for (const [at, number] of numbers.entries()) {
      expect(asked.meetingWith(number)).toBeUndefined();
      expect(asked.keep(number, meetingOf(at))).toEqual(meetingOf(at));
    }
    expect(numbers.map((number) => asked.meetingWith(number))).toEqual(numbers.map((_, at) => meetingOf(at)));
    expect(numbers.every((number) => asked.meetingWith(number + 1) === undefined)).toBe(true);
  });

  it('tell which parts are compared by their letters', () => {
    const seen = (part: NamePart): readonly [boolean, boolean] => {
      const { isSpelled, isPlain } = new AskedWord(part, count);
      return [isSpelled, isPlain];
    };
    expect(seen(word('ivanov'))).toEqual([true, true]);
    expect(seen(makePart('v', 'initial', 'latin', vocabulary()))).toEqual([true, false]);
    expect(seen(makePart('12', 'number', 'latin', vocabulary()))).toEqual([false, false]);
    expect(seen(makePart('ivanov', 'name', 'syllabic', vocabulary()))).toEqual([true, false]);
    expect(seen(indexedPart('hasan', 'name', 'latin', 'hasan', 'حسن'))).toEqual([false, false]);
  });

  it('are one object for equal parts until they have too many meetings', () => {
    const words = new AskedWords();
    const first = words.of(word('ivanov'));
    expect(words.of(word('ivanov'))).toBe(first);
    const kept = 800_000 - 4;
    for (let at = 0; at < kept; at++) first.keep(at, meetingOf(0));
    words.trim();
    expect(words.of(word('ivanov'))).toBe(first);
    words.of(word('smith'));
    words.trim();
    const second = words.of(word('ivanov'));
    expect(second).not.toBe(first);
    expect(second.meetingWith(1)).toBeUndefined();
    // The count begins anew.
    words.trim();
    expect(words.of(word('ivanov'))).toBe(second);
  });
});

describe('hashes of the keys of a query', () => {
  it('are those under which an index has the word, apart from consonants, which have another mark', () => {
    for (const part of variants(4, 200).map(word)) {
      const asked = new Set(queryHashesOf(part));
      const indexed = indexKeysOf(part).filter((key) => key[0] !== "'");
      for (const key of indexed) expect(asked, `${part.text} ${key}`).toContain(keyHash(key));
      expect(asked.size).toBe(indexed.length + (part.consonants.length >= 2 ? 1 : 0));
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
