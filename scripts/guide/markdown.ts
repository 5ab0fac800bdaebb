/** Pages from Markdown: anchors, links between pages, tables and code that a keyboard can scroll, and the texts for the search. */
import { posix } from 'node:path';
import MarkdownIt, { type Token } from 'markdown-it';
import { diagramHtml } from './diagram.ts';
import { escapeHtml } from './html.ts';
import { GUIDE, type PageSource } from './pages.ts';

export interface Heading {
  readonly level: number;
  readonly id: string;
  readonly text: string;
}

/** The text of a page from one heading to the next, for the search. */
export interface Passage {
  /** Id of the heading; empty before the first one below the title. */
  readonly id: string;
  readonly heading: string;
  readonly text: string;
}

export interface ParsedPage extends PageSource {
  readonly markdown: string;
  readonly title: string;
  /** The first sentence. */
  readonly description: string;
  /** Headings below the title. */
  readonly headings: readonly Heading[];
  readonly passages: readonly Passage[];
  readonly tokens: readonly Token[];
}

/** Raw HTML in Markdown is text: a page can contain no script and no style. */
const md = new MarkdownIt({ html: false, linkify: false });
const { rules } = md.renderer;

rules.heading_close = (tokens, at) => {
  const { tag } = tokens[at] as Token;
  const id = tokens[at - 2]?.attrGet('id');
  const anchor = id ? ` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a>` : '';
  return `${anchor}</${tag}>\n`;
};
rules.table_open = () => '<div class="table" tabindex="0" role="region" aria-label="Table"><table>\n';
rules.table_close = () => '</table></div>\n';
rules.fence = (tokens, at) => {
  const { info, content } = tokens[at] as Token;
  if (info.trim() === 'mermaid') return diagramHtml(content);
  return `<pre tabindex="0"><code>${escapeHtml(content)}</code></pre>\n`;
};
/** The environment of a rendering. */
interface RenderEnv {
  readonly targetOf: (href: string) => Target;
  /** Returns the path of a picture below the guide. */
  readonly imageOf: (src: string) => string;
}

const hrefOf = (token: Token | undefined): string => token?.attrGet('href') ?? '';

/** A link to a file outside the guide is its text, and the path if the text does not say it. */
rules.link_open = (tokens, at, _options, { targetOf }: RenderEnv) => {
  const href = hrefOf(tokens[at]);
  const target = targetOf(href);
  if (target.kind === 'outside') return '';
  const path = target.kind === 'page' ? `${GUIDE}/${target.slug}${target.hash}` : href;
  return `<a href="${escapeHtml(path)}">`;
};
rules.link_close = (tokens, at, _options, { targetOf }: RenderEnv) => {
  const start = tokens.slice(0, at).findLastIndex(({ type }) => type === 'link_open');
  const target = targetOf(hrefOf(tokens[start]));
  if (target.kind !== 'outside') return '</a>';
  const text = tokens
    .slice(start + 1, at)
    .map(({ content }) => content)
    .join('');
  return text === target.path ? '' : ` (<code>${escapeHtml(target.path)}</code>)`;
};

/** Pictures are loaded when they come into view. */
rules.image = (tokens, at, _options, { imageOf }: RenderEnv) => {
  const token = tokens[at] as Token;
  const src = imageOf(token.attrGet('src') ?? '');
  return `<img src="${escapeHtml(src)}" alt="${escapeHtml(token.content)}" loading="lazy" decoding="async">`;
};

/** Returns the text of an inline token without its marks. */
function textOf(inline: Token | undefined): string {
  const children = inline?.children ?? [];
  return children
    .map(({ type, content }) => (type === 'softbreak' || type === 'hardbreak' ? ' ' : content))
    .join('');
}

/** Returns the anchor of a heading as GitHub makes it, so that links work there and in the guide. */
export const anchorOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');

/** The line of a decision that has its date and status. */
const isDateLine = (text: string): boolean => /^(Date: )?\d{4}-\d{2}-\d{2}\b/.test(text);

const DESCRIPTION_MAX = 200;

function firstSentence(text: string): string {
  const sentence = /^.+?\.(?=\s|$)/.exec(text)?.[0] ?? text.replace(/:$/, '.');
  if (sentence.length <= DESCRIPTION_MAX) return sentence;
  return `${sentence.slice(0, sentence.lastIndexOf(' ', DESCRIPTION_MAX))} …`;
}

/** Whether a token belongs to a paragraph that is an HTML comment. */
function isOfComment(tokens: readonly Token[], at: number): boolean {
  const offset = { paragraph_open: 1, inline: 0, paragraph_close: -1 }[tokens[at]?.type ?? ''];
  return offset !== undefined && /^<!--.*-->$/s.test(tokens[at + offset]?.content ?? '');
}

/** Parses Markdown without its comments, and without inline styles, which the content security policy refuses. */
function parseTokens(markdown: string): readonly Token[] {
  const tokens = md.parse(markdown, {});
  for (const token of tokens) {
    if (token.type !== 'th_open' && token.type !== 'td_open') continue;
    const align = /text-align:(\w+)/.exec(token.attrGet('style') ?? '')?.[1];
    token.attrs = null;
    if (align !== undefined) token.attrSet('class', align);
    if (token.type === 'th_open') token.attrSet('scope', 'col');
  }
  return tokens.filter((_token, at) => !isOfComment(tokens, at));
}

/**
 * Parses a page.
 *
 * @throws if it does not begin with a title
 */
