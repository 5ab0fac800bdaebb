/** A QR code on white, which every camera reads, in both themes. Its library is loaded here and nowhere else. */
import { type ReactNode, useEffect, useRef } from 'react';

interface QrCodeProps {
  readonly text: string;
  /** For people who cannot see it. */
  readonly label: string;
}

/** The code. */
export function QrCode({ text, label }: QrCodeProps): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    let isGone = false;
    void import('lean-qr').then(({ generate }) => {
      if (!isGone && canvas.current !== null)
        generate(text).toCanvas(canvas.current, { on: [0, 0, 0], off: [255, 255, 255], pad: 4 });
    });
    return () => {
      isGone = true;
    };
  }, [text]);
  return <canvas ref={canvas} className="qr" role="img" aria-label={label} />;
}
