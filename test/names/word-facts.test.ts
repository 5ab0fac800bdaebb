/** The comparison of words by their bytes and letters: the same results as the comparison of decoded words. */
import { describe, expect, it } from 'vitest';
import { seeded } from '../../bench/name-lists.ts';
import { isOneEdit, isOneEditOf } from '../../src/names/edits.ts';
import { KINDS, keyHash, SCRIPTS } from '../../src/names/index/format.ts';
import { FoundWords } from '../../src/names/index/found-words.ts';
import { indexKeysOf, queryHashesOf } from '../../src/names/index/keys.ts';
import { packFacts, WordFacts } from '../../src/names/index/word-facts.ts';
import { makePart, type NamePart } from '../../src/names/parse.ts';
import { heardOf, mayRead, readingOf } from '../../src/names/readings/pattern.ts';
import { LEAST_SIMILARITY, meet } from '../../src/names/similarity.ts';
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
