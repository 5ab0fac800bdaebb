/**
 * Rendered judgements of addresses with one label that names no list. Such a judgement, with the entity behind it, contains the name of
 * the entity, and depends otherwise on a few fields that many labels share: what surrounds the name is rendered once for all of them.
 */
import { copyInto, fragment, jsonTextInto } from '../base/byte-text.ts';
import type { Label } from '../labels/label.ts';
import type { Category } from '../labels/taxonomy.ts';
import { ownershipEvidence } from './judge.ts';

/** Stands for the name while a judgement is rendered. No text of the product contains it, and JSON writes it as it is. */
const NAME = '\ue000name\ue000';

/** Maximum number of shapes of a source and category: a source has few confidences. Further ones are rendered each time. */
const SHAPES_MAX = 64;

/** The fields of a label that its judgement depends on, besides source, category and the name of the entity. */
interface Shape {
  readonly threatLevel: Label['threatLevel'];
  readonly class: Label['class'];
  readonly verified: boolean;
  readonly confidence: number;
  /** The confidence that counts: at most that of the independence group. */
  readonly counted: number;
  /** The text around the names. */
  readonly parts: readonly Buffer[];
}

/** Renders the judgement of a label, and its entity, as JSON without the braces. */
export type RenderJudgement = (label: Label) => string;

/** The shapes of one state of everything that a judgement depends on besides the label. */
export class JudgementShapes {
  readonly #render: RenderJudgement;
  readonly #bySource = new Map<string, Map<Category, Shape[]>>();

  constructor(render: RenderJudgement) {
    this.#render = render;
  }

  /**
   * Writes the judgement of a label, and its entity.
   *
   * @param label - the only label of its address, without sanctions
   * @returns the offset behind the text; -1 if it does not fit
   */
  write(label: Label, out: Buffer, offset: number): number {
    const { parts } = this.#shapeOf(label);
    const { name } = label.entity;
    let at = copyInto(parts[0] as Buffer, out, offset);
    for (let index = 1; index < parts.length; index++)
      at = copyInto(parts[index] as Buffer, out, jsonTextInto(name, out, at));
    return at;
  }

  #shapeOf(label: Label): Shape {
    const shapes = this.#shapesOf(label);
    const { threatLevel, verified, confidence } = label;
    const counted = ownershipEvidence(label).confidence;
    for (const shape of shapes)
      if (
        shape.threatLevel === threatLevel &&
        shape.confidence === confidence &&
        shape.counted === counted &&
        shape.class === label.class &&
        shape.verified === verified
      )
        return shape;
    const text = this.#render({ ...label, entity: { ...label.entity, name: NAME } });
    const parts = text.split(NAME).map(fragment);
    const made = { threatLevel, class: label.class, verified, confidence, counted, parts };
    if (shapes.length < SHAPES_MAX) shapes.push(made);
    return made;
  }

  #shapesOf({ source, category }: Label): Shape[] {
    let byCategory = this.#bySource.get(source);
    if (byCategory === undefined) {
      byCategory = new Map();
      this.#bySource.set(source, byCategory);
    }
    let shapes = byCategory.get(category);
    if (shapes === undefined) {
      shapes = [];
      byCategory.set(category, shapes);
    }
    return shapes;
  }
}
