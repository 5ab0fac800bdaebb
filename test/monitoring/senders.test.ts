/** What an email that a mail server did not take means for its delivery. */
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createSenders } from '../../src/monitoring/delivery/senders.ts';

/** Sends an email that the server rejects with a code, or without one. */
async function outcomeOf(responseCode: number | undefined) {
  const senders = createSenders({
    clock: systemClock,
    mailer: {
      send: async () => {
        throw new Error('rejected', { cause: { responseCode } });
      },
    },
  } as unknown as Parameters<typeof createSenders>[0]);
  const body = JSON.stringify({ subject: 'Alert', text: 'Text' });
  const delivery = { target: 'ann@example.org', body } as Parameters<typeof senders.email>[0];
  return senders.email(delivery);
}

it.each([
  [500, 'REFUSED'],
  [554, 'REFUSED'],
  [499, 'RETRY'],
  [421, 'RETRY'],
] as const)('an email that the server answers with %i is %s', async (code, kind) => {
  expect(await outcomeOf(code)).toMatchObject({
    kind,
    responseStatus: code,
    error: `The mail server answered ${code}.`,
  });
});

it('an email that the server rejects without a code is sent again', async () => {
  expect(await outcomeOf(undefined)).toMatchObject({
    kind: 'RETRY',
    responseStatus: null,
    error: 'The mail server rejected the email.',
  });
});
