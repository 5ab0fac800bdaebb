/** The form: one name with what is known about it, or a list of names. */
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { draftOf, keepDraft } from '../../api/drafts.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import {
  IDENTIFIER_CHARS_MAX,
  IDENTIFIERS,
  type IdentifierKind,
  NAME_CHARS_MAX,
  NAMES_MAX,
  type NameQuery,
  namesIn,
  SCHEMAS,
} from './ask.ts';

interface FormProps {
  /** The names that were screened last. */
  readonly first: readonly NameQuery[];
  readonly onScreen: (names: readonly NameQuery[]) => void;
}

/** Shows both forms. */
export function NameForm({ first: names, onScreen }: FormProps): ReactNode {
  const { t, word } = useI18n();
  const first = names.length === 1 ? names[0] : undefined;
  const [name, setName] = useState(first?.name ?? '');
  const [birthDate, setBirthDate] = useState(first?.birthDate ?? '');
  const [countries, setCountries] = useState(first?.countries?.join(' ') ?? '');
  const [schema, setSchema] = useState<string>(first?.schema ?? '');
  const [kept] = Object.entries(first?.identifiers ?? {}) as [IdentifierKind, string][];
  const [kind, setKind] = useState<IdentifierKind>(kept?.[0] ?? 'passport');
  const [number, setNumber] = useState(kept?.[1] ?? '');
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const codes = countries.split(/[\s,;]+/).filter((code) => code !== '');
    onScreen([
      {
        name: name.replace(/\s+/g, ' ').trim(),
        ...(birthDate.trim() === '' ? {} : { birthDate: birthDate.trim() }),
        ...(codes.length === 0 ? {} : { countries: codes.map((code) => code.toUpperCase()) }),
        ...(schema === '' ? {} : { schema: schema as (typeof SCHEMAS)[number] }),
        ...(number.trim() === '' ? {} : { identifiers: { [kind]: number.trim() } }),
      },
    ]);
  };
  return (
    <div className="section only-screen">
      <form className="names-form" onSubmit={submit}>
        <Field
          label={t('names.name')}
          hint={t('names.nameHint')}
          value={name}
          required
          maxLength={NAME_CHARS_MAX}
          autoComplete="off"
          spellCheck={false}
          dir="auto"
          onChange={(event) => setName(event.target.value)}
        />
        <Field
          label={t('names.birthDate')}
          hint={t('names.birthDateHint')}
          value={birthDate}
          pattern="\d{4}(-\d{2}(-\d{2})?)?"
          autoComplete="off"
          onChange={(event) => setBirthDate(event.target.value)}
        />
        <Field
          label={t('names.countries')}
          hint={t('names.countriesHint')}
          value={countries}
          pattern="[A-Za-z]{2}([\s,;]+[A-Za-z]{2}){0,9}\s*"
          autoComplete="off"
          onChange={(event) => setCountries(event.target.value)}
        />
        <Choice
          label={t('names.schema')}
          value={schema}
          options={[
            { value: '', label: t('names.anySchema') },
            ...SCHEMAS.map((value) => ({ value, label: word('schema', value) })),
          ]}
          onChange={setSchema}
        />
        <Choice
          label={t('names.identifierKind')}
          value={kind}
          options={IDENTIFIERS.map((value) => ({ value, label: word('identifier', value) }))}
          onChange={(value) => setKind(value as IdentifierKind)}
        />
        <Field
          label={t('names.identifier')}
          hint={t('names.identifierHint')}
          value={number}
          maxLength={IDENTIFIER_CHARS_MAX}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setNumber(event.target.value)}
        />
        <Button type="submit" kind="primary">
          {t('names.go')}
        </Button>
      </form>
      <ListForm onScreen={onScreen} first={names.length > 1 ? names : []} />
    </div>
  );
}

/** Place of the draft of a list. */
const LIST = 'names';

function ListForm({ onScreen, first }: FormProps): ReactNode {
  const { t } = useI18n();
  const id = useId();
  const [text, setText] = useState(() => draftOf(LIST) || first.map(({ name }) => name).join('\n'));
  // A text that was kept is shown.
  const [isOpen] = useState(draftOf(LIST) !== '');
  const names = namesIn(text);
  const tooLong = names.findIndex((name) => name.length > NAME_CHARS_MAX);
  const problem =
    names.length > NAMES_MAX
      ? t('names.tooMany', { count: names.length, max: NAMES_MAX })
      : tooLong >= 0
        ? t('names.tooLong', { line: tooLong + 1, max: NAME_CHARS_MAX })
        : null;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (problem === null && names.length > 0) onScreen(names.map((name) => ({ name })));
  };
  return (
    <details open={isOpen}>
      <summary>{t('names.list')}</summary>
      <form className="form" onSubmit={submit}>
        <div className="field">
          <label htmlFor={id}>{t('names.listLabel', { max: NAMES_MAX })}</label>
          <textarea
            id={id}
            rows={6}
            required
            spellCheck={false}
            dir="auto"
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              keepDraft(LIST, event.target.value);
            }}
          />
          {problem === null ? null : (
            <p className="field-error" role="alert">
              {problem}
            </p>
          )}
        </div>
        <div className="actions">
          <Button type="submit" kind="primary" aria-disabled={problem !== null || undefined}>
            {t('names.goList', { count: names.length })}
          </Button>
        </div>
      </form>
    </details>
  );
}
