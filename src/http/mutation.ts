import type { CommandBus, ICommand } from '@nestjs/cqrs';
import type { FastifyReply } from 'fastify';
import type { Entity } from '../event-log/read-model.js';
import type { Changed } from '../event-log/streams.js';

/** Runs a command and tells, in the answer's headers, the log position that holds its effect. Undefined: the thing is deleted. */
export async function execute<State>(
  commands: CommandBus,
  command: ICommand,
  reply: FastifyReply,
): Promise<Entity<State> | undefined> {
  const { entity, position } = await commands.execute<ICommand, Changed<State>>(command);
  tellPosition(reply, position);
  return entity;
}

export function tellPosition(reply: FastifyReply, position: number): void {
  void reply.header('log-position', String(position));
}
