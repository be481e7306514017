/** Loaded before a measured program: answers each message with the CPU time that the process has taken, in microseconds. */
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send(user + system);
});
// An interrupted bench leaves no program behind.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The program ends as it would without a parent that asks.
process.channel.unref();
