/** Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), the part that the server sends. */

export interface SseMessage {
  /** Empty if the message has none. */
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

function messageOf(block: string): SseMessage | null {
  const message = { id: '', event: 'message', data: '' };
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':');
    // A line that begins with a colon is a comment: the server sends one regularly, so that the connection stays open.
    if (colon < 1) continue;
    const value = line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    const name = line.slice(0, colon);
    if (name === 'data') data.push(value);
    else if (name === 'id' || name === 'event') message[name] = value;
  }
  return data.length === 0 ? null : { ...message, data: data.join('\n') };
}

/**
 * Parses a stream of events. An incomplete event at the end is dropped: it is sent again after a resume.
 *
 * @param onComment - called for each comment
 */
export async function* sseMessages(
  body: AsyncIterable<Uint8Array>,
  onComment: () => void,
): AsyncGenerator<SseMessage> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    // The whole rest, because a line break may be cut in two.
    rest = (rest + decoder.decode(bytes, { stream: true })).replaceAll('\r\n', '\n');
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const message = messageOf(block);
      if (message !== null) yield message;
      else if (block.startsWith(':')) onComment();
    }
  }
}
