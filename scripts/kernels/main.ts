/** Assembles the WebAssembly kernels into `dist/kernels`: a step of a build. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import loadWabt from 'wabt';
import { builtKernels } from '../../src/base/paths.ts';
import { addressKeysKernel } from './address-keys.ts';
import { bulkScanKernel } from './bulk-scan.ts';
import { keccakKernel } from './keccak.ts';
import { labelRowsKernel } from './label-rows.ts';
import { transferRowsKernel } from './transfer-rows.ts';

const wabt = await loadWabt();
mkdirSync(builtKernels, { recursive: true });
for (const [name, text] of Object.entries({
  'address-keys': addressKeysKernel,
  'bulk-scan': bulkScanKernel,
  keccak: keccakKernel,
  'label-rows': labelRowsKernel,
  'transfer-rows': transferRowsKernel,
})) {
  const parsed = wabt.parseWat(`${name}.wat`, text, { simd: true });
  parsed.validate();
  writeFileSync(join(builtKernels, `${name}.wasm`), parsed.toBinary({}).buffer);
  parsed.destroy();
}
