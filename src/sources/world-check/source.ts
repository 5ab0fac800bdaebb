/** The World-Check data file, for operators that have licensed it. */
import { nameSource } from '../source.ts';

export const worldCheck = nameSource({
  id: 'world-check',
  name: 'World-Check data file (adverse media and politically exposed persons)',
  publisher: 'LSEG Risk Intelligence',
  homepage: 'https://www.lseg.com/en/risk-intelligence/screening-solutions/world-check-kyc-screening',
  licence: "commercial: the operator's own licence",
  account: 'a licence of LSEG',
  read: async () => (await import('./read.ts')).worldCheckReader,
});
