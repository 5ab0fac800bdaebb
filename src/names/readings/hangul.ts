/** The usual Latin spellings of Hangul syllables in names. */

const FIRST = 0xac00;
const LAST = 0xd7a3;

/** Spellings of initial consonants, vowels and final consonants in the order of Unicode; the standard (RR) spelling first. */
const INITIALS = 'g,k kk,gg n d,t tt,dd r,l m b,p pp,bb s,sh ss _ j,ch,c jj ch,j k t p h'
  .split(' ')
  .map((all) => all.replace('_', '').split(','));
const VOWELS =
  'a ae,ai ya yae eo,o,u,ou,e e yeo,yo,you,yu,ye ye o,oh,oo wa wae oe,wae,oi yo u,oo,ou,woo wo,weo,wuh we wi,ui yu,yoo,you eu,u,oo,e ui,eui,i,ee i,ee,ie,y,yi'
    .split(' ')
    .map((all) => all.split(','));
const FINALS = '_ k,g k ks n n n t,d l,r k m l l l p l m p,b p t,s t,s ng t t k t p h'
  .split(' ')
  .map((all) => all.replace('_', '').split(','));

/** Surnames with a usual spelling that follows no rule. */
const SURNAMES: Readonly<Record<string, readonly string[]>> = {
  이: ['lee', 'ri', 'rhee', 'yi', 'li', 'rhi'],
  박: ['park', 'pak', 'bak'],
  임: ['lim', 'rim', 'im', 'yim'],
  유: ['yoo', 'yu', 'ryu', 'you', 'ryoo'],
  류: ['ryu', 'yoo', 'ryoo', 'lyu'],
  노: ['roh', 'no', 'noh', 'ro'],
  양: ['yang', 'ryang'],
  여: ['yeo', 'ryo', 'yo'],
  염: ['yeom', 'ryom', 'yum'],
  용: ['yong', 'ryong'],
  룡: ['ryong', 'yong'],
  령: ['ryong', 'yong', 'young'],
  영: ['yong', 'young', 'yeong', 'yung'],
  최: ['choe', 'choi', 'chwe', 'che'],
  우: ['woo', 'u', 'wu'],
  원: ['won', 'weon'],
  월: ['wol', 'weol'],
};

/** Returns spellings of one syllable, the most frequent first; none for another character. */
export function hangulSpellings(syllable: string): readonly string[] {
  const code = syllable.charCodeAt(0);
  if (code < FIRST || code > LAST) return [];
  const index = code - FIRST;
  const initials = INITIALS[Math.floor(index / 588)] as string[];
  const vowels = VOWELS[Math.floor((index % 588) / 28)] as string[];
  const finals = FINALS[index % 28] as string[];
  const found = new Set<string>(SURNAMES[syllable] ?? []);
  for (const final of finals)
    for (const vowel of vowels) for (const initial of initials) found.add(initial + vowel + final);
  return [...found];
}

/** Returns the standard (RR) spelling of one syllable. */
export const hangulPlain = (syllable: string): string => {
  const index = syllable.charCodeAt(0) - FIRST;
  const at = (list: string[][], position: number): string => (list[position] as string[])[0] as string;
  return (
    at(INITIALS, Math.floor(index / 588)) +
    at(VOWELS, Math.floor((index % 588) / 28)) +
    at(FINALS, index % 28)
  );
};

export const isHangul = (char: string): boolean => char.charCodeAt(0) >= FIRST && char.charCodeAt(0) <= LAST;
