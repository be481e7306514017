import { describe } from '@jest/globals';
import { provePlans } from '../support/query-plans.js';
import { startService } from '../support/service.js';

describe('on the embedded PostgreSQL,', () => provePlans(startService, 20));
