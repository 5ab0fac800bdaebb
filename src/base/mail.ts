/** Sends email by SMTP. The library is loaded with the first email, because most installations send none. */
import { AssayError, messageOf } from './errors.ts';
import { LIMITS } from './limits.ts';

/** An email in plain text. */
export interface Email {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface Mailer {
  /** Resolves once the mail server has accepted the email. Rejects with SOURCE_UNAVAILABLE. */
  send(email: Email): Promise<void>;
}

export interface MailOptions {
  /** `smtp://user:password@host:port`, or `smtps://…`. */
  readonly url: string;
  /** Sender address. */
  readonly from: string;
}

/** Creates a mailer; it connects for each email. */
export function createMailer(options: MailOptions): Mailer {
  const { smtpStepMs } = LIMITS;
  return {
    async send({ to, subject, text }) {
      const { createTransport } = await import('nodemailer');
      const transport = createTransport({
        url: options.url,
        connectionTimeout: smtpStepMs,
        greetingTimeout: smtpStepMs,
        socketTimeout: smtpStepMs,
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      try {
        await transport.sendMail({ from: options.from, to: { name: '', address: to }, subject, text });
      } catch (cause) {
        throw new AssayError(
          'SOURCE_UNAVAILABLE',
          `The mail server rejected the email: ${messageOf(cause)}.`,
          {
            cause,
          },
        );
      } finally {
        transport.close();
      }
    },
  };
}
