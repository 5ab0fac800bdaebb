/**
 * Korean names in Cyrillic letters, as Russian papers write them: Kontsevich's system, one word for each syllable (`Ким Чен Ын`). Read letter by
 * letter they would be other names (`Kim Chen Yn`).
 *
 * Source: L. R. Kontsevich's system for the transcription of Korean, https://en.wikipedia.org/wiki/Kontsevich_system (2026-11-27).
 */

/** Surnames with which such a name begins; those that are as usual in other languages are left out. */
const SURNAMES: Readonly<Record<string, string>> = {
  ким: 'kim',
  пак: 'pak',
  ли: 'ri',
  чхве: 'choe',
  чве: 'choe',
  цой: 'choe',
  чон: 'jong',
  чан: 'jang',
  чо: 'jo',
  кан: 'kang',
  юн: 'yun',
  хван: 'hwang',
  квон: 'kwon',
  пэк: 'paek',
  мун: 'mun',
  рю: 'ryu',
};

const SYLLABLE =
  /^(кх|тх|пх|чх|чж|дж|к|г|н|т|д|р|л|м|п|б|с|ч|х)?(ва|вэ|во|ве|ви|а|я|о|ё|е|у|ю|ы|и|э)(к|нъ|н|т|ль|р|м|п)?$/;
const INITIALS: Readonly<Record<string, string>> = {
  к: 'k',
  кх: 'k',
  г: 'g',
  н: 'n',
  т: 't',
  тх: 't',
  д: 'd',
  р: 'r',
  л: 'r',
  м: 'm',
  п: 'p',
  пх: 'p',
  б: 'b',
  с: 's',
  ч: 'j',
  чх: 'ch',
  чж: 'j',
  дж: 'j',
  х: 'h',
};
const VOWELS: Readonly<Record<string, string>> = {
  ва: 'wa',
  вэ: 'wae',
  во: 'wo',
  ве: 'we',
  ви: 'wi',
  а: 'a',
  я: 'ya',
  о: 'o',
  ё: 'yo',
  е: 'yo',
  у: 'u',
  ю: 'yu',
  ы: 'u',
  и: 'i',
  э: 'ae',
};
const FINALS: Readonly<Record<string, string>> = { к: 'k', нъ: 'n', т: 't', ль: 'l', р: 'l', м: 'm', п: 'p' };

function syllableOf(word: string): string | null {
  const [, initial = '', vowel = '', final = ''] = SYLLABLE.exec(word) ?? [];
  if (vowel === '') return null;
  // After ч and с, е is the sound of ŏ: Чен is Jong, Сен is Song.
  const heard = vowel === 'е' && /[чсж]$/.test(initial) ? 'o' : (VOWELS[vowel] as string);
  // The letter н is both n and ng: ng is usual after o, and n after other vowels.
  const end = final === 'н' ? (heard.endsWith('o') ? 'ng' : 'n') : (FINALS[final] ?? '');
  return (INITIALS[initial] ?? '') + heard + end;
}

/**
 * Returns the usual Latin spelling of each word of a Korean name in Cyrillic letters.
 *
 * @param words In lower case.
 * @returns Null if the words are not a Korean surname and two syllables.
 */
export function koreanInCyrillic(words: readonly string[]): readonly string[] | null {
  const [surname = '', ...given] = words;
  const family = SURNAMES[surname];
  if (family === undefined || given.length !== 2) return null;
  const syllables = given.map(syllableOf);
  return syllables.every((text): text is string => text !== null) ? [family, ...syllables] : null;
}
