/** Divides words of Arabic names that are written as one: `Abdulrahman`, `Nooruddin`, and words in Arabic letters. */

import { ABD } from './name-parts.ts';
import { transliterateWord } from './transliterate.ts';
import type { Vocabulary } from './vocabulary.ts';
import type { Written } from './written-words.ts';

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
export function splitArabic(words: readonly Written[], vocab: Vocabulary): Written[] {
  const out: Written[] = [];
  const latin = (word: Written, text: string): Written => ({ ...word, text, script: 'latin', origin: '' });
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as Written;
    const { text, script } = word;
    const next = words[at + 1];
    if (script === 'abjad' && next?.script === 'abjad' && isEi(word.origin, next.origin)) {
      const origin = `${word.origin.slice(0, -1)}${EI}`;
      out.push({ ...word, text: abjadText(origin, text), origin, raw: `${word.raw} ${next.raw}` });
      at++;
    } else if (script === 'abjad' && word.origin === 'عبد' && next?.origin === 'الله') {
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

/** The end of Persian surnames after a silent `ه`, with which Persian writes it apart (`خامنه‌ای` is Khamenei). */
const EI = 'ئی';
const isEi = (origin: string, next: string): boolean =>
  (next === 'ای' || next === EI) && origin.length >= 3 && origin.endsWith('ه');

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
