/** The colours of the theme, resolved: WebGL and files know no custom properties. */
import { useEffect, useState } from 'react';
import { flushSync } from 'react-dom';
import type { RiskLevel } from '../../ui/RiskBadge.tsx';
import type { LevelColours, Palette } from './svg.ts';

/**
 * Reads the colour of a custom property through an element, which resolves `light-dark()`.
 *
 * @param isPaper - in the light theme, whatever the theme of the screen
 */
function reader(isPaper: boolean): { readonly read: (property: string) => string; readonly end: () => void } {
  const probe = document.createElement('span');
  // Forced colours are one ink: names and their halo would be the same. The board keeps its own ground.
  probe.style.forcedColorAdjust = 'none';
  if (isPaper) probe.style.colorScheme = 'light';
  document.body.append(probe);
  return {
    read: (property) => {
      probe.style.color = `var(${property})`;
      const [red = '0', green = '0', blue = '0'] = getComputedStyle(probe).color.match(/\d+/g) ?? [];
      return `#${[red, green, blue].map((part) => Number(part).toString(16).padStart(2, '0')).join('')}`;
    },
    end: () => probe.remove(),
  };
}

/** Reads the palette of the present theme, or that of paper. */
export function readPalette(isPaper = false): Palette {
  const { read, end } = reader(isPaper);
  const level = (name: string): LevelColours => ({
    border: read(`--risk-${name}`),
    fill: read(`--risk-${name}-soft`),
    ink: read(`--risk-${name}`),
  });
  const critical = level('critical');
  const levels: Record<RiskLevel, LevelColours> = {
    LOW: level('low'),
    MEDIUM: level('medium'),
    HIGH: level('high'),
    // The strong colour of this level is its ground.
    CRITICAL: { ...critical, border: critical.fill },
    UNKNOWN: level('unknown'),
  };
  const palette: Palette = {
    ground: read('--surface'),
    ink: read('--ink'),
    ink2: read('--ink-2'),
    edge: read('--trace-edge'),
    accent: read('--accent'),
    levels,
  };
  end();
  return palette;
}

/** Returns the palette, also after the theme has changed, and that of paper while the page is printed. */
export function usePalette(): Palette {
  const [palette, setPalette] = useState(() => readPalette());
  useEffect(() => {
    const change = (): void => setPalette(readPalette());
    // The browser takes the picture right after the event.
    const print = (): void => flushSync(() => setPalette(readPalette(true)));
    const system = matchMedia('(prefers-color-scheme: dark)');
    system.addEventListener('change', change);
    const chosen = new MutationObserver(change);
    chosen.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    addEventListener('beforeprint', print);
    addEventListener('afterprint', change);
    return () => {
      removeEventListener('beforeprint', print);
      removeEventListener('afterprint', change);
      system.removeEventListener('change', change);
      chosen.disconnect();
    };
  }, []);
  return palette;
}
