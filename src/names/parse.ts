/** Parses a name into words in Latin letters, each with its kind (name, number, legal form, title, particle) and its weight. */
import { countryWords } from '../sources/countries.ts';
import { isOneEdit } from './edits.ts';
import { languageOf } from './readings/cyrillic.ts';
import { koreanInCyrillic } from './readings/kontsevich.ts';
import { type Heard, heardOf, type Reading, readingOf } from './readings/pattern.ts';
import { wadeOf } from './readings/wade.ts';
import { fold, letterSet, skeleton, unvocalised } from './sound.ts';
import { type LatinWord, type NameScript, transliterateWord } from './transliterate.ts';
import { type Vocabulary, vocabulary } from './vocabulary.ts';

export type NamePartKind =
  | 'name'
  | 'initial'
  | 'number'
  | 'particle'
  | 'honorific'
  | 'descriptive'
  | 'form'
  | 'segment';

export interface NamePart {
  /** Lower-case a–z and digits: the word itself, the number in digits, or the kind of legal form. */
  readonly text: string;
  readonly kind: NamePartKind;
  readonly script: NameScript;
  /** The part in its own letters, if these have no single Latin spelling (see `LatinWord`). */
  readonly origin: string;
  /** The normalised spelling, the classes of consonants, and the consonants that an Arabic spelling would have. */
  readonly folded: string;
  /** The letters of the folded spelling, `a` to `z` as bits 0 to 25; digits are bit 26. */
  readonly letters: number;
  readonly skeleton: string;
  readonly consonants: string;
  /** Groups of given names, or of words with one meaning; the numbers of the two do not overlap. */
  readonly groups: readonly number[];
  /** How distinctive the part is, 0–1. */
  readonly weight: number;
  /** How rare the part is as a name of people, 0–1. */
  readonly rarity: number;
  /** Whether the part is the name of a country. */
  readonly isPlace: boolean;
  /** The Wade–Giles spelling of a pinyin word; null if it is not one. */
  readonly wade: string | null;
  /** The reading of a part in its own letters. */
  readonly reading: Reading;
  /** What readings compare of a part in Latin letters. */
  readonly heard: Heard;
}

export interface ParsedName {
  /** In the order of the name, without legal forms. */
  readonly parts: readonly NamePart[];
  /** The legal forms of the name, by kind. */
  readonly forms: readonly NamePart[];
  /** Bit mask of the positions in `parts` that the writer marked as the family name, by a comma or by capitals; 0 if there are none. */
  readonly family: number;
  /** Runs of Han characters or Hangul syllables that are written as one word. */
  readonly segments: readonly NameSegment[];
  /** The words as written, one for each part and then for each form; empty for a name of an index. */
  readonly written: readonly string[];
  /** True if the name has more words than are used. */
  readonly isCut?: boolean;
}

export interface NameSegment {
  /** Position of the first character in `parts`. */
  readonly at: number;
  readonly count: number;
  readonly part: NamePart;
}

/** Maximum number of words of a name that are used: the longest real name has 40, and matching is quadratic. */
export const PARTS_MAX = 24;
/** Maximum number of words that are read: several may be one legal form. */
const WORDS_MAX = 2 * PARTS_MAX;
/** Maximum number of letters of a word that are used. */
const WORD_MAX = 40;

