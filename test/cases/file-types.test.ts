/** The content of an uploaded file has the type that the client declares. */
import { describe, expect, it } from 'vitest';
import { FILE_TYPES, fileTypeOf, requireType } from '../../src/cases/file-types.ts';

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

describe('the content of a file', () => {
  it.each([
    ['application/pdf', '%PDF-1.7'],
    ['image/png', '\x89PNG\r\n\x1a\n'],
    ['image/jpeg', '\xff\xd8\xff\xe0'],
    ['image/webp', 'RIFF\x00\x00\x00\x00WEBPVP8 '],
    ['text/plain', 'a b\tc\r\n'],
    ['text/csv', 'a, b\n1, 2\n'],
    ['application/json', ' \n{"a": 1}'],
    ['application/json', '[1, 2]'],
    ['application/zip', 'PK\x03\x04'],
  ] as const)('is accepted as %s if it is %j', (type, content) => {
    expect(() => requireType(latin1(content), type)).not.toThrow();
  });

  it.each([
    ['application/pdf', ' %PDF-1.7'],
    ['image/webp', 'RIFF\x00\x00\x00\x00WAVE'],
    ['image/webp', 'XXXX\x00\x00\x00\x00WEBP'],
    ['text/plain', 'a\x00'],
    ['text/plain', 'a\x1f'],
    ['text/plain', '\xff\xfe'],
    ['application/json', '"a"'],
    ['application/json', 'a {'],
    ['application/json', '{"a": "\x00"}'],
    ['application/zip', 'PK\x05\x06'],
  ] as const)('is rejected as %s if it is %j', (type, content) => {
    expect(() => requireType(latin1(content), type)).toThrow(`body: the content is not ${type}.`);
  });

  it.each(FILE_TYPES)('is rejected as %s if it is empty', (type) => {
    expect(() => requireType(Buffer.alloc(0), type)).toThrow('body: the file is empty.');
  });
});

it('the type of a file is read without its parameters, in any letter case', () => {
  expect(fileTypeOf('Text/CSV ; charset=utf-8')).toBe('text/csv');
  expect(() => fileTypeOf('text/html')).toThrow(/^Content-Type: must be one of/);
});
