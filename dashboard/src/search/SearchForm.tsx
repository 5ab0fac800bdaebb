/** The search box: one for addresses, names, hashes and pasted lists. It says what it has recognised before it goes there. */
import { useNavigate } from '@tanstack/react-router';
import {
  type ClipboardEvent,
  type DragEvent,
  type FormEvent,
  type ReactNode,
  useEffect,
  useState,
} from 'react';
import { useI18n } from '../i18n/index.tsx';
import { PATHS } from '../paths.ts';
import { chainOf } from '../ui/Address.tsx';
import { Button } from '../ui/Button.tsx';
import { Choice } from '../ui/Field.tsx';
import { Icon } from '../ui/icons.tsx';
import { keepList, LIST_MAX } from './list.ts';
import { NoPage } from './NoPage.tsx';
import { type Recognised, recognise } from './recognise.ts';

/** Characters that are looked at while the person writes. A list of 100 addresses has 10 kB. */
const CHARS_MAX = 1_000_000;
const LAST_CHAIN = 'assay.chain';

type Parser = (text: string) => readonly string[];

/** The parser of the server, loaded when somebody begins to write. */
const loadParser = async (): Promise<Parser> => (await import('assay:addresses')).detectChains;

/** Returns the chain to begin with: the one that was chosen last, if the address is valid on it. */
export function likelyChain(chains: readonly string[]): string {
  const last = localStorage.getItem(LAST_CHAIN);
  return last !== null && chains.includes(last) ? last : (chains[0] ?? '');
}

interface SearchFormProps {
  /** In the bar of the page: no explanation below. */
  readonly isCompact?: boolean;
}

/** The form. */
export function SearchForm({ isCompact = false }: SearchFormProps): ReactNode {
  const { t } = useI18n();
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [parser, setParser] = useState<Parser | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const [isSent, setSent] = useState(false);
  useEffect(() => {
    if (text !== '' && parser === null) void loadParser().then((loaded) => setParser(() => loaded));
  }, [text, parser]);

  const found: Recognised =
    parser === null ? { kind: 'nothing' } : recognise(text.slice(0, CHARS_MAX), parser);
  const chain = found.kind === 'address' ? (chosen ?? likelyChain(found.chains)) : null;

  const change = (next: string): void => {
    setText(next);
    setChosen(null);
    setSent(false);
  };
  const go = async (recognised: Recognised, on: string | null): Promise<void> => {
    setSent(true);
    if (recognised.kind === 'address' && on !== null) {
      await navigate({ to: PATHS.screening, params: { chain: on, address: recognised.address } });
      setText('');
    } else if (recognised.kind === 'hash') {
      await navigate({ to: PATHS.transaction, params: { hash: recognised.hash } });
      setText('');
    } else if (recognised.kind === 'list') {
      keepList(recognised.texts);
      if (recognised.texts.length > LIST_MAX)
        await navigate({ to: PATHS.bulk, search: { list: 'pasted' } as never });
      else await navigate({ to: PATHS.addresses });
      setText('');
    }
  };
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const detect = parser ?? (await loadParser());
    setParser(() => detect);
    const recognised = recognise(text, detect);
    const on = recognised.kind === 'address' ? (chosen ?? likelyChain(recognised.chains)) : null;
    await go(recognised, on);
  };
  // A field of one line would join the lines of a pasted list.
  const paste = (event: ClipboardEvent<HTMLInputElement>): void => {
    const pasted = event.clipboardData.getData('text/plain').trim();
    if (!pasted.includes('\n')) return;
    event.preventDefault();
    change(pasted.replace(/\s*[\r\n]+\s*/g, ', '));
    void takeList(pasted);
  };
  /** Opens a list. Its rows are read before they become one line. */
  const takeList = async (pasted: string): Promise<void> => {
    const detect = parser ?? (await loadParser());
    setParser(() => detect);
    const recognised = recognise(pasted, detect);
    if (recognised.kind === 'list') await go(recognised, null);
  };
  const drop = (event: DragEvent<HTMLElement>): void => {
    const [file] = event.dataTransfer.files;
    if (file === undefined) return;
    event.preventDefault();
    // The page of bulk jobs takes files up to 1 GB.
    if (file.size > CHARS_MAX) void navigate({ to: PATHS.bulk });
    else void file.text().then(takeList);
  };

  return (
    <search>
      <form
        className={isCompact ? 'search is-compact' : 'search'}
        onSubmit={(event) => void submit(event)}
        onDragOver={(event) => event.preventDefault()}
        onDrop={drop}
      >
        <div className="search-box">
          <Icon name="search" />
          <input
            id="search"
            type="text"
            aria-label={t('search.label')}
            aria-describedby={isCompact ? undefined : 'search-found'}
            placeholder={t('search.placeholder')}
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            value={text}
            onChange={(event) => change(event.target.value)}
            onPaste={paste}
          />
          {isCompact ? (
            <kbd>/</kbd>
          ) : (
            <Button type="submit" kind="primary">
              {t('search.go')}
            </Button>
          )}
        </div>
        {isCompact ? null : (
          <div className="search-found" id="search-found" aria-live="polite">
            <Found found={found} chain={chain} onChain={setChosen} />
          </div>
        )}
      </form>
      {isSent && !isCompact ? <NoPage found={found} /> : null}
      {isSent &&
      isCompact &&
      found.kind !== 'nothing' &&
      found.kind !== 'address' &&
      found.kind !== 'hash' &&
      found.kind !== 'list' ? (
        <div className="search-popup">
          {/* The bar has no line that says what was recognised. */}
          {found.kind === 'mistyped' ? (
            <p className="note">{t('search.mistyped')}</p>
          ) : (
            <NoPage found={found} />
          )}
        </div>
      ) : null}
    </search>
  );
}

interface FoundProps {
  readonly found: Recognised;
  readonly chain: string | null;
  readonly onChain: (chain: string) => void;
}

/** Says what was recognised. */
function Found({ found, chain, onChain }: FoundProps): ReactNode {
  const { t } = useI18n();
  const nameOf = (id: string): string => chainOf(id)?.name ?? id;
  switch (found.kind) {
    case 'nothing':
      return <span className="muted">{t('search.hint')}</span>;
    case 'address':
      if (found.chains.length === 1 || chain === null)
        return <span>{t('search.address', { chain: nameOf(found.chains[0] ?? '') })}</span>;
      return (
        <>
          <span>{t('search.addressOfSeveral', { count: found.chains.length })}</span>
          <Choice
            label={t('search.chain')}
            isLabelHidden
            value={chain}
            options={found.chains.map((id) => ({ value: id, label: nameOf(id) }))}
            onChange={(next) => {
              localStorage.setItem(LAST_CHAIN, next);
              onChain(next);
            }}
          />
        </>
      );
    case 'list':
      return (
        <span>
          {t(found.texts.length > LIST_MAX ? 'search.longList' : 'search.list', {
            count: found.texts.length,
          })}
        </span>
      );
    case 'mistyped':
      return <strong>{t('search.mistyped')}</strong>;
    case 'hash':
      return <span>{t('search.hash')}</span>;
    case 'ens':
      return <span>{t('search.ens')}</span>;
    case 'name':
      return <span>{t('search.name')}</span>;
  }
}
