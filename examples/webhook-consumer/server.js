/** Receives deliveries of Assay at POST /assay, answers when they are on disk, and passes each on once to FORWARD_URL. */
import { createServer } from 'node:http';
import { log, required, wholeNumber } from '../shared/settings.js';
import { createForwarder, postTo } from './forward.js';
import { openInbox } from './inbox.js';
import { createVerify, InvalidDelivery } from './verify.js';

/** Far above the largest message of Assay, which is some kilobytes. */
const BODY_BYTES_MAX = 1024 * 1024;
/** Shorter than the 15 s after which Assay gives up. */
const REQUEST_TIMEOUT_MS = 10_000;

const verify = createVerify(required('ASSAY_WEBHOOK_SECRET'));
const inbox = openInbox(process.env.INBOX_FILE ?? 'inbox.ndjson');
const forwardUrl = process.env.FORWARD_URL;
const forwarder = createForwarder({
  inbox,
  // Without a tool, an alert is a line on stdout.
  handle: forwardUrl
    ? postTo(forwardUrl)
    : async (id, message) => console.log(JSON.stringify({ id, ...message })),
  log,
});

/** Reads the body as bytes: the signature is over these, not over JSON that was parsed and written again. */
async function readBody(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size > BODY_BYTES_MAX) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

async function receive(request) {
  if (request.method !== 'POST' || request.url !== '/assay') return 404;
  const body = await readBody(request);
  if (body === null) return 413;
  const { id, message } = verify(request.headers, body);
  const isNew = inbox.add(id, message);
  log('info', isNew ? 'message received' : 'repeated message ignored', { id, type: message.type });
  return 204;
}

const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, async (request, response) => {
  let status;
  try {
    status = await receive(request);
  } catch (error) {
    // Assay tries again after anything but 2xx; never answer 410, which disables the URL.
    status = error instanceof InvalidDelivery ? 401 : 503;
    log(status === 401 ? 'warn' : 'error', 'message not accepted', { status, error: error.message });
  }
  response.writeHead(status, status === 413 ? { connection: 'close' } : {}).end();
  forwarder.wake();
});

server.listen(wholeNumber('PORT', 3_001, 0, 65_535), process.env.HOST ?? '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
  forwarder.wake();
});

process.on('SIGTERM', () => {
  forwarder.close();
  server.close(() => inbox.close());
  server.closeIdleConnections();
});
