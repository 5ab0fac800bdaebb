/**
 * Takes the place of text-encoding-utf-8, which names no licence. `borsh` loads it, and uses it only if the platform has no `TextDecoder`.
 * Node has one.
 */
'use strict';

exports.TextDecoder = TextDecoder;
exports.TextEncoder = TextEncoder;
