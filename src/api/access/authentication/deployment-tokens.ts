import { createHash, timingSafeEqual } from 'node:crypto';

/** Tokens that belong to the deployment, not to an account: the tokens of SSH gateways, or the token of Prometheus. */
export class DeploymentTokens<Program extends object> {
  private readonly known: readonly { readonly hash: Buffer; readonly program: Program }[];

  constructor(programs: readonly (readonly [token: string, Program])[]) {
    this.known = programs.map(([token, program]) => ({ hash: hash(token), program }));
  }

  /**
   * The program that has this token. Takes the same time for every token: all hashes have one length, and all are
   * compared.
   */
  find(token: string): Program | undefined {
    const sent = hash(token);
    return this.known.filter((known) => timingSafeEqual(known.hash, sent))[0]?.program;
  }
}

const hash = (token: string): Buffer => createHash('sha256').update(token, 'utf8').digest();
