/**
 * Setting of the parser of uWebSockets.js, which reads it from the environment once, when its binary is loaded. uws.ts imports this
 * module before the library.
 */
import { HTTP_LIMITS } from '../limits.ts';

process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HTTP_LIMITS.headerReadBytesMax);
