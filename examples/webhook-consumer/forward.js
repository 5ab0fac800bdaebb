/** Passes the messages of the inbox on to a tool, and tries again while that fails. Answers to Assay do not wait for it. */

const TIMEOUT_MS = 10_000;
/** Delays between two attempts at one message: 1 s, doubled up to 5 minutes. */
const DELAY_MIN_MS = 1_000;
const DELAY_MAX_MS = 5 * 60_000;

/**
 * Creates the forwarder. One message at a time; one that fails waits, and the others go on.
 *
 * @param {object} options
 * @param {{ pending(): readonly { id: string, message: object }[], done(id: string): void }} options.inbox
 * @param {(id: string, message: object) => Promise<void>} options.handle - must be safe to repeat for the same id: a crash between its end and the
 *   record of it repeats it
 * @param {(level: string, message: string, fields: object) => void} options.log
 */
export function createForwarder({ inbox, handle, log, delayMinMs = DELAY_MIN_MS }) {
  const failures = new Map();
  let running = false;
  let timer = null;
  let isClosed = false;

  async function tryOnce({ id, message }) {
    try {
      await handle(id, message);
      inbox.done(id);
      failures.delete(id);
      log('info', 'message handled', { id, type: message.type });
    } catch (error) {
      const count = (failures.get(id)?.count ?? 0) + 1;
      const delayMs = Math.min(delayMinMs * 2 ** (count - 1), DELAY_MAX_MS);
      failures.set(id, { count, dueAt: performance.now() + delayMs });
      log('warn', 'message not handled yet', { id, attempt: count, delayMs, error: error.message });
    }
  }

  const isDue = ({ id }) => (failures.get(id)?.dueAt ?? 0) <= performance.now();

  async function run() {
    if (running || isClosed) return;
    running = true;
    clearTimeout(timer);
    for (
      let next = inbox.pending().find(isDue);
      next !== undefined && !isClosed;
      next = inbox.pending().find(isDue)
    )
      await tryOnce(next);
    running = false;
    const due = inbox.pending().map(({ id }) => failures.get(id)?.dueAt ?? 0);
    if (due.length > 0 && !isClosed)
      timer = setTimeout(run, Math.max(0, Math.min(...due) - performance.now()));
  }

  return {
    /** Begins with what is due. It returns at once and does not throw. */
    wake: () => void run(),
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/**
 * Returns a handler that posts messages to the URL of a tool, such as a webhook of n8n or Zapier. `Idempotency-Key` has the id of the message.
 *
 * @param {string} url
 */
export const postTo = (url) => async (id, message) => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': id, 'webhook-id': id },
    body: JSON.stringify({ id, ...message }),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`The tool answered ${response.status}.`);
};
