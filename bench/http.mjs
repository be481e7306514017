/** Requests a second over HTTP, beside those of the bare framework in the same minute: bare, service, bare, service, bare. */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import autocannon from 'autocannon';
import { API_KEY, startProgram, startService } from './programs.mjs';

const ROUNDS = 3;
const SECONDS = 4;
const WARM_UP_SECONDS = 3;
const HEADERS = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };

/** A new ed25519 key as one line. Any 32 bytes below the field's prime decode as one; making real pairs would be the load. */
function newPublicKey() {
  const key = randomBytes(32);
  key[31] &= 0x3f;
  const blob = Buffer.concat([Buffer.from('0000000b7373682d6564323535313900000020', 'hex'), key]);
  return `ssh-ed25519 ${blob.toString('base64')} bench`;
}
const newBody = () => JSON.stringify({ public_key: newPublicKey(), description: 'bench', acl: ['bind:*.example.com'] });

async function requestsPerSecond(options, seconds) {
  const { requests, non2xx, errors } = await autocannon({ duration: seconds, headers: HEADERS, ...options });
  if (non2xx + errors > 0)
    throw new Error(`${non2xx} refused and ${errors} failed requests: this measures the wrong thing`);
  return requests.average;
}

const posts = (url, connections) => ({
  url: `${url}/ssh_credentials`,
  connections,
  requests: [{ method: 'POST', setupRequest: (request) => ({ ...request, body: newBody() }) }],
});
const gets = (url, connections, id) => ({ url: `${url}/ssh_credentials/${id}`, connections });

const middle = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

async function compare(what, goal, ofBare, ofService) {
  await requestsPerSecond(ofBare, WARM_UP_SECONDS);
  await requestsPerSecond(ofService, WARM_UP_SECONDS);
  const [bare, service] = [[await requestsPerSecond(ofBare, SECONDS)], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    service.push(await requestsPerSecond(ofService, SECONDS));
    bare.push(await requestsPerSecond(ofBare, SECONDS));
  }
  const ratios = service.map((s, n) => s / ((bare[n] + bare[n + 1]) / 2));
  const range = `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`;
  return {
    what,
    measured: `${middle(ratios).toFixed(2)} (${range}; ${middle(service).toFixed(0)}/s against ${middle(bare).toFixed(0)}/s)`,
    goal: `>= ${goal}`,
    ok: middle(ratios) >= goal,
  };
}

const residentMb = async (pid) => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024);
};

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run() {
  const bare = await startProgram('bare.mjs');
  const service = await startService();
  const memoryAtStart = await residentMb(service.pid);
  const created = await fetch(`${service.url}/ssh_credentials`, { method: 'POST', headers: HEADERS, body: newBody() });
  const { id } = await created.json();
  const rows = [];
  for (const [connections, goal] of [
    [128, 0.55],
    [64, 0.4],
  ]) {
    const what = `POST /ssh_credentials, ${connections} connections, against the bare framework`;
    rows.push(await compare(what, goal, posts(bare.url, connections), posts(service.url, connections)));
  }
  const what = 'GET /ssh_credentials/{id}, 64 connections, against the bare framework';
  rows.push(await compare(what, 0.65, gets(bare.url, 64, id), gets(service.url, 64, id)));
  rows.push({
    what: 'resident memory after that, against after start',
    measured: `${memoryAtStart} MB, then ${await residentMb(service.pid)} MB`,
    goal: 'none',
    ok: true,
  });
  await Promise.all([service.stop(), bare.stop()]);
  await service.clean();
  return rows;
}
