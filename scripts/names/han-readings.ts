/**
 * Writes data/names/han.json: the readings of Han characters in names (Mandarin, Cantonese, Korean, Japanese) and the simplified form of
 * traditional characters, from the Unihan database. Run: node dist/scripts/names/han-readings.js READINGS VARIANTS VERSION DATE, with
 * Unihan_Readings.txt and Unihan_Variants.txt (unpacked from https://www.unicode.org/Public/UCD/latest/ucd/Unihan.zip, or from Debian's
 * package unicode-data).
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { shippedData } from '../../src/base/paths.ts';

const [readingsPath, variantsPath, version, date] = process.argv.slice(2);
if (!readingsPath || !variantsPath || !version || !date) {
  process.stderr.write(
    'han-readings: name Unihan_Readings.txt, Unihan_Variants.txt, the version and the date.\n',
  );
  process.exit(2);
}

/** Readings of one language for one character. More are rare in names. */
const MANDARIN_MOST = 2;
const JAPANESE_MOST = 8;
/** Longer Japanese readings are phrases. */
const JAPANESE_LETTERS_MAX = 9;

const fields = new Map<string, Map<string, string>>();
for (const line of readFileSync(readingsPath, 'utf8').split('\n')) {
  const [code, field, value] = line.split('\t');
  if (!code?.startsWith('U+') || !field || !value) continue;
  const char = String.fromCodePoint(Number.parseInt(code.slice(2), 16));
  const row = fields.get(char) ?? new Map<string, string>();
  fields.set(char, row.set(field, value));
}

const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/u\u0308/g, 'v')
    .replace(/\p{M}/gu, '')
    .toLowerCase();
const distinct = (texts: readonly string[]): string[] => [...new Set(texts.filter((text) => text !== ''))];

function mandarinOf(row: ReadonlyMap<string, string>): string[] {
  const listed = (field: string, pattern: RegExp): string[] =>
    [...(row.get(field) ?? '').matchAll(pattern)].map((m) => plain(m[1] ?? ''));
  return distinct([
    ...(row.get('kMandarin') ?? '').split(' ').map(plain),
    ...listed('kTGHZ2013', /:(\p{L}\p{M}*[\p{L}\p{M}]*)/gu),
    ...listed('kXHC1983', /:(\p{L}\p{M}*[\p{L}\p{M}]*)/gu),
  ]).slice(0, MANDARIN_MOST);
}

const rows: string[] = [];
for (const [char, row] of [...fields].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const isUsed = ['kHangul', 'kJapaneseOn', 'kTGHZ2013', 'kHanyuPinlu'].some((field) => row.has(field));
  if (!isUsed || char.length > 1) continue;
  const japanese = distinct(
    [...(row.get('kJapaneseKun') ?? '').split(' '), ...(row.get('kJapaneseOn') ?? '').split(' ')].map(
      (text) => text.toLowerCase(),
    ),
  ).filter((text) => /^[a-z]+$/.test(text) && text.length <= JAPANESE_LETTERS_MAX);
  const cantonese = distinct((row.get('kCantonese') ?? '').split(' ').map((text) => text.replace(/\d/g, '')));
  const korean = distinct((row.get('kHangul') ?? '').split(' ').map((text) => text.split(':')[0] ?? ''));
  rows.push(
    [
      char,
      mandarinOf(row).join(','),
      cantonese.slice(0, 2).join(','),
      korean.slice(0, 3).join(''),
      japanese.slice(0, JAPANESE_MOST).join(','),
    ].join(' '),
  );
}

const simplified: string[] = [];
for (const line of readFileSync(variantsPath, 'utf8').split('\n')) {
  const [code, field, value] = line.split('\t');
  if (field !== 'kSimplifiedVariant' || !code || !value) continue;
  const from = String.fromCodePoint(Number.parseInt(code.slice(2), 16));
  const others = value.split(' ').map((each) => String.fromCodePoint(Number.parseInt(each.slice(2), 16)));
  const to = others.includes(from) ? from : (others[0] as string);
  if (to !== from && from.length === 1 && to.length === 1) simplified.push(from + to);
}

const written = {
  about:
    'Readings of Han characters, one character a row: Mandarin (pinyin without tones), Cantonese (Jyutping without tones), Korean (Hangul), Japanese (Kun, then On); and pairs of a traditional character and its simplified form. Written by scripts/names/han-readings.ts.',
  source: `https://www.unicode.org/Public/${version}/ucd/Unihan.zip`,
  date,
  licence: 'Unicode-3.0',
  readings: rows,
  simplified: simplified.join(''),
};
const path = shippedData('names', 'han.json');
writeFileSync(path, `${JSON.stringify(written, null, 0).replaceAll('","', '",\n"')}\n`);
process.stdout.write(`${rows.length} characters, ${simplified.length} simplified\n`);
