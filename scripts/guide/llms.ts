/** `/llms.txt` (llmstxt.org): the pages as a list of Markdown documents, for language models and other readers of plain text. */
import { type Section, SUMMARY } from './layout.ts';
import { GUIDE } from './pages.ts';

const ENTRIES = `## API

- [OpenAPI document](/openapi.json): every operation with its schemas, examples, errors and costs.
- [API reference](/docs): the same as a page, with a curl command for each operation.`;

/** Pages that a reader with little room may skip: llms.txt reserves a name for their section. */
const isOptional = ({ title }: Section): boolean => title === 'Design';

/** Returns the text of the file. */
export function llmsText(sections: readonly Section[]): string {
  const ordered = [
    ...sections.filter((section) => !isOptional(section)),
    ...sections.filter(isOptional).map((section) => ({ ...section, title: 'Optional' })),
  ];
  const parts = ordered.map(({ title, pages }) => {
    const rows = pages.map(
      ({ slug, title: name, description }) =>
        `- [${name.replaceAll(/[[\]]/g, '')}](${GUIDE}/${slug}.md)${description === '' ? '' : `: ${description}`}`,
    );
    return `## ${title}\n\n${rows.join('\n')}`;
  });
  const [first = '', ...rest] = parts;
  return `# Assay

> ${SUMMARY}

Answers name their sources. An address about which nothing is known is \`assessed: false\`, which does not mean clean. Links are relative to
the installation that sends this file.

${[first, ENTRIES, ...rest].join('\n\n')}
`;
}
