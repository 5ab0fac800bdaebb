/**
 * Thai words: the Latin spellings of each letter. Names follow no one romanisation: they keep letters of Sanskrit that are not spoken
 * (`Shinawatra`, `Dharmasakti`), write long vowels with r (`Charn`), and leave unwritten vowels to the reader.
 */
import type { SoundUnit } from './letters.ts';

/** Spellings of a letter: usual ones, and those that are usually of another letter. */
interface Spellings {
  readonly usual: readonly string[];
  readonly rare: readonly string[];
}

/** A letter at the beginning of a syllable, and what it is at the end of one in addition: spellings, then classes of consonants. */
interface ThaiLetter {
  readonly first: Spellings;
  readonly last: Spellings;
  readonly classes: readonly string[];
  readonly lastClasses: readonly string[];
}

/**
 * `letters first last classes lastClasses`, with rare spellings after a semicolon; `_` stands for nothing. Source: the Royal Thai General System,
 * and spellings of officials' names.
 */
const ROWS = `
ก k;g,c k,ck;g,q k _
ขฃคฅฆ kh,k;gh,c,g k,ck;g h,k _
ง ng;n _ nk,n _
จ ch,j;jh,tch t,d;c s t,d
ฉชฌ ch,sh;j,tch t,d,j;th s t,d
ซศษส s;z,sh t,d;th s t,d
ญ y;ny,j,i n _,n,s n
ย y;i i;e _ _
ฎด d;t t;th d,t _
ฏต t;d d;th t,d _
ฐฑฒถทธ th,t;d,dh _ t,d _
ณน n _ n _
บ b;p,v p;bh b _
ป p;b _;ph b _
ผพภ ph,p;bh,b,f _ b,bh _
ฝฟ f;ph p;b b _
ม m _ m _
ร r;l n,rn;rl r,l n,rn,_
ลฬ l;r n l,r n
ว w,v;u o,u,ua;ew _,b _
หฮ h _ h _
อ o,a,u,e,i or,aw _ r
ฤ ri,rue,ru,roe,re;li _ r,l _
`;

const list = (cell: string): string[] =>
  cell === '' ? [] : cell.split(',').map((each) => (each === '_' ? '' : each));
const spellingsOf = (cell: string): Spellings => {
  const [usual = '', rare = ''] = cell.split(';');
  return { usual: usual === '_' ? [] : list(usual), rare: list(rare) };
};
const LETTERS: ReadonlyMap<string, ThaiLetter> = new Map(
  ROWS.trim()
    .split('\n')
    .flatMap((row) => {
      const [letters = '', first = '', last = '', classes = '', lastClasses = ''] = row.split(' ');
      const letter: ThaiLetter = {
        first: spellingsOf(first),
        last: spellingsOf(last),
        classes: list(classes),
        lastClasses: lastClasses === '_' ? [] : list(lastClasses),
      };
      return [...letters].map((each) => [each, letter] as const);
    }),
);

/** Spellings of the vowel signs. A vowel may be unspoken at the end of a word, and its sign may be one of two that write one vowel. */
const VOWELS: Readonly<Record<string, string>> = {
  ะ: '(?:[aou])?',
  'ั': '(?:[aou])?',
  า: '(?:ar|ao|au|aw|ow|a|o)?',
  'ิ': '(?:i[ae]?|e[ae]?|oe|y)?',
  'ี': '(?:i[ae]?|e[ae]?|y)?',
  'ึ': '(?:u[ea]{0,2}|e[ua]?|i)?',
  'ื': '(?:u[ea]{0,2}|e[ua]?|i|a)?',
  'ุ': '(?:u|o[ou]?)?',
  'ู': '(?:u|o[ou]?)?',
  เ: '(?:e[aiy]?|a[eyi]?|i[ae]?|oe?|u)?',
  แ: '(?:ae|ai|ea|e|a)?',
  โ: '(?:o[wa]?|u)?',
  ใ: '(?:ai|ay|ei|i|y|e)?',
  ไ: '(?:ai|ay|ei|i|y|e)?',
};
/** The Latin letter of each vowel sign in the plain spelling. */
const PLAIN: Readonly<Record<string, string>> = {
  ะ: 'a',
  'ั': 'a',
  า: 'a',
  'ิ': 'i',
  'ี': 'i',
  'ึ': 'ue',
  'ื': 'ue',
  'ุ': 'u',
  'ู': 'u',
  เ: 'e',
  แ: 'ae',
  โ: 'o',
  ใ: 'ai',
  ไ: 'ai',
  ำ: 'am',
};
/** A vowel that is not written. */
const UNWRITTEN = '(?:[aoueiy])?';

/** Marks of tones and of short vowels, and the signs of repetition and abbreviation. */
const TONES = /[\u0e47-\u0e4b\u0e46\u0e2f]/gu;
/** A vowel that is written before its consonant. */
const BEFORE = /([เแโใไ])([ก-ฮ])/gu;
/** The mark of silence over a consonant, with a vowel sign or without. */
const SILENT = /([ก-ฮ])[ิุ]?์/gu;
const SILENCED = '\u0001';
const SONORANTS: ReadonlySet<string> = new Set('งญณนมยรลว');
const SIBILANTS: ReadonlySet<string> = new Set('จซศษส');
const PALATALS: ReadonlySet<string> = new Set('จฉชฌ');
/** Letters of t and d: the first of two is not spelled. */
const DENTALS: ReadonlySet<string> = new Set('ฎดฏตฐฑฒถทธ');
const isLetter = (char: string | undefined): boolean => char !== undefined && LETTERS.has(char);
const isVowel = (char: string | undefined): boolean => char !== undefined && char in PLAIN;

