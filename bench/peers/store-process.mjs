/**
 * Runs one store in its own process: `node store-process.mjs NAME`. The parent sends the jobs below, one after the
 * other.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const { openStore } = await import(`./${process.argv[2]}.mjs`);
const store = await openStore();
/** After this time without an event a follower will get no more. The slowest one polls every second. */
const SILENCE_MS = 3000;

/** Runs writers that append one event after the other, for `ms`. */
async function write(writers, ms, written = () => undefined) {
  const end = performance.now() + ms;
  let appended = 0;
  const writer = async () => {
    while (performance.now() < end) {
      written(await store.append());
      appended += 1;
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return appended;
}

const JOBS = {
  async append({ writers, ms }) {
    const [start, cpu] = [performance.now(), process.cpuUsage()];
    const appended = await write(writers, ms);
    const { user, system } = process.cpuUsage(cpu);
    return { perSecond: (appended / (performance.now() - start)) * 1000, cpuMicros: (user + system) / appended };
  },

  /** The number of winners in each race. In a race several writers write the first event of one stream. */
  async race({ races, rivals }) {
    const winners = [];
    for (let race = 0; race < races; race += 1) {
      const stream = randomUUID();
      const attempts = Array.from({ length: rivals }, (_, rival) => store.race(stream, rival));
      const ends = await Promise.allSettled(attempts);
      winners.push(ends.filter(({ status }) => status === 'fulfilled').length);
    }
    return { winners };
  },

  /** What a live follower sees of the events that writers append. Undefined if the store cannot be followed. */
  async follow({ writers, ms }) {
    if (store.follow === undefined) return {};
    const [appended, seen, ending] = [new Set(), new Map(), new AbortController()];
    let seenAt = performance.now();
    const follower = store.follow((stream) => {
      seen.set(stream, (seen.get(stream) ?? 0) + 1);
      seenAt = performance.now();
    }, ending.signal);
    // The follower needs this time to find the end of the log.
    await sleep(SILENCE_MS);
    await write(writers, ms, (stream) => appended.add(stream));
    seenAt = performance.now();
    while (performance.now() - seenAt < SILENCE_MS) await sleep(100);
    ending.abort();
    await follower;
    const times = [...appended].map((stream) => seen.get(stream) ?? 0);
    const [lost, twice] = [times.filter((n) => n === 0).length, times.filter((n) => n > 1).length];
    return { appended: appended.size, lost, twice };
  },
};

process.on('message', async ({ job, ...options }) => {
  try {
    process.send(await JOBS[job](options));
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
});
// An interrupted bench leaves no process behind.
process.on('disconnect', () => process.exit());
process.send('ready');