export function parsePage(source: PageSource, markdown: string): ParsedPage {
  const tokens = parseTokens(markdown);
  const [first, titleToken] = tokens;
  if (first?.tag !== 'h1') throw new Error(`${source.file}: the first line must be a title, "# …".`);
  const title = textOf(titleToken);
  const headings: Heading[] = [];
  const seen = new Map<string, number>();
  const passages: { id: string; heading: string; parts: string[] }[] = [{ id: '', heading: '', parts: [] }];
  let description = '';
  for (const [at, token] of tokens.entries()) {
    if (at < 3) continue;
    if (token.type === 'heading_open') {
      const text = textOf(tokens[at + 1]);
      const anchor = anchorOf(text);
      const repeated = seen.get(anchor) ?? 0;
      seen.set(anchor, repeated + 1);
      const id = repeated === 0 ? anchor : `${anchor}-${repeated}`;
      token.attrSet('id', id);
      headings.push({ level: Number(token.tag.slice(1)), id, text });
      passages.push({ id, heading: text, parts: [] });
    } else if (token.type === 'fence' || token.type === 'code_block') {
      passages.at(-1)?.parts.push(token.content);
    } else if (token.type === 'inline' && tokens[at - 1]?.type !== 'heading_open') {
      const text = textOf(token);
      passages.at(-1)?.parts.push(text);
      const isProse = tokens[at - 1]?.type === 'paragraph_open' && token.level === 1;
      if (description === '' && isProse && !isDateLine(text)) description = firstSentence(text);
    }
  }
  return {
    ...source,
    markdown,
    title,
    description,
    headings,
    passages: passages.map(({ parts, ...rest }) => ({ ...rest, text: parts.join('\n') })),
    tokens: tokens.slice(3),
  };
}

/** The target of a link of a page. */
export type Target =
  | { readonly kind: 'page'; readonly slug: string; readonly hash: string }
  | { readonly kind: 'external' }
  /** `path` is relative to the project. */
  | { readonly kind: 'outside'; readonly path: string };

/** Returns the file of a picture, relative to the project. */
const fileOfImage = (from: PageSource, src: string): string => posix.join(posix.dirname(from.file), src);

/** Returns the files of the pictures of a page, relative to the project. */
export const imagesOf = (page: ParsedPage): readonly string[] =>
  page.tokens.flatMap(({ children }) =>
    (children ?? [])
      .filter(({ type }) => type === 'image')
      .map((child) => fileOfImage(page, child.attrGet('src') ?? '')),
  );

/** Resolves the links of pages. */
export class Links {
  readonly #pages: ReadonlyMap<string, ParsedPage>;
  readonly #images: ReadonlyMap<string, string>;

  /**
   * @param images - path below the guide of each picture, by its file relative to the project
   */
  constructor(pages: readonly ParsedPage[], images: ReadonlyMap<string, string> = new Map()) {
    this.#pages = new Map(pages.map((page) => [page.file, page]));
    this.#images = images;
  }

  /**
   * Returns the path of a picture.
   *
   * @param src - as it is in the Markdown of `from`
   * @throws if the guide does not have it
   */
  image(from: PageSource, src: string): string {
    const path = this.#images.get(fileOfImage(from, src));
    if (path === undefined) throw new Error(`${from.file}: there is no picture ${src}.`);
    return path;
  }

  /**
   * Resolves a link.
   *
   * @param href - as it is in the Markdown of `from`
   * @throws if it names a heading that the page does not have
   */
  resolve(from: PageSource, href: string): Target {
    if (/^[a-z][a-z+.-]*:/i.test(href) || href.startsWith('/')) return { kind: 'external' };
    const [path = '', anchor = ''] = href.split('#', 2);
    const file = path === '' ? from.file : posix.join(posix.dirname(from.file), path);
    const page = this.#pages.get(file);
    if (page === undefined) return { kind: 'outside', path: file };
    if (anchor !== '' && !page.headings.some(({ id }) => id === anchor))
      throw new Error(`${from.file}: ${file} has no heading #${anchor}.`);
    return { kind: 'page', slug: page.slug, hash: anchor === '' ? '' : `#${anchor}` };
  }
}

/** Returns the links of a page as they are in its Markdown. */
export const linksOf = ({ tokens }: ParsedPage): readonly string[] =>
  tokens.flatMap(({ children }) =>
    (children ?? []).filter(({ type }) => type === 'link_open').map((child) => hrefOf(child)),
  );

/** Returns the HTML of a page below its title. */
export function pageHtml(page: ParsedPage, links: Links): string {
  const env: RenderEnv = {
    targetOf: (href) => links.resolve(page, href),
    imageOf: (src) => links.image(page, src),
  };
  return md.renderer.render(page.tokens, md.options, env);
}

/**
 * Returns the Markdown of a page with links that work at its path: to the Markdown of other pages. Links to other files become text.
 */
export function twinOf(page: ParsedPage, links: Links): string {
  const hrefs = new Set(linksOf(page));
  const images = new Set(imagesOf(page));
  return page.markdown.replace(/!?\[([^\]]*)\]\(([^()\s]+)\)/g, (whole, text: string, href: string) => {
    if (whole.startsWith('!'))
      return images.has(fileOfImage(page, href)) ? `![${text}](${links.image(page, href)})` : whole;
    // Code may look like a link.
    if (!hrefs.has(href)) return whole;
    const target = links.resolve(page, href);
    if (target.kind === 'external') return whole;
    if (target.kind === 'page') return `[${text}](${GUIDE}/${target.slug}.md${target.hash})`;
    return text === target.path ? text : `${text} (\`${target.path}\`)`;
  });
}
