/** The search of the guide: a combobox over an index that is loaded at its first use. Texts enter the page as text, never as HTML. */
import MiniSearch from 'minisearch';
import { SEARCH_OPTIONS, type SearchEntry } from '../search-options.ts';

/** Results that are shown: more do not fit on a screen. */
const RESULTS_MAX = 10;
/** Words of fewer letters have too many neighbours for a tolerance of spelling mistakes. */
const FUZZY_FROM = 5;

type Result = Pick<SearchEntry, 'page' | 'heading' | 'shown'> & { readonly id: string };

function element<Kind extends HTMLElement>(selector: string): Kind {
  const found = document.querySelector<Kind>(selector);
  if (found === null) throw new Error(`${selector} is missing`);
  return found;
}

const form = element<HTMLFormElement>('form.search');
const input = element<HTMLInputElement>('#q');
const list = element<HTMLUListElement>('#found');
const status = element<HTMLParagraphElement>('#count');

let loading: Promise<MiniSearch<SearchEntry>> | null = null;
/** Position of the selected result; -1 if none is selected. */
let selected = -1;

async function fetchIndex(): Promise<MiniSearch<SearchEntry>> {
  const response = await fetch(form.dataset.index ?? '');
  if (!response.ok) throw new Error(`The search index could not be loaded: ${response.status}`);
  return MiniSearch.loadJSON<SearchEntry>(await response.text(), SEARCH_OPTIONS);
}

/** Loads the index once. A failure is not kept, so that the next letter tries again. */
function loadIndex(): Promise<MiniSearch<SearchEntry>> {
  loading ??= fetchIndex().catch((error: unknown) => {
    loading = null;
    throw error;
  });
  return loading;
}

function find(index: MiniSearch<SearchEntry>, text: string): readonly Result[] {
  const options = {
    prefix: true,
    fuzzy: (term: string) => (term.length < FUZZY_FROM ? false : 0.2),
    boost: { page: 4, heading: 3 },
    // A word as it was typed counts more than one that begins with it, and that more than one with other letters.
    weights: { prefix: 0.5, fuzzy: 0.1 },
  };
  const exact = index.search(text, { ...options, combineWith: 'AND' });
  const results = exact.length > 0 ? exact : index.search(text, { ...options, combineWith: 'OR' });
  return results.slice(0, RESULTS_MAX) as unknown as readonly Result[];
}

function line(tag: string, text: string): HTMLElement {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

function optionOf({ id, page, heading, shown }: Result, at: number): HTMLLIElement {
  const option = document.createElement('li');
  option.id = `found-${at}`;
  option.setAttribute('role', 'option');
  option.setAttribute('aria-selected', 'false');
  const link = document.createElement('a');
  link.href = `/docs/guide/${id}`;
  link.tabIndex = -1;
  link.append(line('b', heading === '' ? page : `${page} › ${heading}`), line('span', shown));
  option.append(link);
  return option;
}

function close(): void {
  list.hidden = true;
  input.setAttribute('aria-expanded', 'false');
  input.removeAttribute('aria-activedescendant');
  selected = -1;
}

/** Selects a result. The position wraps at both ends. */
function select(at: number): void {
  const options = [...list.children];
  if (options.length === 0) return;
  selected = (at + options.length) % options.length;
  for (const [place, option] of options.entries())
    option.setAttribute('aria-selected', String(place === selected));
  const current = options[selected];
  current?.scrollIntoView({ block: 'nearest' });
  input.setAttribute('aria-activedescendant', `found-${selected}`);
}

function show(results: readonly Result[]): void {
  list.replaceChildren(...results.map(optionOf));
  status.textContent =
    results.length === 0 ? 'No page has these words.' : `${results.length} results. Use the arrow keys.`;
  status.classList.toggle('hidden', results.length > 0);
  list.hidden = results.length === 0;
  input.setAttribute('aria-expanded', String(results.length > 0));
  input.removeAttribute('aria-activedescendant');
  selected = -1;
}

async function update(): Promise<void> {
  const text = input.value.trim();
  if (text === '') {
    close();
    status.textContent = '';
    status.classList.add('hidden');
    return;
  }
  try {
    const index = await loadIndex();
    // The text may have changed while the index was loaded.
    if (input.value.trim() === text) show(find(index, text));
  } catch {
    close();
    status.textContent = 'The search could not be loaded. Type again to retry.';
    status.classList.remove('hidden');
  }
}

/** Follows the selected result, or the first one. */
async function follow(): Promise<void> {
  if (list.hidden) await update();
  const option = list.children[Math.max(selected, 0)];
  const link = option?.querySelector('a');
  if (!link) return;
  close();
  location.assign(link.href);
}

input.addEventListener('focus', () => void loadIndex().catch(() => {}));
input.addEventListener('input', () => void update());
input.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') close();
  else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault();
    // Up from the field itself selects the last result.
    select(event.key === 'ArrowDown' ? selected + 1 : Math.max(selected, 0) - 1);
  }
});
form.addEventListener('submit', (event) => {
  event.preventDefault();
  void follow();
});
form.addEventListener('focusout', (event) => {
  if (!form.contains(event.relatedTarget as Node | null)) close();
});
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLElement && event.target.closest('input, textarea, select');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  input.focus();
});
form.hidden = false;
