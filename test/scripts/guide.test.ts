/** The renderer of the guide: its pages, links, texts for the search, and what a strict content security policy demands of them. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import MiniSearch from 'minisearch';
import { afterAll, describe, expect, it } from 'vitest';
import { type BuiltFile, buildGuide } from '../../scripts/guide/build.ts';
import { diagramHtml } from '../../scripts/guide/diagram.ts';
import { anchorOf, Links, linksOf, pageHtml, parsePage, twinOf } from '../../scripts/guide/markdown.ts';
import { GUIDE, guideSections } from '../../scripts/guide/pages.ts';
import { SEARCH_OPTIONS, type SearchEntry } from '../../scripts/guide/search-options.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { OPERATIONS } from '../../src/http/operations/index.ts';
import { execFileSync } from '../support/child-process.ts';

const sources = guideSections(projectRoot).flatMap(({ pages }) => pages);
const files = buildGuide(projectRoot);
const byPath = new Map(files.map((file) => [file.path, file.content]));
const isHtml = ({ contentType }: BuiltFile): boolean => contentType.startsWith('text/html');
const contentOf = (start: string, end: string): string =>
  files.find(({ path }) => path.startsWith(`${GUIDE}/${start}`) && path.endsWith(end))?.content ?? '';

/** Renders a page beside another one with the heading `#there`. */
function render(markdown: string): { html: string; twin: string; passages: readonly { text: string }[] } {
  const page = parsePage({ slug: 'here', file: 'docs/guides/here.md' }, `# Title\n\n${markdown}`);
  const other = parsePage({ slug: 'other', file: 'docs/other.md' }, '# Other\n\n## There\n');
  const links = new Links([page, other]);
  return { html: pageHtml(page, links), twin: twinOf(page, links), passages: page.passages };
}

