/** The HTTP client. It is loaded when first used, because that takes 80 ms, and most commands send no request. */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Returns the package. */
export const undici = (): typeof import('undici') => require('undici');
