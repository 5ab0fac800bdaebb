/** The texts of all languages: the same keys, with the same arguments, and valid. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { IntlMessageFormat } from 'intl-messageformat';
import { describe, expect, it } from 'vitest';
import de from '../src/i18n/de.json';
import en from '../src/i18n/en.json';
import fr from '../src/i18n/fr.json';

const LANGUAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = { en, de, fr };

interface Part {
  readonly value?: unknown;
  readonly type: number;
  readonly options?: Readonly<Record<string, { readonly value: readonly Part[] }>>;
}

/** Types of parts that are an argument: all but text (0), `#` (7) and tags (8). */
const isArgument = ({ type }: Part): boolean => type > 0 && type < 7;

/** Returns the names of the arguments of a text, with those of its branches. */
const argumentsOf = (parts: readonly Part[]): readonly string[] =>
  parts.flatMap((part) => [
    ...(isArgument(part) ? [String(part.value)] : []),
    ...Object.values(part.options ?? {}).flatMap(({ value }) => argumentsOf(value)),
  ]);

const namesIn = (text: string, language: string): readonly string[] => [
  ...new Set(
    argumentsOf(new IntlMessageFormat(text, language, undefined, { ignoreTag: true }).getAst() as Part[]),
  ),
];

describe.each(Object.keys(LANGUAGES))('the texts in %s', (language) => {
  const texts = LANGUAGES[language] ?? {};

  it('have the keys of the English ones, in their order', () => {
    expect(Object.keys(texts)).toEqual(Object.keys(en));
    expect(Object.keys(texts)).toEqual(Object.keys(texts).toSorted());
  });

  it('are valid and have the arguments of the English ones', () => {
    for (const [key, text] of Object.entries(en)) {
      const own = texts[key] ?? '';
      expect(own.trim(), key).not.toBe('');
      expect([key, namesIn(own, language).toSorted()]).toEqual([key, namesIn(text, 'en').toSorted()]);
    }
  });

  it('differ in plurals', () => {
    const format = new IntlMessageFormat(texts['table.rows'] ?? '', language);
    expect(new Set([0, 1, 2].map((count) => format.format({ count }))).size).toBe(3);
  });
});

const source = fileURLToPath(new URL('../src', import.meta.url));

it('every text is used', () => {
  const code = readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => readFileSync(`${source}/${path}`, 'utf8'))
    .join('\n');
  const unused = Object.keys(en).filter((key) => {
    const group = key.slice(0, key.lastIndexOf('.') + 1);
    const groupName = group.slice(0, -1);
    return !(
      code.includes(`'${key}'`) ||
      code.includes(`\`${group}\${`) ||
      code.includes(`word('${groupName}'`)
    );
  });
  expect(unused).toEqual([]);
});
