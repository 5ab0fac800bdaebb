/** The decision that closes a case. With the rule of four eyes, one person proposes it and another one approves it. */
import { type FormEvent, type ReactNode, useState } from 'react';
import { endDraft, useDraft } from '../../api/drafts.ts';
import { useI18n } from '../../i18n/index.tsx';
import { Button } from '../../ui/Button.tsx';
import { Choice, Field } from '../../ui/Field.tsx';
import { Section } from '../../ui/Page.tsx';
import { Failure } from '../../ui/states.tsx';
import { Time } from '../../ui/values.tsx';
import { Who } from '../../ui/Who.tsx';
import { type Case, DISPOSITIONS, useEvent, useIsOwnId } from './use-case.ts';

type Disposition = (typeof DISPOSITIONS)[number];

/** The form of the API for reason codes. */
const REASON_CODE = '[A-Z][A-Z0-9_\\-]{0,63}';

/** Shows the decision, or the way to it. */
export function Decision({ one }: { readonly one: Case }): ReactNode {
  const { t } = useI18n();
  const event = useEvent(one);
  const note = one.fourEyes ? t('cases.fourEyesOnNote') : t('cases.fourEyesOffNote');
  return (
    <Section title={t('cases.decision')} note={note}>
      {one.status === 'CLOSED' ? (
        <Outcome one={one} />
      ) : one.proposal === null ? (
        <ProposeForm one={one} event={event} />
      ) : (
        <Proposal one={one} proposal={one.proposal} event={event} />
      )}
      {event.error === null ? null : <Failure error={event.error} />}
    </Section>
  );
}

function Outcome({ one }: { readonly one: Case }): ReactNode {
  const { t, word } = useI18n();
  return (
    <dl className="facts is-wide">
      <div>
        <dt>{t('cases.disposition')}</dt>
        <dd>{word('disposition', one.disposition ?? '')}</dd>
      </div>
      <div>
        <dt>{t('cases.reasonCode')}</dt>
        <dd>
          <code>{one.reasonCode}</code>
        </dd>
      </div>
      <div>
        <dt>{t('cases.decidedBy')}</dt>
        <dd>{one.decidedBy === null ? '' : <Who id={one.decidedBy} />}</dd>
      </div>
      <div>
        <dt>{t('cases.approvedBy')}</dt>
        <dd>{one.approvedBy === null ? t('cases.noApproval') : <Who id={one.approvedBy} />}</dd>
      </div>
      <div>
        <dt>{t('cases.closed')}</dt>
        <dd>
          <Time iso={one.closedAt} />
        </dd>
      </div>
    </dl>
  );
}

interface ProposalProps {
  readonly one: Case;
  readonly proposal: NonNullable<Case['proposal']>;
  readonly event: ReturnType<typeof useEvent>;
}

/** A decision that waits for another person. The server decides who may approve; the page says it before a person tries. */
function Proposal({ proposal, event }: ProposalProps): ReactNode {
  const { t, word } = useI18n();
  const isOwn = useIsOwnId()(proposal.by);
  const decide = (action: 'APPROVE' | 'REJECT'): void =>
    event.mutate({ type: 'DECISION', decision: { action, proposal: proposal.event } });
  return (
    <>
      <p className="note" role="status">
        {t('cases.proposed', {
          disposition: word('disposition', proposal.disposition),
          code: proposal.reasonCode,
        })}{' '}
        <Who id={proposal.by} />
      </p>
      <p>{t(isOwn ? 'cases.waitsForOther' : 'cases.waitsForYou')}</p>
      <div className="actions">
        {isOwn ? null : (
          <Button kind="primary" isBusy={event.isPending} onClick={() => decide('APPROVE')}>
            {t('cases.approve')}
          </Button>
        )}
        <Button isBusy={event.isPending} onClick={() => decide('REJECT')}>
          {t(isOwn ? 'cases.withdraw' : 'cases.reject')}
        </Button>
      </div>
    </>
  );
}

function ProposeForm({ one, event }: Pick<ProposalProps, 'one' | 'event'>): ReactNode {
  const { t, word } = useI18n();
  const [disposition, setDisposition] = useState<Disposition>('NO_ACTION');
  const codePlace = `reason code ${one.id}`;
  const [reasonCode, setReasonCode] = useDraft(codePlace);
  const place = `decision ${one.id}`;
  const [note, setNote] = useDraft(place);
  const submit = (submitted: FormEvent): void => {
    submitted.preventDefault();
    const decided = event.mutateAsync({
      type: 'DECISION',
      decision: { action: 'PROPOSE', disposition, reasonCode },
      ...(note.trim() === '' ? {} : { note }),
    });
    void decided.then(
      () => {
        endDraft(place, note);
        endDraft(codePlace, reasonCode);
      },
      () => {},
    );
  };
  return (
    <form className="form only-screen" onSubmit={submit}>
      <Choice
        label={t('cases.disposition')}
        value={disposition}
        options={DISPOSITIONS.map((value) => ({ value, label: word('disposition', value) }))}
        onChange={(value) => setDisposition(value as Disposition)}
      />
      <Field
        label={t('cases.reasonCode')}
        hint={t('cases.reasonCodeHint')}
        value={reasonCode}
        required
        pattern={REASON_CODE}
        spellCheck={false}
        autoComplete="off"
        onChange={(changed) => setReasonCode(changed.target.value.toUpperCase())}
      />
      <Field
        label={t('cases.reason')}
        value={note}
        autoComplete="off"
        onChange={(changed) => setNote(changed.target.value)}
      />
      <div className="actions">
        <Button type="submit" kind="primary" isBusy={event.isPending}>
          {t(one.fourEyes ? 'cases.propose' : 'cases.close')}
        </Button>
      </div>
    </form>
  );
}
