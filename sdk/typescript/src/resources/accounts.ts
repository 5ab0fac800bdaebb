/** Usage, API keys, registration and sessions. */
import { ApiPromise, type PagePromise } from '../core/api-promise.ts';
import type { CallOptions } from '../core/connection.ts';
import { Resource, segment } from '../core/resource.ts';
import type { Body, Data, QueryOf } from '../types.ts';

type UsageRecord = Data<'usage'>;
type KeyList = Data<'listKeys'>;

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

const SESSION_COOKIE = /(?:^|[,;\s])assay_session=([^;,\s]*)/;

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

  /**
   * Begins a session. The client uses it from now on; `assay.session` has its text, except in a browser.
   *
   * @throws AuthenticationError, RateLimitError after too many attempts
   */
  login(body: Body<'login'>, options?: CallOptions): ApiPromise<Data<'login'>> {
    return this.#remember(this.#open('/auth/login', body, options));
  }

  /** Ends the session. */
  logout(options?: CallOptions): ApiPromise<Data<'logout'>> {
    const path = '/auth/logout';
    return this.#remember(this.connection.json({ method: 'POST', path, options, auth: 'session' }));
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
