import { describe, expect, it } from '@jest/globals';
import { sharedBuffersMb, startServer } from './server.js';

const GB = 2 ** 30;

describe('shared_buffers of the embedded PostgreSQL', () => {
  it.each([
    ['an eighth is below the minimum', GB / 2, 128],
    ['1 GB', GB, 128],
    ['a size between the limits', 4 * GB, 512],
    ['8 GB', 8 * GB, 1024],
    ['a large server', 512 * GB, 1024],
  ])('are an eighth of the memory, within limits: %s', (_, bytes, megabytes) => {
    expect(sharedBuffersMb(bytes)).toBe(megabytes);
  });

  it('are a whole number of MB', () => {
    expect(sharedBuffersMb(3_333_333_333)).toBe(397);
  });

  it('are computed from the memory of this machine', () => {
    expect(sharedBuffersMb()).toBeGreaterThanOrEqual(128);
    expect(sharedBuffersMb()).toBeLessThanOrEqual(1024);
  });
});

it('a server program that cannot be started is reported in the words of the system, and no process gets a signal', async () => {
  const location = { dir: '/nonexistent', user: undefined };
  const options = { postgres: '/nonexistent/postgres', location, socketFolder: '/nonexistent', log: () => undefined };
  expect(await startServer(options, undefined)).toEqual({ failure: expect.stringContaining('postgres ENOENT') });
});
