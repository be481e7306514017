/** One store in a process of its own: `node store-process.mjs NAME`. Its parent sends the jobs below, one after the other. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const { openStore } = await import(`./${process.argv[2]}.mjs`);
const store = await openStore();
/** A follower that has heard of no event for so long will not hear of one: the slowest one polls each second. */
const SILENCE_MS = 3000;

/** Writers that append one event after the other, for `ms`. */
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

  /** How many win, of rivals that each write the first event of one stream; for each of the races. */
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

  /** What a live follower sees of the events that writers append meanwhile. Undefined without a way to follow. */
  async follow({ writers, ms }) {
    if (store.follow === undefined) return {};
    const [appended, seen, ending] = [new Set(), new Map(), new AbortController()];
    let seenAt = performance.now();
    const follower = store.follow((stream) => {
      seen.set(stream, (seen.get(stream) ?? 0) + 1);
      seenAt = performance.now();
    }, ending.signal);
    // Until it has found the end of the log.
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