interface ThaiUnit extends SoundUnit {
  readonly plain: string;
}

const unit = (pattern: string, classes: readonly string[], plain: string): ThaiUnit => ({
  pattern,
  classes,
  plain,
});

const oneOf = (all: readonly string[]): string =>
  `(?:${[...new Set(all)].sort((a, b) => b.length - a.length).join('|')})`;

function lettersOf(word: string): string[] {
  return [
    ...word.replace(TONES, '').replace('ํา', 'ำ').replace(SILENT, `$1${SILENCED}`).replace(BEFORE, '$2$1'),
  ];
}

const units = new Map<string, ThaiUnit>();

/** Returns the unit of a letter: whether it may end a syllable, is followed by a vowel that is written, and may be unspoken. */
function letterUnit(char: string, isFirst: boolean, isOptional: boolean, vowel: string): ThaiUnit {
  const key = `${char}${isFirst ? 1 : 0}${isOptional ? 1 : 0}${vowel}`;
  let known = units.get(key);
  if (known === undefined) {
    const { first, last, classes, lastClasses } = LETTERS.get(char) as ThaiLetter;
    const usual = isFirst ? first.usual : [...first.usual, ...last.usual];
    const rare = isFirst ? first.rare : [...first.rare, ...last.rare];
    const heard = isFirst ? classes : [...classes, ...lastClasses];
    const pattern = (spelled: readonly string[]): string =>
      (isOptional ? `(?:${oneOf(spelled)})?` : oneOf(spelled)) + (isFirst ? '' : vowel);
    known = {
      pattern: pattern(usual),
      ...(rare.length > 0 ? { rare: pattern([...usual, ...rare]) } : {}),
      // The first classes are those of most keys: a letter that may be silent usually is.
      classes: [...new Set(isOptional ? ['', ...heard] : heard)],
      plain: (isOptional ? '' : (first.usual[0] as string)) + (isFirst || isOptional ? '' : 'a'),
    };
    units.set(key, known);
  }
  return known;
}

/** Returns whether a letter is often not spoken, or not spelled. */
function isOptional(letters: readonly string[], at: number): boolean {
  const [before, char, next] = [letters[at - 1], letters[at] as string, letters[at + 1]];
  if (next === SILENCED || before === char) return true;
  // Of two letters before the mark of silence, the first is often silent as well (`จันทร์`, `ลักษณ์`).
  if (letters[at + 2] === SILENCED && isLetter(before)) return true;
  if (char === 'ห') return SONORANTS.has(next ?? '');
  if (char === 'ย')
    return before === 'ไ' || before === 'ใ' || letters[at - 2] === 'ไ' || letters[at - 2] === 'ใ';
  // A dental is not spelled twice (`เศรษฐา`), and t before ch is heard as one sound.
  if (DENTALS.has(char))
    return letters[at + 2] !== SILENCED && (DENTALS.has(next ?? '') || PALATALS.has(next ?? ''));
  if (char === 'ษ') return DENTALS.has(next ?? '');
  if (char !== 'ร') return false;
  // After s, and after a consonant without a vowel, r is seldom spoken (`ศรี`, `จักร`, `เศรษฐา`).
  const onset = isBefore(before) ? letters[at - 2] : before;
  return isLetter(onset) && (SIBILANTS.has(onset ?? '') || (onset === before && !isVowel(next)));
}

/** The vowel signs that are written before the consonant that they follow. */
const isBefore = (char: string | undefined): boolean => char !== undefined && 'เแโใไ'.includes(char);

function thaiUnitsOf(word: string): ThaiUnit[] {
  const letters = lettersOf(word);
  const all: ThaiUnit[] = [];
  for (let at = 0; at < letters.length; at++) {
    const [char, next, after] = [letters[at] as string, letters[at + 1], letters[at + 2]];
    if (char === 'ร' && next === 'ร' && !isVowel(after) && !isBefore(letters[at - 1])) {
      all.push(unit('(?:ar|an|a|ur|un|u|or|r)', ['', 'r', 'n'], 'a'));
      at++;
    } else if (char === 'ท' && next === 'ร' && at === 0) {
      all.push(unit(`(?:s|thr|tr|dr)${UNWRITTEN}`, ['s', 'tr', 'dr'], 'so'));
      at++;
    } else if (char === 'อ' && at > 0 && isLetter(letters[at - 1]) && !isVowel(next))
      all.push(unit('(?:or|aw|o|a)?', ['', 'r'], 'o'));
    else if (char === 'อ') all.push(unit('(?:[aoueiy])?', [''], ''));
    else if (isLetter(char)) {
      // The vowel that is written before a cluster is spoken after it (`แสวง`, `ไตร`).
      const vowel = (isBefore(letters[at - 1]) ? VOWELS[letters[at - 1] as string] : '') + UNWRITTEN;
      all.push(letterUnit(char, isVowel(next), isOptional(letters, at), vowel));
    } else if (char === 'ำ') all.push(unit('(?:am|um|arm)', ['m', 'rm'], 'am'));
    else if (char === 'า') all.push(unit(VOWELS[char] as string, ['', 'r'], 'a'));
    else if (char in VOWELS) all.push(unit(VOWELS[char] as string, [], PLAIN[char] as string));
  }
  return all;
}

/** Returns the units of a word in Thai letters. */
export const thaiUnits = (word: string): readonly SoundUnit[] => thaiUnitsOf(word);

/** Returns one spelling of a word in Thai letters, near the usual ones. */
export const thaiPlain = (word: string): string =>
  thaiUnitsOf(word)
    .map(({ plain }) => plain)
    .join('')
    .replace(/(?<=[^aeiou])a$/, '');
