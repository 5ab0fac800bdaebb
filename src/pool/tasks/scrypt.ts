/** Derivation of a key from a password, which takes a core for tens of milliseconds. */
import { scryptHere } from '../../base/scrypt.ts';
import { task } from '../task.ts';

export const scryptTask = task({ name: 'scrypt', run: () => scryptHere, readsSnapshots: false });
