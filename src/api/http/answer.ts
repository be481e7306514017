/** The answer of a route that has headers, or a body that names URIs. The hook render-answer.ts sends it. */
export abstract class Answer {
  abstract get headers(): Readonly<Record<string, string>>;

  /** The body; undefined for none. `baseUrl` is the scheme and host in front of every URI. */
  abstract render(baseUrl: string): unknown;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Renders the answer of this route in place of `Answer.render`. */
    render?(answer: Answer, baseUrl: string): unknown;
  }
}
