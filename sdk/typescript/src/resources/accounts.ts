/** Usage, API keys, registration and sessions. */
import { ApiPromise, type PagePromise } from '../core/api-promise.ts';
import type { CallOptions } from '../core/connection.ts';
import { Resource, segment } from '../core/resource.ts';
import { RETRIES } from '../generated/retries.ts';
import type { Body, Data, QueryOf } from '../types.ts';

type UsageRecord = Data<'usage'>;
type KeyList = Data<'listKeys'>;
type PeopleList = Data<'listPeople'>;
type SessionList = Data<'listSessions'>;
type AuditPage = Data<'auditLog'>;

export class Usage extends Resource {
  /** Returns the balance of credits and the ledger. Iterate over it for all entries of the ledger, the newest first. */
  get(
    query: QueryOf<'usage'> = {},
    options?: CallOptions,
  ): PagePromise<UsageRecord, UsageRecord['history'][number]> {
    return this.connection.list({ method: 'GET', path: '/usage', query, options }, 'history');
  }
}

/** Keys of the account of the session. `create` and `toggle` also work with an API key. */
export class Keys extends Resource {
  list(
    query: QueryOf<'listKeys'> = {},
    options?: CallOptions,
  ): PagePromise<KeyList, KeyList['keys'][number]> {
    return this.connection.list({ method: 'GET', path: '/keys', query, options, auth: 'session' }, 'keys');
  }

  /** Creates a key. The response is the only one that has its text. */
  create(body: Body<'createKey'>, options?: CallOptions): ApiPromise<Data<'createKey'>> {
    return this.connection.json({ method: 'POST', path: '/keys', body, options, auth: 'session' });
  }

  /** Grants a permission to a key, or takes it away. */
  toggle(id: string, body: Body<'toggleKey'>, options?: CallOptions): ApiPromise<Data<'toggleKey'>> {
    const path = `/keys/${segment(id)}`;
    return this.connection.json({ method: 'PATCH', path, body, options, auth: 'session' });
  }

  /** Revokes a key for good. */
  revoke(id: string, query: QueryOf<'revokeKey'> = {}, options?: CallOptions): ApiPromise<Data<'revokeKey'>> {
    const path = `/keys/${segment(id)}`;
    return this.connection.json({ method: 'DELETE', path, query, options, auth: 'session' });
  }
}

/** The people of the account of the session. Changes need the role `owner`. */
export class People extends Resource {
  /** Returns the people of the account and the pending invitations to it. */
  list(
    query: QueryOf<'listPeople'> = {},
    options?: CallOptions,
  ): PagePromise<PeopleList, PeopleList['people'][number]> {
    return this.connection.list(
      { method: 'GET', path: '/people', query, options, auth: 'session' },
      'people',
    );
  }

  /** Returns the audit log of the account, the newest entry first. */
  audit(
    query: QueryOf<'auditLog'> = {},
    options?: CallOptions,
  ): PagePromise<AuditPage, AuditPage['entries'][number]> {
    return this.connection.list(
      { method: 'GET', path: '/audit', query, options, auth: 'session' },
      'entries',
    );
  }

  /** Adds a person with a password, if registration is closed. */
  create(body: Body<'addPerson'>, options?: CallOptions): ApiPromise<Data<'addPerson'>> {
    return this.connection.json({ method: 'POST', path: '/people', body, options, auth: 'session' });
  }

  /** Invites a person by email. */
  invite(body: Body<'invitePerson'>, options?: CallOptions): ApiPromise<Data<'invitePerson'>> {
    const path = '/people/invitations';
    return this.connection.json({ method: 'POST', path, body, options, auth: 'session' });
  }

  /** Changes the role of a person or an invitation. */
  update(id: string, body: Body<'changePerson'>, options?: CallOptions): ApiPromise<Data<'changePerson'>> {
    const path = `/people/${segment(id)}`;
    return this.connection.json({ method: 'PATCH', path, body, options, auth: 'session' });
  }

  /** Removes a person, or withdraws an invitation. An owner is removed with `currentPassword`. */
  remove(
    id: string,
    body: Body<'removePerson'> = {},
    options?: CallOptions,
  ): ApiPromise<Data<'removePerson'>> {
    const path = `/people/${segment(id)}`;
    return this.connection.json({ method: 'DELETE', path, body, options, auth: 'session' });
  }

  /** Ends all sessions of a person. */
  endSessions(id: string, options?: CallOptions): ApiPromise<Data<'endPersonSessions'>> {
    const path = `/people/${segment(id)}/sessions`;
    return this.connection.json({ method: 'DELETE', path, options, auth: 'session' });
  }

  /** Disables the second factor of another person, who has lost it. Needs `currentPassword`. */
  disableTotp(id: string, body: Body<'discardTotp'>, options?: CallOptions): ApiPromise<Data<'discardTotp'>> {
    const path = `/people/${segment(id)}/totp`;
    return this.connection.json({ method: 'DELETE', path, body, options, auth: 'session' });
  }
}

const SESSION_COOKIE = /(?:^|[,;\s])(?:__Host-)?assay_session=([^;,\s]*)/;

/** Registration and sessions of people. Programs use API keys instead. */
export class Auth extends Resource {
  /** Registers an account; an email with a token follows. */
  register(body: Body<'register'>, options?: CallOptions): ApiPromise<Data<'register'>> {
    return this.#open('/auth/register', body, options);
  }

