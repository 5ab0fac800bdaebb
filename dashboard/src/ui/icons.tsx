/** Icons as SVG in the colour of the text. They are decoration: words say the same. */
import type { ReactNode } from 'react';

const PATHS = {
  bookmark: 'M4 2.5h8v11L8 10.5l-4 3z',
  bell: 'M4 11V7a4 4 0 018 0v4l1.2 1.5H2.8zM6.6 14h2.8',
  check: 'M3 8.5l3.2 3.2L13 5',
  close: 'M4 4l8 8M12 4l-8 8',
  coins:
    'M6 6.6c2.2 0 4-.8 4-1.8S8.2 3 6 3 2 3.8 2 4.8s1.8 1.8 4 1.8zM2 4.8v5.4C2 11.2 3.8 12 6 12s4-.8 4-1.8V4.8M2 7.5c0 1 1.8 1.8 4 1.8s4-.8 4-1.8M10 7c2.2 0 4 .8 4 1.8s-1.8 1.8-4 1.8M14 8.8v2.7c0 1-1.8 1.8-4 1.8-1.1 0-2.1-.2-2.8-.5',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  copy: 'M5.5 5.5h7.5v8H5.5zM3 10.5v-8h7.5',
  down: 'M4 6l4 4 4-4',
  download: 'M8 2.5v7.5M4.8 7L8 10.2 11.2 7M3 13h10',
  external: 'M6.5 3.5H3.5v9h9v-3M9 3h4v4M13 3L7.5 8.5',
  gauge: 'M2.6 12.5a6 6 0 1110.8 0M8 10l2.8-3.6',
  building: 'M3.5 13.5v-11h6v11M9.5 6.5h3v7M2 13.5h12M5.5 5h2M5.5 7.5h2M5.5 10h2',
  eye: 'M1.5 8C3 5 5.3 3.6 8 3.6S13 5 14.5 8C13 11 10.7 12.4 8 12.4S3 11 1.5 8zM8 10a2 2 0 100-4 2 2 0 000 4z',
  flag: 'M4 14V2.5M4 3h8l-2 2.8 2 2.7H4',
  folder: 'M2 12.8V3.5h4l1.5 1.8H14v7.5z',
  help: 'M8 14A6 6 0 108 2a6 6 0 000 12zM6.2 6.3C6.4 5 9.7 4.8 9.8 6.6 9.8 8 8 7.9 8 9.3M8 11.3v.2',
  home: 'M2.5 8L8 3l5.5 5M4 7v6.5h8V7',
  key: 'M7.2 8.8a3 3 0 11-4.1-.1 3 3 0 014.1.1zM7.3 8.6L13 3M10.6 5.4l1.8 1.8',
  list: 'M5.5 4h8M5.5 8h8M5.5 12h8M2.7 4h.1M2.7 8h.1M2.7 12h.1',
  log: 'M4 2.5h8v11H4zM6 5.5h4M6 8h4M6 10.5h2.5',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  minus: 'M3 8h10',
  plus: 'M8 3v10M3 8h10',
  print: 'M4.5 6V2.5h7V6M4.5 11.5h-2V6h11v5.5h-2M4.5 9.5h7v4h-7z',
  pulse: 'M2 8.5h3l2-5 2.5 9 1.8-4H14',
  search: 'M7 11.5a4.5 4.5 0 100-9 4.5 4.5 0 000 9zM10.3 10.3l3.4 3.4',
  send: 'M13.5 2.5L2.5 7l4.6 1.9L9 13.5zM7.1 8.9l6.4-6.4',
  server: 'M2.5 2.8h11v4.4h-11zM2.5 8.8h11v4.4h-11zM5 5h.1M5 11h.1M8 5h3M8 11h3',
  stack: 'M8 2.5l5.5 2.8L8 8.1 2.5 5.3zM2.5 8L8 10.8 13.5 8M2.5 10.7L8 13.5l5.5-2.8',
  sun: 'M8 10.7a2.7 2.7 0 100-5.4 2.7 2.7 0 000 5.4zM8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M12.6 3.4l-1.1 1.1M4.5 11.5l-1.1 1.1',
  user: 'M8 8a2.8 2.8 0 100-5.6A2.8 2.8 0 008 8zM2.8 13.6c.6-2.6 2.7-3.8 5.2-3.8s4.6 1.2 5.2 3.8',
  users:
    'M6 8a2.4 2.4 0 100-4.8A2.4 2.4 0 006 8zM1.8 13c.4-2.3 2.2-3.3 4.2-3.3s3.8 1 4.2 3.3M10.5 3.4a2.3 2.3 0 010 4.4M12 9.9c1.2.4 2 1.4 2.3 3.1',
  warning: 'M8 2.5l6 11H2zM8 6.5v3.2M8 11.6v.1',
} as const;

export type IconName = keyof typeof PATHS;

/** Shows an icon of 16 pixels. */
export function Icon({ name }: { name: IconName }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
