/** Work that the services of people share: entries of the audit log, emails, and work that continues after its response. */
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Mailer } from '../base/mail.ts';
import type { Actor, AuditAction, AuditLog } from './audit.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

export interface PeopleTasksDeps {
  readonly log: Logger;
  readonly audit: () => AuditLog;
  /** Null if no email can be sent. */
  readonly mailer: Mailer | null;
}

export class PeopleTasks {
  readonly #log: Logger;
  readonly #audit: () => AuditLog;
  readonly #mailer: Mailer | null;
  /** Work of requests that have their response. */
  readonly #afterAnswer = new Set<Promise<void>>();
  /** Emails in progress; if there are too many, further ones are dropped, with a line in the log. */
  #sending = 0;

  constructor({ log, audit, mailer }: PeopleTasksDeps) {
    this.#log = log;
    this.#audit = audit;
    this.#mailer = mailer;
  }

  /** False if no mail server is configured: emails are then logged as not sent. */
  get sendsEmails(): boolean {
    return this.#mailer !== null;
  }

  /** Resolves when the work of all accepted requests is completed. */
  async settled(): Promise<void> {
    await Promise.all(this.#afterAnswer);
  }

  /**
   * Runs work that takes more or less time depending on whether an address has an account, after the response of the current request. A failure is logged:
   * the client asks again if no email arrives.
   *
   * @throws OVERLOADED if too much such work is in progress
   */
  runAfterAnswer(request: string, work: () => Promise<void>): void {
    if (this.#afterAnswer.size >= ACCOUNT_LIMITS.requestsAfterAnswerMax)
      throw new AssayError('OVERLOADED', 'Too many requests for emails are being processed.', {
        retryAfterSeconds: 2,
      });
    const running = new Promise<void>((resolve) => setImmediate(resolve))
      .then(work)
      .catch((error: unknown) => this.#log.error({ request, reason: messageOf(error) }, 'request failed'))
      .finally(() => this.#afterAnswer.delete(running));
    this.#afterAnswer.add(running);
  }

  /** Writes an entry of the audit log about an account, and the person or invitation in it. */
  writeAudit(
    actor: Actor,
    action: AuditAction,
    accountId: string,
    subject: string | null = null,
    detail: string | null = null,
  ): Promise<unknown> {
    return this.#audit().write({ ...actor, action, accountId, subject, detail });
  }

  /** Sends without waiting: the time of sending would reveal whether an email was sent. */
  send(to: string, { subject, text }: { readonly subject: string; readonly text: string }): void {
    const mailer = this.#mailer;
    if (mailer === null) {
      this.#log.warn({ reason: 'ASSAY_SMTP_URL is not set' }, 'email not sent');
      return;
    }
    if (this.#sending >= ACCOUNT_LIMITS.emailsInFlightMax) {
      this.#log.warn({ reason: 'too many emails are being sent' }, 'email not sent');
      return;
    }
    this.#sending++;
    mailer
      .send({ to, subject, text })
      .catch((error: unknown) => this.#log.error({ reason: messageOf(error) }, 'email not sent'))
      .finally(() => {
        this.#sending--;
      });
  }
}
