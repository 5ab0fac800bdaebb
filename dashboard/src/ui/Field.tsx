/** A field of a form with its label, its hint and its error. */
import { type InputHTMLAttributes, type ReactNode, useId } from 'react';

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  readonly label: string;
  readonly hint?: string;
  readonly error?: string | null;
}

/** An input with a label. */
export function Field({ label, hint, error = null, ...input }: FieldProps): ReactNode {
  const id = useId();
  const notes = [hint === undefined ? null : `${id}-hint`, error === null ? null : `${id}-error`];
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        // A text in Arabic or Hebrew is written from the right.
        dir="auto"
        {...input}
        id={id}
        aria-invalid={error === null ? undefined : true}
        aria-describedby={notes.filter((note) => note !== null).join(' ') || undefined}
      />
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="muted hint">
          {hint}
        </p>
      )}
      {error === null ? null : (
        <p id={`${id}-error`} className="field-error">
          {error}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly onChange: (value: string) => void;
  readonly isLabelHidden?: boolean;
}

/** A choice of one value. The control of the system: it works with every keyboard and screen reader, and on small screens. */
export function Choice({ label, value, options, onChange, isLabelHidden = false }: ChoiceProps): ReactNode {
  const id = useId();
  return (
    <div className="field choice">
      <label htmlFor={id} className={isLabelHidden ? 'visually-hidden' : undefined}>
        {label}
      </label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}
