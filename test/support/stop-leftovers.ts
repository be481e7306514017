import { afterAll } from '@jest/globals';
import { stopLeftovers } from './leftovers.js';

// A failed test does not reach the line that stops what it started. Whatever still runs would keep Jest from ending.
afterAll(stopLeftovers);
