/** `GET /log/checkpoint`: the signed head of the transparency log (C2SP tlog-tiles). */
import { operation } from '../operation.ts';

export const logCheckpoint = operation({
  id: 'logCheckpoint',
  sdk: null,
  tag: 'Receipts',
  method: 'GET',
  path: '/log/checkpoint',
  mount: 'root',
  response: 'text/plain',
  responseHeaders: ['Cache-Control'],
  isListed: false,
  summary: 'Checkpoint of the transparency log',
  description: 'The size and the root of the log of receipts as a signed note (C2SP tlog-checkpoint).',
  page: ({ services }) => ({
    status: 200,
    contentType: 'text/plain; charset=utf-8',
    // A new checkpoint is signed every second at most.
    lines: '\r\nCache-Control: public, max-age=1\r\nX-Content-Type-Options: nosniff',
    body: services.useCases.receiptLog().checkpoint(),
  }),
});
