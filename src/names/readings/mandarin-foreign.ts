/** Foreign names in Han characters: each character is one foreign syllable or consonant by its Mandarin sound. */
import { pinyinOf } from './han.ts';
import type { SoundUnit } from './letters.ts';

/** Foreign consonants of a Mandarin initial, and their classes as `skeleton` writes them. */
const INITIALS: Readonly<Record<string, readonly [spelled: string, classes: string]>> = {
  b: ['b|p|v', 'bpf'],
  p: ['p|b|ph', 'pb'],
  m: ['m', 'm'],
  f: ['f|v|ph|w', 'f'],
  d: ['d|t|th|dh', 't'],
  t: ['t|th|d', 't'],
  n: ['n|m', 'n'],
  l: ['l|r|ll|rr', 'lr'],
  g: ['g|k|gh|c', 'k'],
  k: ['k|c|q|ck|g|kh|ch|x', 'k'],
  h: ['h|kh|g|ch|f|j', 'fk'],
  j: ['j|g|d|t|k|z|ch|gh|dj|c', 'skt'],
  q: ['ch|k|t|c|q|ts|tsch', 'skt'],
  x: ['s|h|sh|kh|c|x|ch|sch|z', 's'],
  zh: ['j|zh|g|dzh|dj|z|ch|d|dh', 'skt'],
  ch: ['ch|c|tch|j|tsch', 's'],
  sh: ['sh|s|ch|sch|c', 's'],
  r: ['r|j|zh|l|s', 'rs'],
  z: ['z|ts|s|dz|tz|th', 's'],
  c: ['ts|z|c|tz|s', 's'],
  s: ['s|z|th|c|x|ss', 'st'],
  w: ['w|v|u|o|hu', 'f'],
  y: ['y|i|e|j|hi', ''],
};

/** Characters that usually write foreign sounds. A name without a middle dot is foreign only if it has no other. */
const USUAL = new Set(
  '阿埃艾爱安昂奥澳巴拜班邦包鲍贝本比彼边别宾波伯博布查川达戴丹道德登邓狄迪蒂丁杜敦顿多厄恩尔法凡菲费芬弗夫福富盖甘冈高戈哥格根古圭哈海汉豪赫黑亨胡华怀惠霍基吉季加贾杰京久卡凯坎康考科克肯库夸昆拉莱兰朗劳勒雷利里丽立连列林隆卢鲁伦罗洛马玛迈曼毛梅门蒙米密莫默姆木穆纳娜奈南内尼涅宁纽农努诺欧帕派潘庞佩彭皮普奇齐恰切钦琼丘萨塞赛桑瑟沙莎绍舍申圣施什史舒斯松苏索塔泰坦汤陶特腾提廷图托瓦万威韦维魏温文翁沃乌武西希锡夏肖谢辛休雅亚延耶叶伊以因英尤约扎詹珍朱兹宗佐泽侯登姆',
);

/** Returns whether all characters usually write foreign sounds. */
export const areForeign = (origin: string): boolean => [...origin].every((char) => USUAL.has(char));

const VOWEL = '[aeiouyw]{0,3}';

/** Returns the units of a foreign name; null if a character has no known sound. */
export function foreignUnits(origin: string): SoundUnit[] | null {
  const units: SoundUnit[] = [];
  for (const [at, char] of [...origin].entries()) {
    const sound = pinyinOf(char);
    if (sound === null) return null;
    const [, initial = '', final = ''] = /^(zh|ch|sh|[bpmfdtnlgkhjqxrzcswy]?)(.*)$/.exec(sound) ?? [];
    if (sound === 'er') units.push({ pattern: '[aeiou]{0,2}(?:r|l|rr|ll)?e?', classes: ['r', 'l', ''] });
    else if (initial === '' || initial === 'w' || initial === 'y') {
      const found = INITIALS[initial];
      units.push({
        pattern: found ? `(?:${found[0]})?${VOWEL}` : `(?:h?[aeiouy]{1,2}|${at === 0 ? '' : 'h?'})`,
        classes: found && found[1] !== '' ? [...found[1], ''] : [],
      });
    } else {
      const [spelled, classes] = INITIALS[initial] as readonly [string, string];
      const choices = spelled.split('|').sort((a, b) => b.length - a.length);
      units.push({ pattern: `(?:${choices.join('|')})${VOWEL}`, classes: [...classes] });
    }
    if (/ng?$/.test(final)) {
      const optional = initial === 'y' || initial === '';
      units.push({
        pattern: `(?:ng|nk|n|m)${optional ? '' : '?'}${at === 0 ? '' : '[aeiou]?'}`,
        classes: ['n', 'm'],
      });
    }
  }
  return units;
}
