/** Debian's chromium, without a window and without a sandbox if the tests run as root. */
import { type Browser, chromium } from 'playwright-core';
import { type DebianProgram, debianProgram } from './debian-package.ts';

/** Null if the package is not available. */
export const chromiumProgram: DebianProgram | null = debianProgram('chromium', 'lib/chromium/chromium');

/** Starts the browser. */
export async function startChromium(): Promise<Browser> {
  if (chromiumProgram === null) throw new Error('Debian has no chromium for this machine.');
  const { path, env } = chromiumProgram;
  return chromium.launch({
    executablePath: path,
    args: ['--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
    env: { ...process.env, ...env } as Record<string, string>,
  });
}