  /** Confirms an email address by the token of the email. */
  verify(body: Body<'verifyEmail'>, options?: CallOptions): ApiPromise<Data<'verifyEmail'>> {
    return this.#open('/auth/verify', body, options);
  }

  /** Requests another confirmation email. */
  resendConfirmation(
    body: Body<'resendConfirmation'>,
    options?: CallOptions,
  ): ApiPromise<Data<'resendConfirmation'>> {
    return this.#open('/auth/confirmation', body, options);
  }

  /** Joins an account by the token of an invitation, and begins a session. */
  acceptInvitation(
    body: Body<'acceptInvitation'>,
    options?: CallOptions,
  ): ApiPromise<Data<'acceptInvitation'>> {
    return this.#remember(this.#open('/auth/invitation', body, options));
  }

  /**
   * Begins a session. The client uses it from now on; `assay.session` has its text, except in a browser.
   *
   * @throws AuthenticationError, with the code SECOND_FACTOR_REQUIRED if `code` is missing; RateLimitError after too many attempts
   */
  login(body: Body<'login'>, options?: CallOptions): ApiPromise<Data<'login'>> {
    return this.#remember(this.#open('/auth/login', body, options));
  }

  /** Ends the session. */
  logout(options?: CallOptions): ApiPromise<Data<'logout'>> {
    const path = '/auth/logout';
    const retry = RETRIES.logout;
    return this.#remember(this.connection.json({ method: 'POST', path, options, auth: 'session', retry }));
  }

  /** Returns the account of the session, and its end. */
  session(options?: CallOptions): ApiPromise<Data<'session'>> {
    return this.connection.json({ method: 'GET', path: '/auth/session', options, auth: 'session' });
  }

  /** Changes the password, which ends all sessions and begins a new one. */
  changePassword(body: Body<'changePassword'>, options?: CallOptions): ApiPromise<Data<'changePassword'>> {
    const path = '/auth/password';
    return this.#remember(this.connection.json({ method: 'POST', path, body, options, auth: 'session' }));
  }

  /** Requests an email with a token for a new password. */
  forgotPassword(body: Body<'forgotPassword'>, options?: CallOptions): ApiPromise<Data<'forgotPassword'>> {
    return this.#open('/auth/password/forgot', body, options);
  }

  /** Sets a new password by the token of the email. */
  resetPassword(body: Body<'resetPassword'>, options?: CallOptions): ApiPromise<Data<'resetPassword'>> {
    return this.#remember(this.#open('/auth/password/reset', body, options));
  }

  /** Returns the sessions of the person, the newest first. */
  sessions(
    query: QueryOf<'listSessions'> = {},
    options?: CallOptions,
  ): PagePromise<SessionList, SessionList['sessions'][number]> {
    const path = '/auth/sessions';
    return this.connection.list({ method: 'GET', path, query, options, auth: 'session' }, 'sessions');
  }

  /** Ends one of the sessions of the person. */
  endSession(id: string, options?: CallOptions): ApiPromise<Data<'endSession'>> {
    const path = `/auth/sessions/${segment(id)}`;
    return this.connection.json({ method: 'DELETE', path, options, auth: 'session' });
  }

  /** Ends all sessions of the person except this one. */
  endOtherSessions(options?: CallOptions): ApiPromise<Data<'endOtherSessions'>> {
    const path = '/auth/sessions';
    return this.connection.json({ method: 'DELETE', path, options, auth: 'session' });
  }

  /** Creates the secret of an authenticator app. */
  enrolTotp(body: Body<'enrolTotp'>, options?: CallOptions): ApiPromise<Data<'enrolTotp'>> {
    return this.#own('/auth/totp', body, options);
  }

  /** Enables the second factor with a first code. The response is the only one that has the recovery codes. */
  confirmTotp(body: Body<'confirmTotp'>, options?: CallOptions): ApiPromise<Data<'confirmTotp'>> {
    return this.#own('/auth/totp/confirm', body, options);
  }

  /** Replaces the recovery codes. */
  renewRecoveryCodes(
    body: Body<'renewRecoveryCodes'>,
    options?: CallOptions,
  ): ApiPromise<Data<'renewRecoveryCodes'>> {
    return this.#own('/auth/totp/recovery-codes', body, options);
  }

  /** Disables the second factor. */
  disableTotp(body: Body<'disableTotp'>, options?: CallOptions): ApiPromise<Data<'disableTotp'>> {
    return this.#own('/auth/totp/disable', body, options);
  }

  #own<T>(path: string, body: unknown, options: CallOptions | undefined): ApiPromise<T> {
    return this.connection.json({ method: 'POST', path, body, options, auth: 'session' });
  }

  #open<T>(path: string, body: unknown, options: CallOptions | undefined): ApiPromise<T> {
    return this.connection.json({ method: 'POST', path, body, options, auth: 'none' });
  }

  /** Takes the session from the response, if a script may see it. */
  #remember<T>(call: ApiPromise<T>): ApiPromise<T> {
    const { connection } = this;
    return new ApiPromise(
      call.withResponse().then((result) => {
        const text = SESSION_COOKIE.exec(result.response.header('set-cookie') ?? '')?.[1];
        if (text !== undefined) connection.session = text === '' ? undefined : text;
        return result;
      }),
    );
  }
}