describe('a page', () => {
  it('shows raw HTML as text, and leaves comments out', () => {
    const { html } = render(
      '<!-- generated -->\n\n<script>alert(1)</script> <b onclick="x">\n\n[x](javascript:alert(1))',
    );
    expect(html).not.toMatch(/generated|<script|<b |href/);
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  it('shows pictures of its own, and refuses one that does not exist', () => {
    const page = parsePage(
      { slug: 'here', file: 'docs/guides/here.md' },
      '# Title\n\n![a <b>](../images/a.webp)',
    );
    const links = new Links([page], new Map([['docs/images/a.webp', '/docs/guide/a-1.webp']]));
    expect(pageHtml(page, links)).toContain(
      '<img src="/docs/guide/a-1.webp" alt="a &lt;b&gt;" loading="lazy" decoding="async">',
    );
    expect(twinOf(page, links)).toContain('![a <b>](/docs/guide/a-1.webp)');
    expect(() => pageHtml(page, new Links([page]))).toThrow('there is no picture ../images/a.webp');
  });

  it('points links at pages and their headings, and makes text of links to other files', () => {
    const { html, twin } = render(
      'See [one](../other.md), [two](../other.md#there), [three](../../SECURITY.md), [docs/x.json](../x.json), [four](https://example.org/a?b=1&c).',
    );
    expect(html).toContain('<a href="/docs/guide/other">one</a>');
    expect(html).toContain('<a href="/docs/guide/other#there">two</a>');
    expect(html).toContain('three (<code>SECURITY.md</code>)');
    expect(html).toContain(', docs/x.json,');
    expect(html).toContain('<a href="https://example.org/a?b=1&amp;c">four</a>');
    expect(twin).toContain(
      'See [one](/docs/guide/other.md), [two](/docs/guide/other.md#there), three (`SECURITY.md`), docs/x.json, [four](https://example.org/a?b=1&c).',
    );
  });

  it('refuses a link to a heading that is missing, and a text without a title', () => {
    expect(() => render('[x](../other.md#gone)')).toThrow(
      'docs/guides/here.md: docs/other.md has no heading #gone.',
    );
    expect(() => parsePage({ slug: 'a', file: 'docs/a.md' }, 'text')).toThrow(
      'docs/a.md: the first line must be a title',
    );
  });

  it('leaves code that looks like a link as it is', () => {
    const markdown = 'A [link](../other.md).\n\n```\nlist[0](argument)\n```';
    expect(render(markdown).twin).toContain('list[0](argument)');
  });

  it('has an anchor for each heading, also if two have the same text', () => {
    const { html } = render('## A `b`, c!\n\n## A `b`, c!\n');
    expect(html).toMatch(/<h2 id="a-b-c">.*<\/h2>\n<h2 id="a-b-c-1">/);
    expect(anchorOf('Memory: of a server (Linux)')).toBe('memory-of-a-server-linux');
  });

  it('aligns columns without inline styles', () => {
    const { html } = render('| a | b |\n|---|--:|\n| 1 | 2 |');
    expect(html).toContain('<th class="right" scope="col">b</th>');
    expect(html).not.toContain('style');
  });
});

describe('a diagram', () => {
  it('becomes the list of its connections, with the texts of its nodes', () => {
    const html = diagramHtml(
      'flowchart LR\n  a -->|x < y| b[The B: 1]\n  b --> c[(store)] --> d((end))\n  a --- d\n  a -.-> c\n',
    );
    const lines = [...html.matchAll(/<li>(.*?)<\/li>/g)].map(([, line = '']) =>
      line.replaceAll(/<[^>]*>/g, ''),
    );
    expect(lines).toEqual([
      'a → The B: 1 x &lt; y',
      'The B: 1 → store',
      'store → end',
      'a ↔ end',
      'a → store',
    ]);
  });

  it('of another kind is shown as its source', () => {
    for (const source of [
      'sequenceDiagram\n  A->>B: hello\n',
      'flowchart LR\n  subgraph x\n  a --> b\n  end\n',
    ])
      expect(diagramHtml(source)).toContain('<pre tabindex="0"><code>');
  });
});

describe('the guide', () => {
  it('has each Markdown file of docs/ as one page, and builds the same bytes again', () => {
    const found = readdirSync(join(projectRoot, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`);
    expect(
      sources
        .map(({ file }) => file)
        .filter((file) => file.startsWith('docs/'))
        .sort(),
    ).toEqual(found.sort());
    expect(files.filter(isHtml)).toHaveLength(sources.length + 1);
    expect(buildGuide(projectRoot)).toEqual(files);
  });

  it('has no link that leads nowhere: pages, headings, twins and llms.txt', () => {
    const operations = new Set(OPERATIONS.map(({ path }) => path));
    let checked = 0;
    const check = (from: string, href: string): void => {
      if (/^(https?|data):/.test(href)) return;
      const [path = '', anchor] = href.split('#', 2);
      const target = path === '' ? from : path;
      const content = byPath.get(target);
      if (content === undefined) expect(operations, `${from}: ${href}`).toContain(target);
      else if (anchor !== undefined && !target.endsWith('.md'))
        expect(content, `${from}: ${href}`).toContain(` id="${anchor}"`);
      checked++;
    };
    for (const { path, content } of files.filter(isHtml))
      for (const [, href = ''] of content.matchAll(/ (?:href|src|data-index)="([^"]*)"/g)) check(path, href);
    for (const { path, content } of files.filter((file) => /\.(md|txt)$/.test(file.path)))
      for (const [, href = ''] of content.matchAll(/\]\((\/[^)]*)\)/g)) check(path, href);
    expect(checked).toBeGreaterThan(4000);
  });

  it('names only files that exist where a link leads outside', () => {
    const pages = sources.map((source) =>
      parsePage(source, readFileSync(join(projectRoot, source.file), 'utf8')),
    );
    const links = new Links(pages);
    const outside = pages.flatMap((page) =>
      linksOf(page).flatMap((href) => {
        const target = links.resolve(page, href);
        return target.kind === 'outside' ? [`${page.file}: ${target.path}`] : [];
      }),
    );
    expect(outside.length).toBeGreaterThan(0);
    expect(outside.filter((one) => !existsSync(join(projectRoot, one.split(': ')[1] ?? '')))).toEqual([]);
  });

  it('needs nothing that its content security policy refuses', () => {
    for (const { path, content } of files.filter(isHtml)) {
      // Code of the pages is escaped, so every match is markup.
      expect(
        content.match(
          /<style|<[a-z][^>]* (style|on[a-z]+)=|<script(?! src="\/)|<iframe|<img(?! src="\/docs\/guide\/)/g,
        ),
        path,
      ).toBeNull();
      expect(content.match(/<h1>/g), path).toHaveLength(1);
    }
    const css = contentOf('guide-', '.css');
    expect(css).not.toMatch(/url\(|@import/);
    expect(css).toMatch(/prefers-color-scheme: ?dark/);
  });

  it('finds words, settings and options by the index, and holds no addresses', () => {
    const json = contentOf('search-', '.json');
    const index = MiniSearch.loadJSON<SearchEntry>(json, SEARCH_OPTIONS);
    const first = (text: string): string =>
      String(index.search(text, { combineWith: 'AND', prefix: true, boost: { page: 4, heading: 3 } })[0]?.id);
    expect(first('attestation')).toMatch(/^air-gap/);
    expect(first('ASSAY_SYNC_FROM')).toMatch(/^(configuration|air-gap)/);
    expect(first('haircut')).toMatch(/screen|score|glossary|utxo/);
    expect(first('lists attest')).toMatch(/^(air-gap|cli|data-and-lists)/);
    const address = '0x098B716B8Aaf21512996dC57EB0615e2383E2f96';
    expect(byPath.get(`${GUIDE}/screening`)).toContain(address);
    expect(index.search(address)).toEqual([]);
    expect(json).not.toContain(`["${address.toLowerCase()}"`);
  });

  it('lists its Markdown in llms.txt, in the form of llmstxt.org', () => {
    const text = byPath.get('/llms.txt') ?? '';
    expect(text).toMatch(/^# Assay\n\n> Assay is .*\n\n/);
    const listed = [...text.matchAll(/^- \[[^\]]+\]\(([^)]+\.md)\): \S/gm)].map(([, path]) => path);
    expect(listed).toEqual(sources.map(({ slug }) => `${GUIDE}/${slug}.md`));
    expect(text).toContain('(/openapi.json)');
    expect(text).toContain('\n## Optional\n');
  });

  it('is built in the image from folders that are copied into it', () => {
    const dockerfile = readFileSync(join(projectRoot, 'Dockerfile'), 'utf8');
    for (const folder of new Set([...sources.map(({ file }) => file.split('/')[0]), 'scripts/guide']))
      expect(dockerfile).toContain(`COPY ${folder} ./${folder}\n`);
  });

  it('has a script that the types of a browser allow', () => {
    const tsc = join(projectRoot, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [tsc, '-p', 'scripts/guide/browser'], { cwd: projectRoot });
  });
});

describe('the list of pages', () => {
  const root = mkdtempSync(join(tmpdir(), 'assay-guide-'));
  afterAll(() => rmSync(root, { recursive: true, force: true }));
  const write = (file: string): void => {
    mkdirSync(join(root, dirname(file)), { recursive: true });
    writeFileSync(join(root, file), '# Title\n');
  };

  it('takes new files and the README of each client library, and refuses two of one path', () => {
    for (const { file } of sources) write(file);
    for (const file of ['docs/guides/zzz.md', 'docs/decisions/zzz.md', 'sdk/rust/README.md']) write(file);
    const slugs = guideSections(root).flatMap(({ pages }) => pages.map(({ slug }) => slug));
    expect(slugs).toEqual(expect.arrayContaining(['zzz', 'decision-zzz', 'sdk-rust']));
    write('docs/reference/zzz.md');
    expect(() => guideSections(root)).toThrow(
      'docs/reference/zzz.md and docs/guides/zzz.md would both be /docs/guide/zzz.',
    );
    rmSync(join(root, 'docs/glossary.md'));
    rmSync(join(root, 'docs/reference/zzz.md'));
    expect(() => guideSections(root)).toThrow('docs/glossary.md: no such file');
  });
});
