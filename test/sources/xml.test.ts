import { describe, expect, it } from 'vitest';
import { readXml, type XmlElement } from '../../src/sources/xml.ts';
import { withFolder } from './collect.ts';

const WANTED = { roots: ['list'], elements: new Set(['entry']) };

const read = (content: string | Uint8Array): Promise<XmlElement[]> =>
  withFolder(async (write) => {
    const elements: XmlElement[] = [];
    for await (const element of readXml(write('list.xml', content), WANTED)) elements.push(element);
    return elements;
  });

const refusal = (content: string | Uint8Array): Promise<string> =>
  read(content).then(
    () => 'accepted',
    (error: { code: string; message: string }) => `${error.code} ${error.message}`,
  );

describe('streaming XML', () => {
  it('returns the root and the requested elements as trees, with lines, in any namespace', async () => {
    const [root, first, second, ...rest] = await read(
      '<?xml version="1.0"?>\n<x:list xmlns:x="urn:1" date="2026-01-01"><skipped>no</skipped>\n<x:entry id="1"><x:name>A &amp; B<!-- c --><![CDATA[ & C]]></x:name></x:entry>\n<entry id="2"/></x:list>',
    );
    expect(root).toMatchObject({ name: 'list', attributes: { date: '2026-01-01' }, children: [] });
    expect(first).toMatchObject({
      name: 'entry',
      attributes: { id: '1' },
      line: 3,
      children: [{ name: 'name', text: 'A & B & C' }],
    });
    expect(second).toMatchObject({ attributes: { id: '2' }, line: 4 });
    expect(rest).toEqual([]);
  });

  it('keeps an element inside a requested one as its child', async () => {
    const elements = await read('<list><entry><entry>inner</entry></entry></list>');
    expect(elements.length).toBe(2);
    expect(elements[1]?.children[0]?.text).toBe('inner');
  });
});

describe('hostile XML', () => {
  const whole = `<list>\n${'<entry><name>x</name></entry>\n'.repeat(500)}</list>`;

  it('rejects a document that is truncated anywhere', async () => {
    for (const at of [0, 3, 10, 1_000, 5_005, whole.length - 8, whole.length - 1]) {
      expect(await refusal(whole.slice(0, at)), `cut at ${at}`).toMatch(/^INVALID_FILE list\.xml, line \d+:/);
    }
    expect(await refusal(whole)).toBe('accepted');
  });

  it('rejects another document, and says which it is', async () => {
    expect(await refusal('<!DOCTYPE html><html><body>Busy</body></html>')).toContain('an HTML page');
    expect(await refusal('<HTML><BODY>Busy</BODY></HTML>')).toContain('an HTML page');
    expect(await refusal('<other/>')).toContain("the root element is 'other' where 'list' was expected");
    expect(await refusal('{"error":"busy"}')).toMatch(/INVALID_FILE list\.xml, line 1/);
    expect(await refusal('')).toMatch(/INVALID_FILE list\.xml/);
  });

  it('rejects entity expansion before it expands', async () => {
    const laughs = `<?xml version="1.0"?><!DOCTYPE list [<!ENTITY a "ha"><!ENTITY b "${'&a;'.repeat(1_000)}">]><list><entry>&b;</entry></list>`;
    expect(await refusal(laughs)).toContain('document type declaration');
    expect(await refusal('<list><entry>&undeclared;</entry></list>')).toContain('INVALID_FILE');
  });

  it('rejects a text, a tag and a nesting beyond the limit', async () => {
    expect(await refusal(`<list><entry>${'x'.repeat(6 * 1024 * 1024)}`)).toContain('longer than');
    expect(await refusal(`<list><entry ${'x'.repeat(6 * 1024 * 1024)}`)).toContain('longer than');
    expect(await refusal(`<list><entry>${'<a>'.repeat(100)}`)).toContain('nest deeper than 64');
    expect(await refusal(`<list>${'<a>'.repeat(100)}`)).toContain('nest deeper than 64');
    expect(await refusal(`<list><entry>${'<a/>'.repeat(100_001)}</entry></list>`)).toContain(
      'more than 100,000',
    );
  });

  it('rejects invalid bytes and mismatched tags, with their position', async () => {
    const late = Buffer.concat([
      Buffer.from(`<list>${'\n'.repeat(700_000)}`),
      Buffer.from([0xff]),
      Buffer.from('</list>'),
    ]);
    expect(await refusal(late)).toMatch(
      /^INVALID_FILE list\.xml, after line \d{6}: bytes \d+–\d+ are not valid utf-8/,
    );
    expect(await refusal(Buffer.from('<list><entry>\xff</entry></list>', 'latin1'))).toContain(
      'not valid utf-8',
    );
    expect(await refusal('<list>\n<entry></wrong></list>')).toContain('line 2');
  });

  it('reads the same document in UTF-16', async () => {
    const [, entry] = await read(Buffer.from('\ufeff<list><entry>Żółw</entry></list>', 'utf16le'));
    expect(entry?.text).toBe('Żółw');
  });
});
