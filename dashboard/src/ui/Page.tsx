/** The frame of a page: its title in the tab and as a heading, and its sections. */
import { type ReactNode, useEffect, useId } from 'react';

interface PageProps {
  readonly title: string;
  /** Shown in the place of the title; the title stays that of the tab. */
  readonly heading?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page with its heading. */
export function Page({ title, heading, actions, children }: PageProps): ReactNode {
  useEffect(() => {
    document.title = `${title} · Assay`;
  }, [title]);
  return (
    <div className="page">
      <header className="page-header">
        <h1>{heading ?? title}</h1>
        {actions === undefined ? null : <div className="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface SectionProps {
  readonly title: string;
  /** One or two sentences under the title. */
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A section of a page. */
export function Section({ title, note, actions, children }: SectionProps): ReactNode {
  const id = useId();
  return (
    <section className="section" aria-labelledby={id}>
      <div className="section-header">
        <h2 id={id}>{title}</h2>
        {actions === undefined ? null : <div className="actions">{actions}</div>}
      </div>
      {note === undefined ? null : <p className="muted section-note">{note}</p>}
      {children}
    </section>
  );
}
