/**
 * Cyrillic letters in Latin ones, as passports and newspapers of each language write them. A name does not state its language, but some letters,
 * ends and given names occur in only one.
 */

/**
 * A language whose Latin spelling differs from that of Russian; `serbian` is also that of Serbo-Croatian in Latin letters. Ukrainian and Belarusian
 * are not among them: lists write them in both ways (`Zahoriy`, `Zagoriy`), and given names that differ are in one group.
 */
export type NameLanguage = 'serbian' | 'bulgarian';

/** Romanisation of passports of the 2010s, for letters of several languages; `''` for silent letters. */
const LETTERS: Readonly<Record<string, string>> = {
  а: 'a',
  б: 'b',
  в: 'v',
  г: 'g',
  ґ: 'g',
  ѓ: 'gj',
  д: 'd',
  ђ: 'dj',
  е: 'e',
  ё: 'yo',
  є: 'ye',
  ж: 'zh',
  з: 'z',
  ѕ: 'dz',
  и: 'i',
  й: 'y',
  і: 'i',
  ї: 'yi',
  ј: 'j',
  к: 'k',
  ќ: 'kj',
  қ: 'q',
  л: 'l',
  љ: 'lj',
  м: 'm',
  н: 'n',
  њ: 'nj',
  ң: 'ng',
  о: 'o',
  ө: 'o',
  п: 'p',
  р: 'r',
  с: 's',
  т: 't',
  ћ: 'c',
  у: 'u',
  ў: 'u',
  ұ: 'u',
  ү: 'u',
  ф: 'f',
  х: 'kh',
  һ: 'h',
  ҳ: 'h',
  ц: 'ts',
  ч: 'ch',
  ҷ: 'j',
  џ: 'dz',
  ш: 'sh',
  щ: 'shch',
  ъ: '',
  ы: 'y',
  ь: '',
  э: 'e',
  ә: 'a',
  ғ: 'gh',
  ю: 'yu',
  я: 'ya',
};

/** Letters that are written in another way in one language. */
const OWN_LETTERS: Readonly<Record<NameLanguage, Readonly<Record<string, string>>>> = {
  // Serbian in Latin letters has diacritics, which lists leave out (`Šešelj`, `Seselj`).
  serbian: { đ: 'dj', ж: 'z', х: 'h', ц: 'c', ч: 'c', ш: 's' },
  // The soft sign is only written before o, and the two are yo.
  bulgarian: { щ: 'sht', ъ: 'a', ь: 'y', х: 'h' },
};

const SERBIAN_ONLY = /[ђјљњћџ]|đ.*[ćčšž]|[ćčšž].*đ/;
/** Macedonian shares some of these letters, and is written with `sh` and `zh` in passports. */
const MACEDONIAN_ONLY = /[ѓќѕ]/;
/** Given names of Serbs whose letters other languages have as well; Bulgarian, Macedonian and Russian have none of them. */
const SERBIAN_GIVEN: ReadonlySet<string> = new Set(
  (
    'бошко вукашин вук велимир драгиша драгослав душан душанка душица душко живадин живан живорад живота жарко милорад милош миодраг ' +
    'момир момчило небојша ненад предраг радиша радован ратко рашко рашо синиша слободан станиша сташа стеван урош часлав чедомир'
  ).split(' '),
);
/** A surname in `-ac`; Russian has a few, with a soft sign or another end. */
const SERBIAN_END = /[влмнрт]ац(?:$| )/;
const NOT_SERBIAN = /[йёъыьэюящіїєґў]/;
const TURKIC = /[әғқңөұүһҳҷ]/;
/** The hard sign is a vowel in Bulgarian; Russian has it only before a vowel that begins with y. */
const BULGARIAN = /ъ(?:[бвгджзйклмнпрстфхцчшщ]|$)|^[^іїєґыэё]*ьо/m;

/** The letters of the patterns and given names above. */
const MAY_SHOW = /[đ\p{Script=Cyrillic}]/u;

/** Returns the language of a lower-case name, if its letters, its end or its given name show one of those that are spelled in another way. */
export function languageOf(name: string): NameLanguage | null {
  if (!MAY_SHOW.test(name) || MACEDONIAN_ONLY.test(name) || TURKIC.test(name)) return null;
  if (SERBIAN_ONLY.test(name)) return 'serbian';
  if (BULGARIAN.test(name)) return 'bulgarian';
  if (SERBIAN_END.test(name) && !NOT_SERBIAN.test(name)) return 'serbian';
  return name.split(/[^\p{L}]+/u).some((word) => SERBIAN_GIVEN.has(word)) ? 'serbian' : null;
}

/** In passports `ё` after a consonant is `e`; at the beginning, after a vowel or a sign it is heard as `yo`. */
const YO_AFTER_CONSONANT = /(?<=[бвгджзклмнпрстфхцчшщ])ё/g;

/** Returns a word with `ё` after a consonant as it is written in passports. */
export const withoutYo = (word: string): string => word.normalize('NFC').replace(YO_AFTER_CONSONANT, 'е');

/** Returns the Latin spelling of a lower-case letter in a language; undefined if it is no letter of Cyrillic, and `đ` unless it is Serbian. */
export const cyrillicLetter = (letter: string, language: NameLanguage | null): string | undefined =>
  (language === null ? undefined : OWN_LETTERS[language][letter]) ?? LETTERS[letter];
