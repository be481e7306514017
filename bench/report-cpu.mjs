/**
 * It is loaded before a measured program, and answers each message with the CPU time of the process, in microseconds.
 */
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send(user + system);
});
// An interrupted bench leaves no program behind.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The channel must not keep the program from ending.
process.channel.unref();