const APOSTROPHES = /['’‘ʼʻʿʾ`´ʹʺ״׳]/g;
const HAS_APOSTROPHE = new RegExp(APOSTROPHES.source);
const ENGLISH_GENITIVE = /(?<=\p{L}{2})['’]s(?!\p{L})/gu;
const DOTTED_LETTERS = /(?<![\p{L}\p{N}])(?:\p{L}\.){2,}\p{L}?(?![\p{L}\p{N}])/gu;
const SEPARATORS = /[^\p{L}\p{N}\p{M}]+/u;
/**
 * Invisible characters, which normalisation keeps: a name with some between its letters is the same name. The zero-width non-joiner divides
 * words of the Arabic script, and the zero-width space those of scripts that write words without spaces.
 */
const INVISIBLE =
  /(?![\u200b\u200c])\p{Default_Ignorable_Code_Point}|(?<!\p{Script=Arabic}\p{M}*)\u200c|(?<![\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*)\u200b/gu;
const ORDINAL = /^(\d{1,4})(?:st|nd|rd|th)$/;
const MIXED = /^[a-z]+\d+[a-z]+$|^\d[a-z]{3,}$/;
const LEET: Readonly<Record<string, string>> = { 0: 'o', 1: 'i', 3: 'e', 4: 'a', 5: 's', 7: 't' };
const LETTERS_AND_DIGITS = /\d+|[a-z]+/g;
const ABD = 'abd';
/** With these letters begin the words that are split by `abd` and `abu`. */
const AB = 'ab';
const ALLAH = /^all?ah?$/;
const ABD_ALONE = /^abd(?:[aeou]l|oul|u|u[rsntzd])?$/;
/** Matches `abdulaziz`, `abdurrahman`, `abdessalam`, but not `abdullah`. */
const ABD_GLUED =
  /^(?!abd[aeiou]?l+[aeou]h?i?$|abd[aeiou]?ll[aeou]h)abd(?:[aeiou]l|oul|[aeou]([rsntzd])(?=\1))(?=[a-z]{4,}$|ha[iyq]$)/;
/** The last letters of every spelling of `din`. */
const endsAsDin = (text: string): boolean => text.endsWith('n') || text.endsWith('e');
const DIN_WORD = 'din';
const DIN = /^(?:[aeu]l|[aeiou]d)?dd?(?:ine?|een|ien)$/;
const DIN_GLUED = /(?<=[a-z]{3})(?:[aeiou]dd(?:ine?|een)|ud(?:in|een)|edine|[aeu]ldin)$/;

/** A word of a name with what its writing says about it. */
interface Written extends LatinWord {
  /** Written before the comma of `FAMILY, Given`, or in capitals in a name that has other words with small letters. */
  readonly isFamily: boolean;
  /** Letters with dots (`S.V.`), or two or three capitals without a vowel (`SV`): initials if the name is a person's. */
  readonly isLetters: boolean;
  /** The word as written. */
  readonly raw: string;
  /** Number of the word that it was written in. */
  readonly word: number;
  /** The letters of `isLetters`, each in Latin. */
  readonly letters?: readonly string[];
}

const HAN_OR_KANA = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Parses a name. It never throws; a name without letters and digits has no parts. */
export function parseName(name: string): ParsedName {
  const isPlain = ONLY_LETTERS.test(name);
  const words = isPlain ? (plainWords(name) ?? latinWords(name)) : splitDigits(latinWords(name));
  return classify(splitArabic(words, vocabulary()), vocabulary(), !isPlain && MIDDLE_DOT.test(name));
}

const MIDDLE_DOT = /[\u00b7\u2022\u2027\u30fb\uff0e]/;

/** Legal forms that do not occur at the start or end of a word by chance, joined to a word (`JSCARGUMENT`, `SiemensAG`). */
const GLUED_FORM_BEFORE = /^(ojsc|pjsc|cjsc|jsc|ooo|llc|oao)(?=[a-z]{4})/;
const GLUED_FORM_AFTER = /(?<=[a-z]{4})(gmbh|ojsc|pjsc|jsc|llc|ltd|ooo)$/;
const CAPITALS_AFTER = /(?<=\p{Ll}{2})(AG|SA|AB|NV|BV|SE|LLC|LTD|PLC|KG|AS|OY)(?![\p{L}\p{N}])/gu;
/**
 * The kind of a ship, before its name: motor vessel, tanker, ship or yacht, fishing, sailing, research or steam ship, tug, gas or crude oil
 * carrier. Two letters without a stroke are a kind only if no name of a person begins with them.
 */
const VESSEL_PREFIX =
  /^\s*(?:M\/[TVSY]|M\.[TVSY]\.?|M[TV]S?|MS|F\/[VB]|FV|S\/[SVY]|R\/V|T\/[BTS]|O\/T|B\/C|(?:LNG|LPG)(?:\/C|C)?|VLCC)[\s.:]+(?=\S)/i;
/** One letter with a dot. */
const DOTTED_LETTER = /(?<![\p{L}\p{N}.])(\p{L})\.(?!\p{L})/gu;
/** Marks letters that were written with dots; it does not occur in names. */
const LETTERS_MARK = '\u02ad';
const NO_VOWEL = /^[^aeiouy]{2,3}$/;
const CAPITALS = /^\p{Lu}{2,3}$/u;
const WHOLLY_CAPITAL = /^(?=.*\p{Lu})[^\p{Ll}]{2,}$/u;
const HAS_SMALL = /\p{Ll}{2}/u;

const HAS_CYRILLIC = /\p{Script=Cyrillic}/u;
/** Most names have nothing but letters, spaces, commas and hyphens. */
const ONLY_LETTERS = /^[A-Za-z ,-]*$/;
const PLAIN_SEPARATORS = /[ ,-]+/;
const SMALL_THEN_CAPITAL = /[a-z]{2}[A-Z]/;
const TWO_CAPITALS = /[A-Z]{2}/;

/** One small letter between hyphens is a syllable of a word (`Chan-o-cha`), no initial. */
const SYLLABLE_LETTER = /(?<=\p{L}{2})-(\p{Ll})-(?=\p{L}{2})/gu;

/** Most names have none of these marks, which costs less to see than to look for each. */
function withoutMarks(name: string): string {
  let out = HAS_APOSTROPHE.test(name) ? name.replace(ENGLISH_GENITIVE, '').replace(APOSTROPHES, '') : name;
  if (out.includes('.'))
    out = out
      .replace(DOTTED_LETTERS, (letters) => ` ${LETTERS_MARK}${letters.replaceAll('.', '')} `)
      .replace(DOTTED_LETTER, ` ${LETTERS_MARK}$1 `);
  return out.includes('&') ? out.replaceAll('&', ' and ') : out;
}

const isSmall = (unit: number): boolean => unit >= 97 && unit <= 122;
const isCapital = (unit: number): boolean => unit >= 65 && unit <= 90;
const COMMA = ','.charCodeAt(0);
const HYPHEN = '-'.charCodeAt(0);
/** With these letters begin the prefixes of vessels without a stroke or a dot. */
const MAY_BE_VESSEL = /^ *[mflv]/i;

/**
 * The same as `latinWords` for a name of letters, spaces, commas and hyphens, as most are; null for the few that need its patterns: with the
 * prefix of a vessel, a small letter between hyphens, or a capital after small letters.
 */
function plainWords(name: string): Written[] | null {
  let comma = -1;
  let hasSmall = false;
  for (let at = 0; at < name.length; at++) {
    const unit = name.charCodeAt(at);
    if (unit === COMMA && comma < 0) comma = at;
    if (unit === HYPHEN && isSmall(name.charCodeAt(at + 1)) && name.charCodeAt(at + 2) === HYPHEN)
      return null;
    if (!isSmall(unit) || !isSmall(name.charCodeAt(at + 1))) continue;
    hasSmall = true;
    if (isCapital(name.charCodeAt(at + 2))) return null;
  }
  if (MAY_BE_VESSEL.test(name) && VESSEL_PREFIX.test(name)) return null;
  const words: Written[] = [];
  let word = 0;
  for (let from = 0; from < name.length && words.length < WORDS_MAX; ) {
    let to = from;
    let hasSmallLetter = false;
    for (; to < name.length; to++) {
      const unit = name.charCodeAt(to);
      if (isSmall(unit)) hasSmallLetter = true;
      else if (!isCapital(unit)) break;
    }
    if (to > from) {
      const raw = name.slice(from, to);
      const isCapitals = !hasSmallLetter && to - from >= 2;
      const isFamily = comma >= 0 ? from < comma : hasSmall && isCapitals;
      addPlain(raw, isFamily, isCapitals, ++word, words);
    }
    from = to + 1;
  }
  return words;
}

/** Adds a word of letters: with a legal form at an end, it is two. */
function addPlain(raw: string, isFamily: boolean, isCapitals: boolean, word: number, words: Written[]): void {
  const text = raw.toLowerCase().slice(0, WORD_MAX);
  const apart = withoutForm(text);
  const isLetters = isCapitals && raw.length <= 3 && NO_VOWEL.test(text);
  const letters = isLetters ? [...text] : undefined;
  for (const one of apart === text ? [text] : apart.split(' '))
    words.push({
      text: one,
      script: 'latin',
      origin: '',
      isFamily,
      isLetters,
      word,
      raw,
      ...(letters ? { letters } : {}),
    });
}

function latinWords(name: string): Written[] {
  const isPlain = ONLY_LETTERS.test(name);
  const whole = (isPlain ? name : name.normalize('NFKC').replace(INVISIBLE, '')).replace(VESSEL_PREFIX, '');
  const bare = whole.includes('-') ? whole.replace(SYLLABLE_LETTER, '$1') : whole;
  const mayHaveForm = isPlain ? SMALL_THEN_CAPITAL.test(bare) : TWO_CAPITALS.test(bare);
  const named = mayHaveForm ? bare.replace(CAPITALS_AFTER, ' $1') : bare;
  const plain = isPlain || ONLY_LETTERS.test(named) ? named : withoutMarks(named);
  const comma = plain.indexOf(',');
  const hasSmall = HAS_SMALL.test(plain);
  const words: Written[] = [];
  let word = 0;
  let from = 0;
  const tokens = plain.split(isPlain ? PLAIN_SEPARATORS : SEPARATORS).filter((token) => token !== '');
  const korean =
    !isPlain && HAS_CYRILLIC.test(plain)
      ? koreanInCyrillic(tokens.map((token) => token.toLowerCase()))
      : null;
  const language = isPlain ? null : languageOf(plain.toLowerCase());
  for (const token of tokens) {
    const at = plain.indexOf(token, from);
    from = at + token.length;
    word++;
    const isMarked = token.startsWith(LETTERS_MARK);
    const written = isMarked ? token.slice(1) : token;
    const lower = written.toLowerCase();
    const isFamily = comma >= 0 ? at < comma : !isMarked && hasSmall && WHOLLY_CAPITAL.test(written);
    if (isMarked && written.length <= 3 && !HAN_OR_KANA.test(written)) {
      // Each letter is spelled alone: the initial of Yuri is `Ю`, two letters in Latin.
      const letters = [...lower].map((letter) => transliterateWord(letter)[0]?.text ?? '');
      const text = letters.join('');
      if (text !== '')
        words.push({
          text,
          script: 'latin',
          origin: '',
          isFamily,
          isLetters: true,
          word,
          raw: written,
          letters,
        });
      continue;
    }
    const spelled = korean?.[word - 1];
    const latin: readonly LatinWord[] =
      spelled === undefined
        ? transliterateWord(lower, language)
        : [{ text: spelled, script: 'latin', origin: '' }];
    for (const each of latin) {
      const raw = each.script === 'syllabic' ? each.origin : written;
      const text = each.text.slice(0, WORD_MAX);
      const apart = each.script === 'latin' ? withoutForm(text) : text;
      const isLetters = each.script === 'latin' && CAPITALS.test(written) && NO_VOWEL.test(text);
      const letters = isLetters ? [...text] : undefined;
      for (const one of apart === text ? [text] : apart.split(' '))
        words.push({
          text: one,
          script: each.script,
          origin: each.origin.slice(0, WORD_MAX),
          isFamily,
          isLetters,
          word,
          raw,
          ...(letters ? { letters } : {}),
        });
    }
    if (words.length >= WORDS_MAX) break;
  }
  return words;
}

/** Writes a legal form at the start or the end of a word apart. */
function withoutForm(text: string): string {
  if (text.length < GLUED_LEAST) return text;
  const before = FORM_BEGINS.test(text) ? text.replace(GLUED_FORM_BEFORE, '$1 ') : text;
  return FORM_ENDS.test(before) ? before.replace(GLUED_FORM_AFTER, ' $1') : before;
}

/** Letters of the shortest word with a form in it, and the first and the last letters of the forms at an end. */
const GLUED_LEAST = 7;
const FORM_BEGINS = /^[opcjl]/;
const FORM_ENDS = /[chdo]$/;

/** `1st` is a number; `sech1n` replaces a letter with a digit; `no2` is two words. */
function splitDigits(words: readonly Written[]): Written[] {
  const out: Written[] = [];
  for (const word of words) {
    if (!/\d/.test(word.text)) out.push(word);
    else if (ORDINAL.test(word.text)) out.push({ ...word, text: word.text.replace(ORDINAL, '$1') });
    else if (MIXED.test(word.text)) {
      out.push({ ...word, text: word.text.replace(/\d/g, (digit) => LEET[digit] ?? digit) });
    } else {
      for (const part of word.text.match(LETTERS_AND_DIGITS) ?? []) out.push({ ...word, text: part });
    }
  }
  return out;
}

/** Arabic and Hebrew words that Latin spelling treats as particles. */
const ABJAD_PARTICLES: ReadonlyMap<string, string> = new Map([
  ['بن', 'bin'],
  ['ابن', 'ibn'],
  ['بنت', 'bint'],
  ['آل', 'al'],
  ['ال', 'al'],
  ['בן', 'ben'],
  ['בר', 'bar'],
]);
/** Words that are written with a long vowel which Latin spelling shortens. */
const ABJAD_WORDS: ReadonlyMap<string, string> = new Map([
  ['ابو', 'abu'],
  ['ابی', 'abi'],
  ['ام', 'umm'],
  // Titles: in Latin letters they have many spellings.
  ['سید', 'sayyid'],
  ['شیخ', 'sheikh'],
  ['حاج', 'haj'],
  ['حاجی', 'haji'],
  ['دکتر', 'dr'],
  ['دکتور', 'dr'],
  ['ملا', 'mullah'],
  ['مولوی', 'maulavi'],
]);
/** Frequent given names, by the Latin spelling with which the tables of frequencies have them. */
const FREQUENT_ABJAD: ReadonlyMap<string, string> = new Map(
  (
    'محمد mohamed احمد ahmad علی ali حسن hassan حسین hossein خالد khalid ابراهیم ibrahim عبدالله abdullah مصطفی mustafa عمر omar ' +
    'یوسف yusuf فاطمة fatima سعید said محمود mahmud صالح saleh مهدی mahdi جعفر jafar رضا reza ناصر naser خان khan کریم karim ' +
    'رحمن rahman اسماعیل ismail سلیمان suleiman عباس abbas قاسم qasim حمید hamid مجید majid مریم maryam عثمان osman جمال jamal ' +
    'کمال kamal عزیز aziz رشید rashid سالم salem طارق tariq یاسین yasin هاشم hashem جواد javad امیر amir اکبر akbar محسن mohsen ' +
    'منی mona لیلی laila سارة sara نورة noura زینب zainab خدیجة khadija عائشة aisha'
  )
    .split(' ')
    .flatMap((word, at, all) => (at % 2 === 0 ? [[word, all[at + 1] as string] as const] : [])),
);
/** Returns whether a word in Arabic letters is a frequent given name. */
export const isGivenAbjad = (origin: string): boolean => FREQUENT_ABJAD.has(origin);

/** Given names that Persian writes as one word with the next one (`علیرضا`), which Latin spelling joins or not; and those that come second. */
const JOINED_FIRST = /^(?:محمد|علی|احمد|امیر|عباس|غلام|حسین|حسن|حمید|سید|نور|میر)/u;
const JOINED_SECOND: ReadonlySet<string> = new Set(
  (
    'رضا علی حسین حسن مهدی جواد تقی نقی باقر کاظم صادق منصور اکبر اصغر امین قاسم عباس محمد احمد ابراهیم سعید جعفر هادی حسام طاهر رسول نبی ' +
    'حیدر یونس یوسف الله ناصر کریم حمید مسعود مجید محسن مصطفی مرتضی کمال جمال فاضل عارف'
  ).split(' '),
);
/** Ends of Persian surnames that Latin spelling joins or not (`Abedzadeh`, `Saleh Nejad`). */
const SURNAME_END = /(?<=\p{L}{3})(?:نژاد|زاده|پور|خواه|آبادی)$/u;
const ABU_JOINED = /^ابوال(?=\p{L}{3})|^ابو(?=بکر$)/u;
const ABU_GLUED = /^ab(?:ou|oo|ua|[ou])(?:l(?=[b-df-hj-np-tv-z][a-z]{3,}$)|(?=ba[kc]k?[aei]?r$))/;

/**
 * Splits Arabic compounds: `Abd al-Rahman`, `Abdul Rahman` and `Abdurrahman` become the words abd and rahman, `Nur al-Din` and
 * `Nureddin` become nur and din. Each half can then be found alone, in any order.
 */
function splitArabic(words: readonly Written[], vocab: Vocabulary): Written[] {
  const out: Written[] = [];
  const latin = (word: Written, text: string): Written => ({ ...word, text, script: 'latin', origin: '' });
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as Written;
    const { text, script } = word;
    const next = words[at + 1];
    if (script === 'abjad' && word.origin === 'عبد' && next?.origin === 'الله') {
      out.push({ ...word, text: 'bdllh', origin: 'عبدالله', raw: `${word.raw} ${next.raw}` });
      at++;
    } else if (script === 'abjad') splitAbjad(word, out);
    else if (script !== 'latin') out.push(word);
    else if (!text.startsWith(AB) && !endsAsDin(text) && !vocab.joining.has(text)) out.push(word);
    else if (ABD_ALONE.test(text) && next !== undefined && ALLAH.test(next.text)) {
      out.push(latin(word, 'abdallah'));
      at++;
    } else if (ABD_ALONE.test(text)) {
      out.push(latin(word, ABD));
      // The article between the halves belongs to neither.
      if (next && vocab.joining.has(next.text) && at + 2 < words.length) at++;
    } else if (next && vocab.joining.has(text) && DIN.test(next.text)) {
      out.push(latin(word, DIN_WORD));
      at++;
    } else if (DIN.test(text)) out.push(latin(word, DIN_WORD));
    else {
      const rest = text.replace(ABD_GLUED, '').replace(ABU_GLUED, '');
      // `Abol` keeps its spelling, so that the halves joined are the word as written: an error in it leaves it in one word.
      if (rest !== text)
        out.push(latin(word, text.startsWith(ABD) ? ABD : text.slice(0, text.length - rest.length)));
      const before = rest.replace(DIN_GLUED, '');
      out.push({ ...word, text: before });
      if (before !== rest) out.push(latin(word, DIN_WORD));
    }
  }
  return out;
}

/** `عبد` alone or before an article, and `الدين` at the end, in letters with unified forms. */
const ORIGIN_ABD = /^عبدال(?!ل?ه)(?=\p{L}{3}|ح[قی]$)|^عبد(?!ال|لل)(?=\p{L}{4})/u;
const ORIGIN_DIN = /(?<=\p{L}{2})الدین$/u;
const ORIGIN_ABD_ALONE = 'عبد';
const ORIGIN_DIN_ALONE = 'دین';

/** Returns the words that Arabic or Persian writes as one; null if it is one. */
function joinedIn(origin: string): readonly string[] | null {
  if (ABU_JOINED.test(origin)) return ['ابو', origin.replace(ABU_JOINED, '')];
  const first = JOINED_FIRST.exec(origin)?.[0];
  if (first !== undefined && JOINED_SECOND.has(origin.slice(first.length)))
    return [first, origin.slice(first.length)];
  const end = SURNAME_END.exec(origin)?.[0];
  return end === undefined ? null : [origin.slice(0, -end.length), end];
}

function splitAbjad(word: Written, out: Written[]): void {
  const { text, origin } = word;
  const latin = (each: string): Written => ({ ...word, text: each, script: 'latin', origin: '' });
  const known = ABJAD_PARTICLES.get(origin) ?? ABJAD_WORDS.get(origin);
  if (known !== undefined) {
    out.push(latin(known));
    return;
  }
  const joined = joinedIn(origin);
  if (joined !== null) {
    for (const each of joined) splitAbjad({ ...word, text: abjadText(each, text), origin: each }, out);
    return;
  }
  const isAbd = origin === ORIGIN_ABD_ALONE || ORIGIN_ABD.test(origin);
  if (isAbd) out.push(latin(ABD));
  if (origin === ORIGIN_ABD_ALONE) return;
  const own = origin.replace(ORIGIN_ABD, '');
  const before = own.replace(ORIGIN_DIN, '');
  if (before !== ORIGIN_DIN_ALONE)
    out.push(before === origin ? word : { ...word, text: abjadText(before, text), origin: before });
  if (before === ORIGIN_DIN_ALONE || before !== own) out.push(latin(DIN_WORD));
}

/** Returns the Latin letters of a part of a word. */
const abjadText = (origin: string, whole: string): string => transliterateWord(origin)[0]?.text ?? whole;

function classify(words: readonly Written[], vocab: Vocabulary, isForeign: boolean): ParsedName {
  const parts: NamePart[] = [];
  const forms: NamePart[] = [];
  const source: (Written | null)[] = [];
  const writtenForms: string[] = [];
  const letters: number[] = [];
  let isPerson = true;
  const add = (part: NamePart, from: Written): void => {
    parts.push(part);
    source.push(from);
    if (part.kind === 'descriptive') isPerson = false;
  };
  const isSpecial = words.map(({ text }) => vocab.special.has(text));
  let at = 0;
  for (; at < words.length && parts.length < PARTS_MAX; at++) {
    // Only the last word may be a form that no table has: one with a wrong letter.
    const isName = !isSpecial[at] && !isSpecial[at + 1] && !isSpecial[at + 2] && at + 1 < words.length;
    const form = isName ? null : formAt(words, at, vocab);
    const word = words[at] as Written;
    // If a name consists only of a word that is also a legal form ("SE", "AG"), the word is its name.
    // `S.A.` alone may be the initials of a person (`Ivanov S.A.`); a form of several words (`S.A. de C.V.`) may not.
    const isInitials = form?.words === 1 && word.isLetters && word.text.length < 3;
    if (form && words.length > 1 && !isInitials) {
      forms.push(makePart(form.kind, 'form', 'latin', vocab));
      writtenForms.push(
        words
          .slice(at, at + form.words)
          .map((each) => each.raw)
          .join(' '),
      );
      at += form.words - 1;
      continue;
    }
    const tens = isSpecial[at] ? vocab.tens.get(word.text) : undefined;
    const ones = tens === undefined ? undefined : vocab.numbers.get(words[at + 1]?.text ?? '');
    if (tens !== undefined) {
      const together = ones !== undefined && ones > 0 && ones < 10;
      add(makePart(String(tens + (together ? ones : 0)), 'number', 'latin', vocab), word);
      if (together) at++;
      continue;
    }
    if (word.isLetters) letters.push(parts.length);
    add(partOf(word, at, isSpecial[at] === true, vocab), word);
  }
  if (parts.length === 0) {
    for (const word of words.slice(0, PARTS_MAX))
      add(makePart(word.text, 'name', word.script, vocab, word.origin), word);
    return {
      parts,
      forms: [],
      family: 0,
      segments: segmentsOf(parts, source, isForeign, vocab),
      written: source.map((word) => word?.raw ?? ''),
    };
  }
  const isCut = at < words.length || words.length >= WORDS_MAX;
  isPerson &&= forms.length === 0;
  if (isPerson && letters.length > 0) splitInitials(parts, source, letters, vocab);
  return {
    parts,
    forms,
    family: isPerson ? familyOf(parts, source) : 0,
    // The characters of an organisation before its legal form are no foreign name.
    segments: forms.length > 0 ? NO_SEGMENTS : segmentsOf(parts, source, isForeign, vocab),
    written: [...source.map((word) => word?.raw ?? ''), ...writtenForms],
    ...(isCut ? { isCut } : {}),
  };
}

/** Splits letters with dots (`S.V.`) into initials, if the name has another word: alone they are an abbreviation. */
function splitInitials(
  parts: NamePart[],
  source: (Written | null)[],
  letters: readonly number[],
  vocab: Vocabulary,
): void {
  const others = parts.filter(
    (part, at) => !letters.includes(at) && part.kind === 'name' && part.text.length > 2,
  );
  if (others.length === 0 || others.length > 3) return;
  for (const at of [...letters].reverse()) {
    const { letters: all = [] } = source[at] as Written;
    if (parts.length - 1 + all.length > PARTS_MAX || vocab.honorifics.has((parts[at] as NamePart).text))
      continue;
    parts.splice(at, 1, ...all.map((text) => makePart(text, 'initial', 'latin', vocab)));
    const word = source[at] as Written;
    source.splice(at, 1, ...[...word.raw].map((raw) => ({ ...word, raw: `${raw}.` })));
  }
}

function familyOf(parts: readonly NamePart[], source: readonly (Written | null)[]): number {
  let mask = 0;
  let names = 0;
  let others = 0;
  for (const [at, part] of parts.entries()) {
    if (part.kind !== 'name') continue;
    names++;
    if (source[at]?.isFamily === true) mask |= 1 << at;
    else others++;
  }
  for (const part of parts) if (part.kind === 'initial') others++;
  // If every name is marked, or only initials are left, no name is distinguished.
  return others === 0 || names === 0 ? 0 : mask;
}

/** Marks a segment of a name with a middle dot, which separates the parts of a foreign name. */
const FOREIGN_MARK = '·';

function segmentsOf(
  parts: readonly NamePart[],
  source: readonly (Written | null)[],
  isForeign: boolean,
  vocab: Vocabulary,
): readonly NameSegment[] {
  let segments: NameSegment[] | null = null;
  for (let at = 0; at < parts.length; ) {
    const word = source[at]?.word;
    let end = at + 1;
    while (end < parts.length && source[end]?.word === word && (parts[end] as NamePart).script === 'syllabic')
      end++;
    if (end - at >= 2 && end - at <= SEGMENT_MAX && (parts[at] as NamePart).script === 'syllabic') {
      const run = parts.slice(at, end);
      const origin = (isForeign ? FOREIGN_MARK : '') + run.map((part) => part.origin).join('');
      const text = run
        .map((part) => part.text)
        .join('')
        .slice(0, WORD_MAX);
      segments ??= [];
      segments.push({ at, count: end - at, part: makePart(text, 'segment', 'syllabic', vocab, origin) });
    }
    at = end;
  }
  return segments ?? NO_SEGMENTS;
}

/** Returns the positions of stored segments: each is the run of parts whose letters it joins. */
export function placeSegments(
  parts: readonly NamePart[],
  stored: readonly NamePart[],
): readonly NameSegment[] {
  const segments: NameSegment[] = [];
  let from = 0;
  for (const part of stored) {
    const origin = part.origin.startsWith(FOREIGN_MARK) ? part.origin.slice(1) : part.origin;
    for (let at = from; at < parts.length; at++) {
      let end = at;
      let text = '';
      while (end < parts.length && text.length < origin.length) text += (parts[end++] as NamePart).origin;
      if (text !== origin) continue;
      segments.push({ at, count: end - at, part });
      from = end;
      break;
    }
  }
  return segments;
}

/** Longer runs of characters are the names of organisations. */
const SEGMENT_MAX = 8;
export const NO_SEGMENTS: readonly NameSegment[] = [];

function formAt(
  words: readonly LatinWord[],
  at: number,
  vocab: Vocabulary,
): { kind: string; words: number } | null {
  let phrase = '';
  let found: { kind: string; words: number } | null = null;
  const most = Math.min(vocab.longestForm, words.length - at);
  for (let count = 1; count <= most; count++) {
    phrase += (count === 1 ? '' : ' ') + (words[at + count - 1] as LatinWord).text;
    const kind = vocab.forms.get(phrase);
    // A single word of two letters is a legal form only at either end: elsewhere it is part of a person's name.
    if (kind && (phrase.length > 2 || at === 0 || at + count === words.length))
      found = { kind, words: count };
    if (!vocab.formStarts.has(phrase)) break;
  }
  const slipped = slippedFormAt(words, at, vocab);
  if (slipped !== null && slipped.words > (found?.words ?? 0)) return slipped;
  // At the beginning, two letters are a legal form only in Cyrillic and Indonesian names.
  if (found && phrase.length > 0 && at === 0) {
    const first = (words[at] as LatinWord).text;
    if (found.words === 1 && first.length === 2 && !LEADING_FORMS.has(first)) return null;
  }
  return found;
}

/**
 * Finds a legal form of several words with one wrong letter in one of them, or a long one-word form with a wrong letter at the end
 * of the name.
 */
function slippedFormAt(
  words: readonly LatinWord[],
  at: number,
  vocab: Vocabulary,
): { kind: string; words: number } | null {
  const text = (words[at] as LatinWord).text;
  const next = words[at + 1]?.text;
  if (next === undefined) {
    const first = text.charCodeAt(0);
    const last = text.charCodeAt(text.length - 1);
    for (let length = text.length - 1; length <= text.length + 1; length++) {
      const forms = vocab.longForms.get(length);
      if (forms === undefined) continue;
      for (const { form, kind } of forms) {
        // One edit leaves the first or the last letter as it is.
        const isNear = form.charCodeAt(0) === first || form.charCodeAt(form.length - 1) === last;
        if (isNear && isOneEdit(text, form)) return { kind, words: 1 };
      }
    }
    return null;
  }
  const afterNext = words[at + 2]?.text ?? '';
  if (!vocab.formWords.has(text) && !vocab.formWords.has(next) && !vocab.formWords.has(afterNext))
    return null;
  const most = Math.min(vocab.longestForm, words.length - at);
  for (let count = most; count >= 2; count--) {
    for (let wrong = 0; wrong < count; wrong++) {
      const found = vocab.formsWithout.get(withGap(words, at, count, wrong));
      const word = (words[at + wrong] as LatinWord).text;
      const form = found?.find((each) => isOneEdit(each.word, word));
      if (form) return { kind: form.kind, words: count };
    }
  }
  return null;
}

function withGap(words: readonly LatinWord[], at: number, count: number, gap: number): string {
  let phrase = '';
  for (let word = 0; word < count; word++) {
    if (word > 0) phrase += ' ';
    if (word !== gap) phrase += (words[at + word] as LatinWord).text;
  }
  return phrase;
}

const LEADING_FORMS: ReadonlySet<string> = new Set(['ao', 'pt', 'ad', 'at', 'ag']);

const ALL_DIGITS = /^\d+$/;
const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57;

function partOf(word: LatinWord, at: number, isSpecial: boolean, vocab: Vocabulary): NamePart {
  const { text, script, origin } = word;
  if (!isSpecial && script === 'latin' && text.length > 1 && !isDigit(text.charCodeAt(0)))
    return latinPart(text, 'name', vocab);
  const number =
    isDigit(text.charCodeAt(0)) && ALL_DIGITS.test(text)
      ? Number(text.slice(0, 15))
      : (vocab.numbers.get(text) ?? (at > 0 && !ROMAN_NAMES.has(text) ? vocab.roman.get(text) : undefined));
  if (number !== undefined && script === 'latin') return makePart(String(number), 'number', 'latin', vocab);
  if (text.length === 1 && script === 'latin') return makePart(text, 'initial', script, vocab);
  if (script !== 'latin') return makePart(text, 'name', script, vocab, origin);
  if (vocab.particles.has(text)) return makePart(text, 'particle', script, vocab);
  if (vocab.honorifics.has(text)) return makePart(text, 'honorific', script, vocab);
  if (vocab.descriptive.has(text)) return makePart(text, 'descriptive', script, vocab);
  return makePart(text, 'name', script, vocab);
}

/** Roman numerals that are usually Chinese and Vietnamese names. */
const ROMAN_NAMES: ReadonlySet<string> = new Set(['xi', 'vi']);

const WEIGHTS: Readonly<Record<NamePartKind, number>> = {
  name: 1,
  initial: 0.3,
  number: 0.6,
  particle: 0.12,
  honorific: 0.08,
  descriptive: 0.5,
  form: 0.1,
  segment: 1,
};
/** Maximum reduction of a name's weight because it is common. */
const COMMON_LOSS = 0.5;

/** Maximum reduction of a name's rarity because many people have it. */
const RARITY_LOSS = 0.85;

/** Weight of a word that is half of many names. */
const HALF_WEIGHT = 0.4;

const ROOM = 50_000;
const LATIN_ROOM = 150_000;
const known = new Map<string, NamePart>();
/** The parts in Latin letters, by kind and text: nearly all of them. */
const latinParts = new Map<NamePartKind, Map<string, NamePart>>();
let latinKept = 0;

/** Returns the part for a text and kind, cached: the same in a query and in an index. */
export function makePart(
  text: string,
  kind: NamePartKind,
  script: NameScript,
  vocab: Vocabulary,
  origin = '',
): NamePart {
  if (script === 'latin' && origin === '') return latinPart(text, kind, vocab);
  const key = `${kind}:${script}:${text}:${origin}`;
  const before = known.get(key);
  if (before) return before;
  const part = new Word(text, kind, script, foldedOf(text, kind, script, vocab), vocab, origin);
  // A part that is created again is equal but not identical: `isIdentical` compares texts.
  if (known.size >= ROOM) known.clear();
  known.set(key, part);
  return part;
}

function latinPart(text: string, kind: NamePartKind, vocab: Vocabulary): NamePart {
  let parts = latinParts.get(kind);
  const before = parts?.get(text);
  if (before) return before;
  if (latinKept >= LATIN_ROOM) {
    latinParts.clear();
    latinKept = 0;
    parts = undefined;
  }
  if (parts === undefined) {
    parts = new Map();
    latinParts.set(kind, parts);
  }
  const part = new Word(text, kind, 'latin', foldedOf(text, kind, 'latin', vocab), vocab, '');
  parts.set(text, part);
  latinKept++;
  return part;
}

/** A misspelt `Abdul` is folded to the word that was meant: it is half of many names, not a name of its own. */
function foldedOf(text: string, kind: NamePartKind, script: NameScript, vocab: Vocabulary): string {
  if (kind === 'number') return text;
  const folded = fold(text);
  const isAbd =
    kind === 'name' && script === 'latin' && isMisspeltAbd(text) && !vocab.personWords.has(folded);
  return isAbd ? ABD : folded;
}

const ABD_SPELLINGS = ['abdul', 'abdel', 'abdur'] as const;

/** Returns whether a word has one wrong letter in a spelling of `Abdul`. Other spellings are one letter away from other names (`Ahdal`). */
function isMisspeltAbd(text: string): boolean {
  if (text.length < 4 || text.length > 6) return false;
  return ABD_SPELLINGS.some((spelling) => isOneEdit(text, spelling));
}

/** Creates a part of an index, which stores the folded spelling and has its own cache. */
export const indexedPart = (
  text: string,
  kind: NamePartKind,
  script: NameScript,
  folded: string,
  origin: string,
): NamePart => new Word(text, kind, script, folded, vocabulary(), origin);

/** Creates the part of adjacent words that are written as one, which is not kept: there are many, and each is compared once or twice. */
export const gluedPart = (text: string, script: NameScript, folded: string): NamePart =>
  new Word(text, 'name', script, folded, vocabulary(), '');

class Word implements NamePart {
  readonly text: string;
  readonly kind: NamePartKind;
  readonly script: NameScript;
  readonly origin: string;
  readonly folded: string;
  readonly groups: readonly number[];
  readonly weight: number;
  readonly rarity: number;
  private place: boolean | null = null;
  private wadeSpelling: string | null | undefined;
  private foldedLetters = -1;
  private ownReading: Reading | null = null;
  private ownHeard: Heard | null = null;
  private heardConsonants: string | null = null;
  private writtenConsonants: string | null = null;

  constructor(
    text: string,
    kind: NamePartKind,
    script: NameScript,
    folded: string,
    vocab: Vocabulary,
    origin: string,
  ) {
    this.text = text;
    this.origin = origin;
    this.kind = kind;
    this.script = script;
    this.folded = folded;
    this.groups = groupsOf(text, kind, vocab);
    const latin = script === 'abjad' ? (FREQUENT_ABJAD.get(origin) ?? text) : text;
    const common = kind === 'name' ? (vocab.commonness.get(latin) ?? 0) : 0;
    const frequent = vocab.frequency.get(latin === text ? folded : fold(latin)) ?? 0;
    this.rarity = kind === 'name' ? 1 - RARITY_LOSS * Math.max(common, frequent) : 1;
    this.weight =
      kind === 'name' && (vocab.halves.has(text) || folded === ABD)
        ? HALF_WEIGHT
        : WEIGHTS[kind] * (1 - COMMON_LOSS * common);
  }

  get isPlace(): boolean {
    this.place ??= this.kind === 'name' && countryWords().has(this.text);
    return this.place;
  }

  get wade(): string | null {
    if (this.wadeSpelling === undefined) this.wadeSpelling = this.kind === 'name' ? wadeOf(this.text) : null;
    return this.wadeSpelling;
  }

  get reading(): Reading {
    this.ownReading ??= readingOf(this.origin);
    return this.ownReading;
  }

  get heard(): Heard {
    this.ownHeard ??= heardOf(this.text);
    return this.ownHeard;
  }

  get letters(): number {
    if (this.foldedLetters < 0) this.foldedLetters = letterSet(this.folded);
    return this.foldedLetters;
  }

  get skeleton(): string {
    this.heardConsonants ??= this.kind === 'number' ? this.text : skeleton(this.folded);
    return this.heardConsonants;
  }

  get consonants(): string {
    this.writtenConsonants ??= unvocalised(this.text);
    return this.writtenConsonants;
  }
}

function groupsOf(text: string, kind: NamePartKind, vocab: Vocabulary): readonly number[] {
  if (kind === 'name') return vocab.nicknames.get(text) ?? NO_GROUPS;
  const group = kind === 'descriptive' ? vocab.descriptive.get(text) : undefined;
  return group === undefined ? NO_GROUPS : [group];
}

const NO_GROUPS: readonly number[] = [];
