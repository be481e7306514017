import type { Pool } from 'pg';
import { queryNamed } from '../../database/index.js';
import type { CallerGateway } from './caller.resource.js';

/** Several runs of one gateway, or gateways behind one balancer, are one entry. */
const GATEWAYS = {
  name: 'gateways_of_account',
  text: `select distinct g.about ->> 'address' as address, coalesce(g.about -> 'host_keys', '[]') as host_keys
    from gateway_runs g where g.lost_at is null and g.about is not null
      and coalesce(g.gateway_account, $1) = $1 order by 1, 2 limit 100`,
};

/** The gateways that serve an account and report now. */
export const gatewaysOf = async (pool: Pool, accountId: string): Promise<readonly CallerGateway[]> =>
  (await queryNamed<CallerGateway>(pool, GATEWAYS, [accountId])).rows;
