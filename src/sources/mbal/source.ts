/** MBAL: ten million addresses that models and unnamed sources annotate. */
import { source } from '../source.ts';

export const mbal = source({
  id: 'mbal',
  name: 'MBAL 10M crypto address labels',
  publisher: 'He et al. (Kaggle: yidongchaintoolai)',
  homepage: 'https://www.kaggle.com/datasets/yidongchaintoolai/mbal-10m-crypto-address-label-dataset',
  licence: 'CC0 1.0',
  account: 'a Kaggle account',
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).mbalReader,
});
