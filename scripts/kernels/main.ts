/** Assembles the WebAssembly kernels into `dist/kernels`: a step of a build. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import loadWabt from 'wabt';
import { builtKernels } from '../../src/base/paths.ts';
import { base58CheckKernel } from './base58check.ts';

const wabt = await loadWabt();
mkdirSync(builtKernels, { recursive: true });
const parsed = wabt.parseWat('base58check.wat', base58CheckKernel, { simd: true });
parsed.validate();
writeFileSync(join(builtKernels, 'base58check.wasm'), parsed.toBinary({}).buffer);
parsed.destroy();
