/** Registers in the common CSV layout of docs/registers-csv.md. */
import { registerSource } from '../source.ts';

export const registers = registerSource({
  id: 'registers',
  name: 'Registers as CSV',
  publisher: 'their authorities',
  read: async ({ whole }) => (await import('./read.ts')).registersReader({ whole }),
});
