/** Settings: people and emails. */
import { mailAddress, oneOf, optionalSmtpUrl } from './readers.ts';
import { setting } from './setting.ts';

export const accountsSettings = {
  registration: setting(
    'ASSAY_REGISTRATION',
    'closed',
    oneOf('open', 'closed'),
    '`open`: anyone may register. Free credits are granted after the email address is verified.',
  ),
  smtpUrl: setting(
    'ASSAY_SMTP_URL',
    '',
    optionalSmtpUrl,
    'Mail server: smtp://user:password@host:port or smtps://…. Without it, no email is sent.',
  ),
  mailFrom: setting('ASSAY_MAIL_FROM', 'assay@localhost', mailAddress, 'Sender of emails.'),
} as const;
