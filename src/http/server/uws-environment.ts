/**
 * Setting of the parser of uWebSockets.js, which reads it from the environment once, when its binary is loaded. uws.ts imports this
 * module before the library.
 */
import { LIMITS } from '../../base/limits.ts';

process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(LIMITS.headerReadBytesMax);
