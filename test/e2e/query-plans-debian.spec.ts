import { describe } from '@jest/globals';
import { PostgresServer } from '../support/postgres-server.js';
import { provePlans } from '../support/query-plans.js';
import { startCopy } from '../support/service.js';

describe('on Debian’s PostgreSQL,', () =>
  provePlans(async (settings) => startCopy({ databaseUrl: (await PostgresServer.primary()).url() }, settings), 60));
