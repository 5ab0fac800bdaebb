/** Types of the parts of markdown-it that the guide uses. The package has none of its own. */
declare module 'markdown-it' {
  export interface Token {
    type: string;
    tag: string;
    nesting: -1 | 0 | 1;
    level: number;
    content: string;
    info: string;
    children: Token[] | null;
    attrGet(name: string): string | null;
    attrSet(name: string, value: string): void;
    attrs: [string, string][] | null;
  }
  // The environment has the type that the caller of `render` gives it.
  // biome-ignore lint/suspicious/noExplicitAny: as in the package
  export type RenderRule = (tokens: Token[], at: number, options: object, env: any) => string;
  export default class MarkdownIt {
    constructor(options?: { readonly html?: boolean; readonly linkify?: boolean });
    readonly options: object;
    readonly renderer: {
      render(tokens: readonly Token[], options: object, env: object): string;
      readonly rules: { [type: string]: RenderRule | undefined };
    };
    parse(source: string, env: object): Token[];
  }
}
