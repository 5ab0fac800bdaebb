import { describe, expect, it } from 'vitest';
import { decodeHtml, parseHtml } from '../../src/sources/html.ts';

describe('a web page', () => {
  it('yields its tables with texts, attributes and links', () => {
    const { tables, links, data } =
      parseHtml(`<!doctype html><script>if (a < b) "<table>"</script><!-- <table> -->
<div class="mark-one" data-total="7">Heading</div>
<TABLE summary='List'><tr><th>Name<th>No</tr>
<tr><td data-label="Name">A &amp; B<br>Ltd&nbsp;</td><td><a href="/x?a=1&amp;b=2">7</a></td></table>
<p>tail`);
    expect(tables).toHaveLength(1);
    expect(tables[0]?.attributes).toEqual({ summary: 'List' });
    expect(tables[0]?.before).toContain('mark-one Heading');
    expect(tables[0]?.rows.map(({ line, cells }) => [line, ...cells.map(({ text }) => text)])).toEqual([
      [3, 'Name', 'No'],
      [4, 'A & B Ltd', '7'],
    ]);
    expect(tables[0]?.rows[1]?.cells[0]?.attributes).toEqual({ 'data-label': 'Name' });
    expect(tables[0]?.rows[1]?.cells[1]?.links).toEqual(['/x?a=1&b=2']);
    expect(links).toEqual([{ href: '/x?a=1&b=2', text: '7', line: 4 }]);
    expect(data.get('data-total')).toBe('7');
  });

  it('keeps the rows of a table in a cell apart', () => {
    const { tables } = parseHtml('<table><tr><td>a<table><tr><td>b</table></td><td>c</td></tr></table>');
    expect(tables.map(({ rows }) => rows.map(({ cells }) => cells.map(({ text }) => text)))).toEqual([
      [['b']],
      [['a', 'c']],
    ]);
  });

  it('decodes references, and leaves unknown ones', () => {
    expect(decodeHtml('&lt;&#65;&#x42;&eacute;&bogus;&#0;&#xD800;')).toBe('<ABé&bogus;&#0;&#xD800;');
  });

  it.each([
    ['open tags', '<td'],
    ['open comments', '<!--'],
    ['scripts', '<script>'],
    ['less-than signs', '< '],
    ['attributes', '<a a a a a a '],
    ['references', '&#&#x&a'],
    ['tables', '<table>'],
    ['lines', '<b>\n'],
  ])('reads 2 MB of %s in linear time', (_, part) => {
    const started = process.cpuUsage();
    parseHtml(part.repeat(Math.ceil(2_000_000 / part.length)));
    const { user } = process.cpuUsage(started);
    // 0.1 to 1 s; a quadratic step takes minutes.
    expect(user / 1e6).toBeLessThan(20);
  });
});
