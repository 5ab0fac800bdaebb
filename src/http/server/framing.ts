/**
 * Checks the head of a request before any handler: a proxy and this server must agree where the request ends and to which host it
 * is addressed (RFC 9112, sections 3.2 and 6.3), so a head that leaves a choice is refused. Both HTTP servers use it.
 */
import { HTTP_LIMITS } from '../limits.ts';

const LENGTH = /^\d{1,15}$/;
/** A name or IPv4 address, or an IPv6 address in brackets, with an optional port (RFC 3986, section 3.2.2). */
const HOST = /^(?:[\w.~%!$&'()*+;=-]*|\[[\da-fA-F:.]+\])(?::\d{0,5})?$/;
/** The field in which proxies pass on the address of the client. */
export const FORWARDED_FOR = 'x-forwarded-for';
/** Bytes of a field besides its name and its value: the colon, a space and the line break. */
const FIELD_BYTES = 4;

/**
 * Collects the fields of one head after the other, so that nothing is allocated per request. The fields that every request needs
 * are kept for the server.
 */
export class HeadCheck {
  host = '';
  authorization = '';
  requestId = '';
  acceptEncoding = '';
  /** All `X-Forwarded-For` fields, in order: a proxy may add a field of its own after one that the client sent. */
  forwardedFor = '';
  /** The request has a body in chunks. */
  isChunked = false;
  /** The client asked for the connection to be closed after the response. */
  closes = false;
  /** A field has no value. */
  hasEmpty = false;
  #fields = 0;
  #bytes = 0;
  #hosts = 0;
  #lengths = 0;
  #length = '';
  #encodings = 0;
  #encoding = '';
  /** The last host that was valid: nearly all requests have the same one. */
  #validHost = '';

  /** Forgets the head of the request before. */
  begin(): void {
    this.host = '';
    this.authorization = '';
    this.requestId = '';
    this.acceptEncoding = '';
    this.forwardedFor = '';
    this.isChunked = false;
    this.closes = false;
    this.hasEmpty = false;
    this.#fields = 0;
    this.#bytes = 0;
    this.#hosts = 0;
    this.#lengths = 0;
    this.#encodings = 0;
  }

  /**
   * Takes the next field. Of a field that is given several times, the first one counts, unless the repetition is refused. X-Forwarded-For is
   * a list: several fields are one (RFC 9110, section 5.3).
   *
   * @param name - in lower case
   */
  readonly add = (name: string, value: string): void => {
    this.#fields++;
    if (value.length === 0) this.hasEmpty = true;
    this.#bytes += name.length + value.length + FIELD_BYTES;
    // By length first: a header that is not of interest costs one comparison.
    switch (name.length) {
      case 4:
        if (name === 'host' && this.#hosts++ === 0) this.host = value;
        return;
      case 10:
        if (name === 'connection' && value.toLowerCase().includes('close')) this.closes = true;
        return;
      case 12:
        if (name === 'x-request-id' && this.requestId === '') this.requestId = value;
        return;
      case 13:
        if (name === 'authorization' && this.authorization === '') this.authorization = value;
        return;
      case 14:
        if (name === 'content-length' && this.#lengths++ === 0) this.#length = value;
        return;
      case 15:
        if (name === 'accept-encoding' && this.acceptEncoding === '') this.acceptEncoding = value;
        else if (name === FORWARDED_FOR)
          this.forwardedFor = this.forwardedFor === '' ? value : `${this.forwardedFor}, ${value}`;
        return;
      case 17:
        if (name === 'transfer-encoding') {
          this.isChunked = true;
          if (this.#encodings++ === 0) this.#encoding = value;
        }
    }
  };

  /**
   * Returns the sentence that says why the request is refused; null if its head is unambiguous.
   *
   * @param method - upper case
   * @param isOld - HTTP/1.0, which has no chunks and needs no Host
   */
  fault(method: string, isOld = false): string | null {
    if (this.#bytes > HTTP_LIMITS.headerBytesMax)
      return `The request headers are larger than ${HTTP_LIMITS.headerBytesMax} bytes.`;
    if (this.#fields > HTTP_LIMITS.headerFieldsMax)
      return `The request has more than ${HTTP_LIMITS.headerFieldsMax} header fields.`;
    if (this.#hosts !== 1 && !(isOld && this.#hosts === 0))
      return this.#hosts === 0 ? 'Host: is required.' : 'Host: must be given only once.';
    if (this.host !== this.#validHost) {
      if (!HOST.test(this.host)) return 'Host: must be a host name or an IP address, with an optional port.';
      this.#validHost = this.host;
    }
    if (this.#lengths > 0) {
      if (this.#lengths > 1) return 'Content-Length: must be given only once.';
      if (!LENGTH.test(this.#length))
        return 'Content-Length: must be a whole number of at most 15 decimal digits.';
    }
    return this.#encodings === 0 ? null : this.#encodingFault(method, isOld);
  }

  #encodingFault(method: string, isOld: boolean): string | null {
    if (this.#lengths > 0) return 'Content-Length: must not be given together with Transfer-Encoding.';
    if (this.#encodings > 1 || this.#encoding.toLowerCase() !== 'chunked')
      return 'Transfer-Encoding: must be given once, with the value chunked.';
    if (isOld) return 'Transfer-Encoding: must not be used with HTTP/1.0.';
    // A response that is longer than a buffer cannot end with the connection, and no operation reads this body.
    return method === 'GET' || method === 'HEAD'
      ? `Transfer-Encoding: a ${method} request must not have a body.`
      : null;
  }
}
