import { Injectable } from '@nestjs/common';
import { ClaimRefused, ConstraintViolated } from '../../event-log/index.js';
import { Problem, quoted } from '../../kernel/problem.js';
import type { Hostport } from './hostport.js';
import type { ListedHostport } from './tcp-edge.js';
import { EdgesByHostport, EXCLUSIVE_HOSTPORT_CONSTRAINT } from './tcp-edges.read-model.js';

/** The operator's settings for edges: see config.ts. */
export abstract class TcpEdgePolicy {
  abstract readonly strict: boolean;
}

/** The edge that is changed or made, and its account. */
interface Claimant {
  readonly edgeId: string;
  readonly accountId: string;
}

/**
 * A hostport belongs to one account of the deployment, and in strict mode to one edge. The append and unique indexes
 * decide; the look-ups here find the hostport for the message. No message names the other edge or its account.
 */
@Injectable()
export class HostportClaims {
  constructor(
    private readonly edges: EdgesByHostport,
    private readonly policy: TcpEdgePolicy,
  ) {}

  /** The form in which an edge lists hostports that are new to it. */
  listed(hostports: readonly Hostport[], at: Date): ListedHostport[] {
    const { strict: exclusive } = this.policy;
    const listed_at = at.toISOString();
    return hostports.map(({ text, canonical }) => ({ text, canonical, exclusive, listed_at }));
  }

  /**
   * Refuses in strict mode only. An edge may keep a hostport that it lists, even one that it has shared with another
   * edge since before strict mode.
   */
  async refuseTaken(edgeId: string, hostports: readonly Hostport[] = []): Promise<void> {
    if (!this.policy.strict) return;
    const edges = await Promise.all(hostports.map(({ canonical }) => this.edges.list(canonical)));
    const taken = hostports.findIndex((_, i) => {
      const ids = edges[i]?.map(({ id }) => id) ?? [];
      return ids.length > 0 && !ids.includes(edgeId);
    });
    if (taken >= 0) throw alreadyUsed(hostports, taken, 'another edge');
  }

  /** Turns a refusal of the append into a Problem; rethrows any other error. */
  async explain(error: unknown, { edgeId, accountId }: Claimant, hostports: readonly Hostport[] = []): Promise<never> {
    const isExclusive = error instanceof ConstraintViolated && error.constraint === EXCLUSIVE_HOSTPORT_CONSTRAINT;
    if (!isExclusive && !(error instanceof ClaimRefused)) throw error;
    await this.refuseTaken(edgeId, hostports);
    const by = isExclusive ? 'another edge' : 'an edge of another account';
    const values = hostports.map(({ canonical }) => canonical);
    const others = isExclusive ? new Set() : await this.edges.ofOtherAccounts(accountId, values);
    // Nothing is found if the edge that won the race has been deleted since.
    throw alreadyUsed(
      hostports,
      values.findIndex((value) => others.has(value)),
      by,
    );
  }
}

function alreadyUsed(hostports: readonly Hostport[], n: number, by: string): Problem {
  const hostport = hostports[n];
  const which = hostport === undefined ? 'One of the hostports' : `hostports[${n}] ${quoted(hostport.text)}`;
  return new Problem('hostport_already_used', `${which} is already used by ${by}.`);
}
