import { Injectable } from '@nestjs/common';
import { CLAIMS_CONSTRAINT } from '../../event-log/index.js';
import { Problem, quoted } from '../../kernel/problem.js';
import type { Refusals } from '../resources/changes.js';
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
 * A hostport belongs to one account of the deployment, and in strict mode to one edge; an account that has reserved it
 * gets it all the same. The append and unique indexes decide; the look-ups here find the hostport for the message. No
 * message names the other edge or its account.
 */
@Injectable()
export class HostportClaims {
  constructor(
    private readonly edges: EdgesByHostport,
    private readonly policy: TcpEdgePolicy,
  ) {}

  /**
   * The form in which an edge lists hostports that are new to it. Throws Problem in strict mode if another edge lists one
   * of them. An edge may keep a hostport that it lists, even one that it has shared with another edge since before
   * strict mode.
   */
  async claim({ edgeId, accountId }: Claimant, hostports: readonly Hostport[], at: Date): Promise<ListedHostport[]> {
    const shared = await this.refuseTaken({ edgeId, accountId }, hostports);
    const listed_at = at.toISOString();
    return hostports.map(({ text, canonical }) => {
      return { text, canonical, exclusive: this.policy.strict && !shared.has(canonical), listed_at };
    });
  }

  /**
   * Refuses in strict mode only. Returns the hostports that the account has reserved while edges of other accounts list
   * them: these edges, which are not served, hold nothing against it.
   */
  private async refuseTaken(
    { edgeId, accountId }: Claimant,
    hostports: readonly Hostport[],
  ): Promise<ReadonlySet<string>> {
    if (!this.policy.strict || hostports.length === 0) return new Set();
    const values = hostports.map(({ canonical }) => canonical);
    const { reserved } = await this.edges.ofOtherAccounts(accountId, values);
    const edges = await Promise.all(values.map((one) => this.edges.at(one, reserved.has(one) ? accountId : '')));
    const taken = edges.findIndex(({ ids }) => ids.length > 0 && !ids.includes(edgeId));
    if (taken >= 0) throw alreadyUsed(hostports, taken, 'another edge');
    return reserved;
  }

  /** What the refusals of the append mean. */
  refusals(claimant: Claimant, hostports: readonly Hostport[] = []): Refusals {
    return {
      [EXCLUSIVE_HOSTPORT_CONSTRAINT]: async () => {
        await this.refuseTaken(claimant, hostports);
        // Nothing is found if the edge that won the race has been deleted since.
        return alreadyUsed(hostports, -1, 'another edge');
      },
      [CLAIMS_CONSTRAINT]: async () => {
        await this.refuseTaken(claimant, hostports);
        const values = hostports.map(({ canonical }) => canonical);
        const { taken } = await this.edges.ofOtherAccounts(claimant.accountId, values);
        const found = values.findIndex((value) => taken.has(value));
        return alreadyUsed(hostports, found, 'an edge of another account');
      },
    };
  }
}

function alreadyUsed(hostports: readonly Hostport[], n: number, by: string): Problem {
  const hostport = hostports[n];
  const which = hostport === undefined ? 'One of the hostports' : `hostports[${n}] ${quoted(hostport.text)}`;
  return new Problem('hostport_already_used', `${which} is already used by ${by}.`);
}
