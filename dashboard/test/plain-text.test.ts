import { expect, it } from 'vitest';
import { plainLines, plainText } from '../src/ui/plain-text.ts';

it.each([
  ['\u202Egpj.exe\u202C', '\uFFFDgpj.exe\uFFFD'],
  ['Bi\u200Bnance', 'Bi\uFFFDnance'],
  ['Bi\u00ADnance Bi\u3164nance', 'Bi\uFFFDnance Bi\uFFFDnance'],
  ['Bi\uFE0Fnance \u{E0041}', 'Bi\uFFFDnance \uFFFD'],
  ['I \u2764\uFE0F you', 'I \u2764\uFE0F you'],
  ['two\nlines\u0000', 'two\uFFFDlines\uFFFD'],
  ['مرحبا Binance é 😀', 'مرحبا Binance é 😀'],
  ['علی\u200Cرضا', 'علی\u200Cرضا'],
  ['رضا\u200Cعلی', 'رضا\uFFFDعلی'],
  ['علی\u200C\u200Cرضا علی\u200C', 'علی\uFFFD\uFFFDرضا علی\uFFFD'],
  ['علی\u200Dرضا Bin\u200Cance', 'علی\uFFFDرضا Bin\uFFFDance'],
])('shows the invisible characters of %j', (text, shown) => {
  expect(plainText(text)).toBe(shown);
});

it('keeps the lines of a text of several lines', () => {
  expect(plainLines('a\n\tb\u202E\r\u2028')).toBe('a\n\tb\uFFFD\uFFFD\uFFFD');
});
