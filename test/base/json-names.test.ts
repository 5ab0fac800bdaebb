import { expect, it } from 'vitest';
import { repeatedName } from '../../src/base/json-names.ts';

it.each([
  '{}',
  '[]',
  '"a"',
  '{"a":1,"b":{"a":1,"b":[{"a":1},{"a":1}]},"c":["a","a"]}',
  '{"a":"\\"a\\":1,","b":"{\\"b\\":1}","c\\\\":1,"c":"\\\\"}',
  '{"":0,"a":"","b":""}',
])('finds no repeated name in %s', (text) => {
  JSON.parse(text);
  expect(repeatedName(text)).toBeNull();
});

it.each([
  ['{"a":1,"a":1}', 'a'],
  ['{"x":[{"b":1,"c":{"b":2},"b":[]}]}', 'b'],
  ['{"a":{"a":1},\n "c": 2 , "a" : 3}', 'a'],
  ['{"a":1,"\\u0061":2}', 'a'],
  ['{"":0,"":1}', ''],
  ['{"a\\"":0,"a\\"":1}', 'a"'],
  ['[{},[],{"__proto__":1,"__proto__":2}]', '__proto__'],
])('finds the repeated name in %s', (text, name) => {
  JSON.parse(text);
  expect(repeatedName(text)).toBe(name);
});

it('reads four megabytes, of one string or of nested lists', () => {
  expect(repeatedName(`{"a":"${'\\"x'.repeat(1_400_000)}","b":1,"b":2}`)).toBe('b');
  expect(repeatedName(`{"a":${'['.repeat(2_000_000)}${']'.repeat(2_000_000)},"a":2}`)).toBe('a');
});
