/**
 * `/verify`: checks a receipt in the browser, also for people without an account. When the page is loaded, it needs no server: what is pasted
 * stays in the browser.
 */
import {
  type ChangeEvent,
  type FormEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useId,
  useState,
} from 'react';
import { type I18n, useI18n } from '../../i18n/index.tsx';
import type { MessageKey } from '../../i18n/messages.ts';
import { Button } from '../../ui/Button.tsx';
import { Field } from '../../ui/Field.tsx';
import { Page } from '../../ui/Page.tsx';
import { type Checked, checkPasted, type Pasted, PastedError, type PastedField } from './check.ts';
import { codeOf, fetchReceipt, type ReceiptCode } from './code.ts';

/** Whether the page was saved as a file: it has no server then, and its policy lets it connect to none. */
const IS_SAVED = location.protocol === 'file:';
/** The page as one file, which build.mjs writes. */
const SAVED_PAGE = '/verify-saved.html';

/** Larger files are no receipts: an answer has 300 KB at most. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;
const TEXT_ROWS = 5;

interface PasteProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly isRequired: boolean;
  readonly onChange: (text: string) => void;
}

/** A text that is pasted, or read from a file. */
function Paste({ label, hint, value, isRequired, onChange }: PasteProps): ReactNode {
  const { t } = useI18n();
  const id = useId();
  const read = (event: ChangeEvent<HTMLInputElement>): void => {
    const file = event.target.files?.[0];
    if (file === undefined || file.size > FILE_BYTES_MAX) return;
    void file.text().then(onChange);
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        rows={TEXT_ROWS}
        required={isRequired}
        spellCheck={false}
        autoComplete="off"
        aria-describedby={`${id}-hint`}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
      <p id={`${id}-hint`} className="muted hint">
        {hint}
      </p>
      <input type="file" aria-label={t('verify.file', { field: label })} onChange={read} />
    </div>
  );
}

/** The facts of a receipt, as rows. Null values are left out. */
function factsOf(
  { receipt, line, logged }: Checked,
  { t, time }: I18n,
): readonly (readonly [MessageKey, string])[] {
  const timeOf = (seconds: number): string => time(new Date(seconds * 1_000).toISOString());
  const rows: readonly (readonly [MessageKey, string | null])[] = [
    ['verify.subject', receipt.subject.join(' → ') || null],
    ['verify.kind', receipt.kind],
    ['verify.verdict', receipt.verdict],
    ['verify.score', receipt.score === null ? null : String(receipt.score)],
    [
      'verify.sanctioned',
      receipt.sanctioned === null ? null : t(receipt.sanctioned ? 'verify.yes' : 'verify.no'),
    ],
    ['verify.asOf', receipt.asOf],
    ['verify.narrowed', receipt.narrowed.join(', ') || null],
    ['verify.line', line === null ? null : String(line)],
    ['verify.issuedAt', timeOf(receipt.issuedAt)],
    ['verify.expiresAt', timeOf(receipt.expiresAt)],
    ['verify.issuer', receipt.issuer],
    [
      'verify.logged',
      logged && t('verify.entry', { index: logged.index, size: logged.size, origin: logged.origin }),
    ],
  ];
  return rows.flatMap(([key, value]) => (value === null ? [] : [[key, value] as const]));
}

