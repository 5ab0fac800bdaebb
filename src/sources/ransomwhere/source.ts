/** Payment addresses of ransomware, reported by anybody and checked by the publisher. */
import { source } from '../source.ts';

export const ransomwhere = source({
  id: 'ransomwhere',
  name: 'Ransomware payment addresses',
  publisher: 'Ransomwhere',
  homepage: 'https://ransomwhe.re/',
  licence: 'CC BY 4.0',
  files: [{ name: 'ransomwhere.json', url: 'https://api.ransomwhe.re/export' }],
  byDefault: false,
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).ransomwhereReader,
});
