/** The HTML around the content of a page. It has no inline script and no inline style. */
import { escapeHtml } from './html.ts';
import type { ParsedPage } from './markdown.ts';
import { GUIDE } from './pages.ts';

export interface Section {
  readonly title: string;
  readonly pages: readonly ParsedPage[];
}

/** What all pages have in common. */
export interface Site {
  readonly sections: readonly Section[];
  /** Paths of the files that pages load. */
  readonly css: string;
  readonly script: string;
  readonly index: string;
  readonly version: string;
}

/** A shield with a tick, as a data URL: the policy of the pages allows images from those. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%230b6e6e' d='M8 0l7 3v5c0 4-3 7-7 8-4-1-7-4-7-8V3z'/%3E%3Cpath fill='none' stroke='%23fff' stroke-width='2' d='M4.5 8l2.5 2.5L11.5 6'/%3E%3C/svg%3E";

const linkTo = ({ slug, title }: ParsedPage, isHere = false): string =>
  `<a href="${GUIDE}/${slug}"${isHere ? ' aria-current="page"' : ''}>${escapeHtml(title)}</a>`;

function navigation({ sections }: Site, here: ParsedPage | null): string {
  const parts = sections.map(({ title, pages }, at) => {
    const isOpen = here === null ? at === 0 : pages.includes(here);
    const items = pages.map((page) => `<li>${linkTo(page, page === here)}</li>`).join('');
    return `<details${isOpen ? ' open' : ''}><summary>${escapeHtml(title)}</summary><ul>${items}</ul></details>`;
  });
  return `<nav id="pages" class="pages" aria-label="Pages"><a class="close" href="#content">Close</a>${parts.join('')}</nav>`;
}

/** Headings of the second and third level. A page with fewer than two needs no table. */
function contentsOf({ headings }: ParsedPage): string {
  const shown = headings.filter(({ level }) => level <= 3);
  if (shown.length < 2) return '';
  const items = shown.map(
    ({ level, id, text }) => `<li class="level${level}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  return `<nav class="toc" aria-labelledby="toc"><p id="toc">On this page</p><ul>${items.join('')}</ul></nav>`;
}

function neighbours({ sections }: Site, here: ParsedPage): string {
  const all = sections.flatMap(({ pages }) => pages);
  const at = all.indexOf(here);
  const link = (page: ParsedPage | undefined, rel: string, word: string): string =>
    page === undefined
      ? '<span></span>'
      : `<a rel="${rel}" href="${GUIDE}/${page.slug}"><small>${word}</small> ${escapeHtml(page.title)}</a>`;
  return `<nav class="neighbours" aria-label="Previous and next page">${link(all[at - 1], 'prev', 'Previous')}${link(all[at + 1], 'next', 'Next')}</nav>`;
}

/**
 * The script shows the search form. Without scripts it stays hidden, because it would do nothing.
 */
const searchForm = ({ index }: Site): string =>
  `<form class="search" role="search" data-index="${index}" hidden><label class="hidden" for="q">Search the guide</label><input id="q" type="search" placeholder="Search (press /)" autocomplete="off" autocapitalize="off" spellcheck="false" role="combobox" aria-expanded="false" aria-controls="found" aria-autocomplete="list"><ul id="found" role="listbox" aria-label="Results" hidden></ul><p class="hidden" role="status" id="count"></p></form>`;

interface Frame {
  readonly title: string;
  readonly description: string;
  /** Path of the same text as Markdown. */
  readonly twin: string;
  readonly here: ParsedPage | null;
  readonly content: string;
}

const frame = (site: Site, { title, description, twin, here, content }: Frame): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<meta name="description" content="${escapeHtml(description)}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${site.css}">
<link rel="alternate" type="text/markdown" href="${twin}">
<script src="${site.script}" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header><a class="brand" href="${GUIDE}">Assay<span> guide</span></a><a class="menu" href="#pages">Pages</a>${searchForm(site)}<a class="api" href="/docs">API</a></header>
<div class="columns">
${navigation(site, here)}
<main id="content" tabindex="-1">
${content}
<footer><a href="${twin}">This page as Markdown</a> · Assay ${escapeHtml(site.version)}</footer>
</main>
</div>
</body>
</html>
`;

/** Returns the HTML of a page. */
export function pageDocument(site: Site, page: ParsedPage, html: string): string {
  const toc = contentsOf(page);
  return frame(site, {
    title: `${page.title} – Assay`,
    description: page.description,
    twin: `${GUIDE}/${page.slug}.md`,
    here: page,
    content: `<div class="page${toc === '' ? '' : ' with-toc'}">
<h1>${escapeHtml(page.title)}</h1>
${toc}
<div class="text">
${html}${neighbours(site, page)}
</div>
</div>`,
  });
}

export const SUMMARY =
  'Assay is a self-hosted service for wallet risk screening and entity intelligence: labels, sanctions lists, transfers and scores, with a source for each statement.';

/** Returns the HTML of the first page: all pages with their first sentences. */
export function startDocument(site: Site): string {
  const parts = site.sections.map(({ title, pages }) => {
    const items = pages.map((page) => `<li>${linkTo(page)}<p>${escapeHtml(page.description)}</p></li>`);
    return `<h2>${escapeHtml(title)}</h2>\n<ul class="cards">${items.join('\n')}</ul>`;
  });
  return frame(site, {
    title: 'Assay guide',
    description: SUMMARY,
    twin: '/llms.txt',
    here: null,
    content: `<div class="page"><h1>Assay guide</h1>
<p>${escapeHtml(SUMMARY)} Programs read the <a href="/openapi.json">OpenAPI document</a>; <a href="/docs">/docs</a> shows every operation.</p>
${parts.join('\n')}</div>`,
  });
}
