import { expect, test } from 'vitest';
import { createOwnPages } from '../../../src/http/mcp/own-pages.ts';

const pages = createOwnPages(['assay.example:8080'], ['https://app.example']);

test.each([
  ['localhost:8080', ''],
  ['127.0.0.1:8080', ''],
  ['[::1]:8080', ''],
  ['ASSAY.example.', ''],
  ['app.example', ''],
  ['localhost:8080', 'http://localhost:8080'],
  ['localhost:8080', 'https://APP.example'],
])('a request to %s from the page %j is answered', (host, origin) => {
  expect(() => pages.require(host, origin)).not.toThrow();
});

test.each([
  ['evil.example', '', 'Host: must be'],
  ['evil.example:8080', 'http://evil.example:8080', 'Host: must be'],
  ['localhost/x', '', 'Host: must be'],
  ['', '', 'Host: must be'],
  ['localhost:8080', 'https://evil.example', 'Origin: must be'],
  ['localhost:8080', 'http://localhost:9090', 'Origin: must be'],
  ['localhost:8080', 'null', 'Origin: must be'],
])('a request to %j from the page %j is refused', (host, origin, reason) => {
  expect(() => pages.require(host, origin)).toThrow(reason);
});
