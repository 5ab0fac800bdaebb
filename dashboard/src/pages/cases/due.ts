/** Due dates of cases. A day that a person chose is stored as its first moment in UTC, and a case is due until its end. */

interface OfCase {
  readonly dueAt: string | null;
  readonly status: string;
}

const DAY_MS = 86_400_000;
const FIRST_MOMENT = 'T00:00:00.000Z';

/** Returns a due date as it was given: `YYYY-MM-DD` for a day, else a time. */
export const dueText = (dueAt: string): string =>
  dueAt.endsWith(FIRST_MOMENT) ? dueAt.slice(0, -FIRST_MOMENT.length) : dueAt;

/** Whether the due date of a case that is not closed has passed. */
export function isOverdue({ dueAt, status }: OfCase, now: number = Date.now()): boolean {
  if (dueAt === null || status === 'CLOSED') return false;
  return now >= Date.parse(dueAt) + (dueAt.endsWith(FIRST_MOMENT) ? DAY_MS : 0);
}
