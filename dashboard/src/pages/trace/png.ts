/** The picture as PNG: the SVG, drawn by the browser. */
import { saveFile } from '../../ui/save-file.ts';

/** Sides and area that every browser draws. */
const SIDE_MAX = 16_000;
const AREA_MAX = 100_000_000;
/** Sharp on paper, if there is room. */
const SHARPNESS = 2;

/**
 * Saves the picture.
 *
 * @returns false if the browser cannot draw it
 */
export async function savePng(
  { svg, width, height }: { readonly svg: string; readonly width: number; readonly height: number },
  name: string,
): Promise<boolean> {
  const scale = Math.min(
    SHARPNESS,
    SIDE_MAX / width,
    SIDE_MAX / height,
    Math.sqrt(AREA_MAX / (width * height)),
  );
  const url = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = Math.max(1, Math.floor(width * scale));
    canvas.height = Math.max(1, Math.floor(height * scale));
    canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
    if (blob === null) return false;
    saveFile(name, 'image/png', blob);
    return true;
  } catch {
    return false;
  } finally {
    URL.revokeObjectURL(url);
  }
}
