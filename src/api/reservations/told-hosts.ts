import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL, queryNamed } from '../../database/index.js';
import { Problem, quoted } from '../../kernel/problem.js';
import { aliasesOf, type OwnedHost, splitPort } from '../../rules/index.js';
import { ReservedNames } from './reserved-names.js';

/** A gateway of one account says nothing about hosts that all accounts share. */
const ABOUT_GATEWAYS = {
  name: 'hosts_of_gateways',
  text: `select distinct g.about -> 'hosts' as hosts from gateway_runs g
    where g.about is not null and g.gateway_account is null`,
};

/** A host as a gateway reports it (api/gateway-api/sessions/session-report.ts). */
interface ToldHost {
  readonly host: string;
  readonly listen_address: string;
}

/**
 * The hosts of the gateways that serve all accounts, as these say in their reports. They spare users a reservation that
 * would never count. The decision about a bind does not need them: a gateway names all names of the address.
 */
@Injectable()
export class ToldHosts {
  constructor(
    @Inject(POOL) private readonly pool: Pool,
    private readonly reserved: ReservedNames,
  ) {}

  /** The hosts of each gateway. A gateway that is gone counts for a day. */
  async ofGateways(): Promise<readonly (readonly OwnedHost[])[]> {
    const { rows } = await queryNamed<{ hosts: readonly ToldHost[] }>(this.pool, ABOUT_GATEWAYS, []);
    return rows.map(({ hosts }) => hosts.map(({ host, listen_address: listenAddress }) => ({ host, listenAddress })));
  }

  /** Throws Problem if an address is another name of one that the account may not have. */
  async refuseOtherName(accountId: string, addr: string): Promise<void> {
    const { host, port } = splitPort(addr);
    const names = (await this.ofGateways()).flatMap((hosts) =>
      hosts.filter((one) => one.host === host).flatMap((listen) => aliasesOf(listen, hosts)),
    );
    const others = [...new Set(names)].map((name) => `${name}:${port}`);
    const other = others.length === 0 ? undefined : await this.reserved.refusedAlias(accountId, addr, others);
    if (other === undefined) return;
    const why = 'which another account has reserved or had, or which is in a pool';
    throw new Problem('conflict', `${quoted(addr)} is another name of ${quoted(other)}, ${why}.`);
  }
}
