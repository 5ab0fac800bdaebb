/** Every contract with source code that Sourcify has verified. */
import { source } from '../source.ts';

export const sourcify = source({
  id: 'sourcify',
  name: 'Verified contracts',
  publisher: 'Sourcify',
  homepage: 'https://docs.sourcify.dev/docs/repository/download-dataset',
  licence: 'open dataset',
  // The files are numbered by their rows, and new ones are added daily.
  listing: {
    name: 'sourcify-listing.xml',
    url: 'https://export.sourcify.dev/?prefix=v2/contract_deployments/',
    key: /^v2\/contract_deployments\/[\w.-]+\.parquet$/,
  },
  grouping: 'together',
  byDefault: false,
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).sourcifyReader,
});