/** The result of a check that held. */
function Held({ checked }: { readonly checked: Checked }): ReactNode {
  const i18n = useI18n();
  const { t } = i18n;
  const { isExpired, hasAnswer, ofCode, logged } = checked;
  return (
    <section className="card" role="status">
      <p>
        <strong>{t('verify.holds')}</strong>
      </p>
      <ul>
        {ofCode === null ? null : <li>{t(ofCode === 'hash' ? 'verify.sameHash' : 'verify.sameId')}</li>}
        <li>{t(hasAnswer ? 'verify.answer' : 'verify.noAnswer')}</li>
        <li>{t(logged === null ? 'verify.notLogged' : 'verify.isLogged')}</li>
        {isExpired ? <li>{t('verify.expired')}</li> : null}
        <li>{t('verify.compare')}</li>
      </ul>
      <dl className="facts">
        {factsOf(checked, i18n).map(([key, value]) => (
          <div key={key}>
            <dt>{t(key)}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

type Outcome =
  | { readonly checked: Checked }
  | { readonly failed: PastedField | null; readonly message: string };

type CodeState = 'fetching' | 'fetched' | 'absent';

/** The code of the address of the page, and whether its receipt could be fetched. */
interface OpenedCode {
  readonly code: ReceiptCode;
  readonly state: CodeState;
}

/**
 * Reads the code of the address of the page, also if the address changes, and fetches its receipt.
 *
 * @param onFetched - called with the JWS; the same function in each call
 */
function useCode(onFetched: (jws: string) => void): OpenedCode | null {
  const [fragment, setFragment] = useState(location.hash);
  const [opened, setOpened] = useState<OpenedCode | null>(null);
  useEffect(() => {
    const change = (): void => setFragment(location.hash);
    addEventListener('hashchange', change);
    return () => removeEventListener('hashchange', change);
  }, []);
  useEffect(() => {
    const code = codeOf(fragment);
    setOpened(code && { code, state: IS_SAVED ? 'absent' : 'fetching' });
    if (code === null || IS_SAVED) return;
    let isGone = false;
    void fetchReceipt(code.id).then((jws) => {
      if (isGone) return;
      setOpened({ code, state: jws === null ? 'absent' : 'fetched' });
      if (jws !== null) onFetched(jws);
    });
    return () => {
      isGone = true;
    };
  }, [fragment, onFetched]);
  return opened;
}

const CODE_TEXTS: Readonly<Record<CodeState, MessageKey>> = {
  fetching: 'verify.codeFetching',
  fetched: 'verify.codeFetched',
  absent: 'verify.codeAbsent',
};

/** Name of the time that a check takes, for the tools of browsers. */
const MEASURE = 'verify a receipt';

/** The form and its result. */
export function VerifyPage(): ReactNode {
  const { t } = useI18n();
  const [pasted, setPasted] = useState<Pasted>({ receipt: '', jwks: '', proof: '', logKey: '' });
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const change = (field: PastedField) => (text: string) => {
    setPasted((before) => ({ ...before, [field]: text }));
    setOutcome(null);
  };
  const opened = useCode(
    useCallback((receipt: string) => {
      setPasted((before) => ({ ...before, receipt }));
      setOutcome(null);
    }, []),
  );
  // The keys of this installation, for the usual case. Whoever checks a receipt of another one pastes its keys.
  useEffect(() => {
    if (IS_SAVED) return;
    fetch('/.well-known/jwks.json')
      .then((response) => (response.ok ? response.text() : ''))
      .then((jwks) => setPasted((before) => (before.jwks === '' ? { ...before, jwks } : before)))
      .catch(() => {});
  }, []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const start = performance.now();
    checkPasted(pasted, Date.now() / 1_000, opened?.code ?? null).then(
      (checked) => {
        performance.measure(MEASURE, { start });
        setOutcome({ checked });
      },
      (error: unknown) =>
        setOutcome({
          failed: error instanceof PastedError ? error.field : null,
          message: error instanceof Error ? error.message : String(error),
        }),
    );
  };
  return (
    <Page title={t('verify.title')}>
      <form className="card form" onSubmit={submit}>
        <p>{t('verify.help')}</p>
        {IS_SAVED ? null : (
          <p>
            <a href={SAVED_PAGE} download="assay-verify.html">
              {t('verify.save')}
            </a>
          </p>
        )}
        {opened === null ? null : <p role="note">{t(CODE_TEXTS[opened.state], { id: opened.code.id })}</p>}
        {globalThis.crypto.subtle === undefined ? <p className="form-error">{t('verify.insecure')}</p> : null}
        <Paste
          label={t('verify.receipt')}
          hint={t('verify.receiptHint')}
          value={pasted.receipt}
          isRequired
          onChange={change('receipt')}
        />
        <Paste
          label={t('verify.jwks')}
          hint={t('verify.jwksHint')}
          value={pasted.jwks}
          isRequired
          onChange={change('jwks')}
        />
        <Paste
          label={t('verify.proof')}
          hint={t('verify.proofHint')}
          value={pasted.proof}
          isRequired={false}
          onChange={change('proof')}
        />
        <Field
          label={t('verify.logKey')}
          hint={t('verify.logKeyHint')}
          value={pasted.logKey}
          required={pasted.proof.trim() !== ''}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => change('logKey')(event.target.value)}
        />
        <Button type="submit" kind="primary">
          {t('verify.go')}
        </Button>
      </form>
      {outcome !== null && 'failed' in outcome ? (
        <p className="form-error" role="alert">
          <strong>{t('verify.fails')}</strong> <span lang="en">{outcome.message}</span>
        </p>
      ) : null}
      {outcome !== null && 'checked' in outcome ? <Held checked={outcome.checked} /> : null}
    </Page>
  );
}
