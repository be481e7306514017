import { Injectable } from '@nestjs/common';
import { quoted } from '../host-name.js';
import { ConstraintViolated } from '../log/append/event-log.js';
import { Problem } from '../problem.js';
import type { Hostport } from './hostport.js';
import type { ListedHostport } from './tcp-edge.js';
import { EXCLUSIVE_HOSTPORT_CONSTRAINT, TcpEdges } from './tcp-edges.read-model.js';

/** What the operator decided about edges: see config.ts. */
export abstract class TcpEdgePolicy {
  abstract readonly strict: boolean;
}

/**
 * Strict mode: a hostport belongs to one edge of the deployment. The look-up finds what is taken and can name it; the
 * unique index decides races. Neither tells whose edge it is: that may be another account's.
 */
@Injectable()
export class HostportClaims {
  constructor(
    private readonly edges: TcpEdges,
    private readonly policy: TcpEdgePolicy,
  ) {}

  /** As an edge lists hostports that it has not listed before. */
  listed(hostports: readonly Hostport[]): ListedHostport[] {
    return hostports.map(({ text, canonical }) => ({ text, canonical, exclusive: this.policy.strict }));
  }

  /** Those that the edge lists already are its own to keep, even where another has shared them since before strict mode. */
  async refuseTaken(edgeId: string, hostports: readonly Hostport[]): Promise<void> {
    if (!this.policy.strict) return;
    const edges = await Promise.all(hostports.map(({ canonical }) => this.edges.listByHostport(canonical)));
    const taken = hostports.findIndex((_, i) => {
      const ids = edges[i]?.map(({ id }) => id) ?? [];
      return ids.length > 0 && !ids.includes(edgeId);
    });
    if (taken >= 0) throw alreadyUsed(`hostports[${taken}] ${quoted(hostports[taken]?.text ?? '')}`);
  }

  /** Tells in the caller's terms why an append was refused. */
  async explain(error: unknown, edgeId: string, hostports: readonly Hostport[]): Promise<never> {
    if (!(error instanceof ConstraintViolated && error.constraint === EXCLUSIVE_HOSTPORT_CONSTRAINT)) throw error;
    await this.refuseTaken(edgeId, hostports);
    // The winner is gone again meanwhile.
    throw alreadyUsed('One of the hostports');
  }
}

const alreadyUsed = (which: string): Problem =>
  new Problem('hostport_already_used', `${which} is already used by another edge.`);
