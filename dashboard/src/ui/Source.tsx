/** A source with the page on which it publishes. */
import type { ReactNode } from 'react';
import { Icon } from './icons.tsx';

interface SourceProps {
  readonly name: string;
  readonly url: string | null;
}

/** Links of other schemes, such as javascript:, are text. */
const isWeb = (url: string): boolean => /^https?:\/\//i.test(url);

/** The name of a source; a link if it has an address of the web. The page that is opened does not learn where the reader comes from. */
export function Source({ name, url }: SourceProps): ReactNode {
  if (url === null || !isWeb(url)) return <bdi>{name}</bdi>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer" className="source">
      <bdi>{name}</bdi>
      <Icon name="external" />
    </a>
  );
}
