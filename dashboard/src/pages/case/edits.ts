/** The fields of a case that a person is changing, apart from those that others change meanwhile. */
import type { Case } from './use-case.ts';

type OpenStatus = Exclude<Case['status'], 'CLOSED'>;

/** The fields of the form, as texts. */
export interface Fields {
  readonly title: string;
  readonly status: OpenStatus;
  readonly priority: Case['priority'];
  readonly assignee: string;
  /** `YYYY-MM-DD`, or empty. */
  readonly due: string;
}

type Field = keyof Fields;

/** The fields that the person has changed, and the values that these had before. */
export interface Edits {
  readonly to: Partial<Fields>;
  readonly from: Partial<Fields>;
}

export const NO_EDITS: Edits = { to: {}, from: {} };

/** Returns the fields of a case as the form shows them. */
export const fieldsOf = (one: Case): Fields => ({
  title: one.title,
  status: one.status as OpenStatus,
  priority: one.priority,
  assignee: one.assignee ?? '',
  due: one.dueAt?.slice(0, 10) ?? '',
});

/** Returns the edits with one more. */
export function edited(one: Case, { to, from }: Edits, change: Partial<Fields>): Edits {
  const now = fieldsOf(one);
  const before = Object.fromEntries(Object.keys(change).map((field) => [field, now[field as Field]]));
  // The first value counts: what somebody else stores later is news.
  return { to: { ...to, ...change }, from: { ...before, ...from } };
}

/** Returns edits as the text of a draft; empty if there are none. */
export const editsText = (edits: Edits): string =>
  Object.keys(edits.to).length === 0 ? '' : JSON.stringify(edits);

/** Returns the edits of a draft. */
export const editsIn = (text: string): Edits => (text === '' ? NO_EDITS : (JSON.parse(text) as Edits));

/** Returns the edits without those of some fields. */
export function withoutEdits({ to, from }: Edits, fields: readonly Field[]): Edits {
  const without = (values: Partial<Fields>): Partial<Fields> =>
    Object.fromEntries(Object.entries(values).filter(([field]) => !fields.includes(field as Field)));
  return { to: without(to), from: without(from) };
}

/** Returns the fields that are edited and that somebody else has changed since, to another value. */
export function overtaken(one: Case, edits: Edits): readonly Field[] {
  const now = fieldsOf(one);
  return (Object.keys(now) as Field[]).filter(
    (field) => field in edits.to && now[field] !== edits.from[field] && now[field] !== edits.to[field],
  );
}

/** Returns the fields that differ from the case, as the API takes them. */
export function changesOf(one: Case, fields: Fields) {
  const assignee = fields.assignee.trim() === '' ? null : fields.assignee.trim();
  return {
    ...(fields.title === one.title ? {} : { title: fields.title }),
    ...(fields.status === one.status ? {} : { status: fields.status }),
    ...(fields.priority === one.priority ? {} : { priority: fields.priority }),
    ...(assignee === one.assignee ? {} : { assignee }),
    // The time of a day is kept while the day is.
    ...(fields.due === (one.dueAt?.slice(0, 10) ?? '')
      ? {}
      : { dueAt: fields.due === '' ? null : fields.due }),
  };
}
