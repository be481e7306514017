import { Injectable } from '@nestjs/common';
import { ConstraintViolated } from '../log/append/append-failures.js';
import { Problem, quoted } from '../problem.js';
import type { Hostport } from './hostport.js';
import type { ListedHostport } from './tcp-edge.js';
import { EdgesByHostport, EXCLUSIVE_HOSTPORT_CONSTRAINT } from './tcp-edges.read-model.js';

/** The operator's settings for edges: see config.ts. */
export abstract class TcpEdgePolicy {
  abstract readonly strict: boolean;
}

/**
 * Strict mode: a hostport belongs to one edge of the deployment. The look-up finds the taken hostport for the message;
 * the unique index decides races. No message names the other edge, because it may belong to another account.
 */
@Injectable()
export class HostportClaims {
  constructor(
    private readonly edges: EdgesByHostport,
    private readonly policy: TcpEdgePolicy,
  ) {}

  /** The form in which an edge lists hostports that are new to it. */
  listed(hostports: readonly Hostport[]): ListedHostport[] {
    return hostports.map(({ text, canonical }) => ({ text, canonical, exclusive: this.policy.strict }));
  }

  /** An edge may keep a hostport that it lists, even one that another edge has shared since before strict mode. */
  async refuseTaken(edgeId: string, hostports: readonly Hostport[] = []): Promise<void> {
    if (!this.policy.strict) return;
    const edges = await Promise.all(hostports.map(({ canonical }) => this.edges.list(canonical)));
    const taken = hostports.findIndex((_, i) => {
      const ids = edges[i]?.map(({ id }) => id) ?? [];
      return ids.length > 0 && !ids.includes(edgeId);
    });
    if (taken >= 0) throw alreadyUsed(`hostports[${taken}] ${quoted(hostports[taken]?.text ?? '')}`);
  }

  /** Turns the violation of the unique index into a Problem; rethrows any other error. */
  async explain(error: unknown, edgeId: string, hostports?: readonly Hostport[]): Promise<never> {
    if (!(error instanceof ConstraintViolated && error.constraint === EXCLUSIVE_HOSTPORT_CONSTRAINT)) throw error;
    await this.refuseTaken(edgeId, hostports);
    // The edge that won the race has been deleted since.
    throw alreadyUsed('One of the hostports');
  }
}

const alreadyUsed = (which: string): Problem =>
  new Problem('hostport_already_used', `${which} is already used by another edge.`);
