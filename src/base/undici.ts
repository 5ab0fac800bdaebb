/** The HTTP client. It is loaded when first used, because that takes 80 ms, and most commands send no request. */
import { createRequire } from 'node:module';

/** Returns the package. */
export const undici = (): typeof import('undici') => createRequire(import.meta.url)('undici');
