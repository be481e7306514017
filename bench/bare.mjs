/**
 * The base of the comparisons: the same framework, adapter and class-validator check, without authentication, keys, log
 * and database. If INSERT has a connection and a statement as JSON, each POST runs that statement. Prints its URL.
 */
import 'reflect-metadata';
// biome-ignore lint/style/noRestrictedImports: the framework by itself.
import { BadRequestException, Body, Controller, Get, Module, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { validateSync } from 'class-validator';
import pg from 'pg';
import { CreateSshCredentialBody } from '../dist/src/api/ssh-credentials/ssh-credentials.resource.js';

const resource = (id, body) => ({
  id,
  uri: `http://127.0.0.1/ssh_credentials/${id}`,
  created_at: '2026-01-01T00:00:00.000Z',
  description: body.description ?? '',
  metadata: '',
  public_key: body.public_key,
  acl: body.acl ?? [],
  owner_id: 'usr_3MPflF2mvZzu122JO5PMAG9khpW',
});
const STORED = { public_key: `ssh-ed25519 ${'A'.repeat(68)} bench`, acl: ['bind:*.example.com'], description: 'bench' };

const { connection, text } = JSON.parse(process.env.INSERT ?? '{}');
const pool = text === undefined ? undefined : new pg.Pool(connection);

class BareController {
  create(body) {
    // Like Nest's own pipe, but without class-transformer, which would take as long as the rest of the request.
    const [error] = validateSync(Object.assign(new CreateSshCredentialBody(), body), { forbidUnknownValues: false });
    if (error !== undefined) throw new BadRequestException(error.toString());
    const created = resource('sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV', body);
    return pool === undefined ? created : pool.query({ name: 'insert', text }).then(() => created);
  }
  get(id) {
    return resource(id, STORED);
  }
}
// This does what decorators would do, because this file runs without a compiler.
const decorate = (name, ...decorators) => {
  const descriptor = Object.getOwnPropertyDescriptor(BareController.prototype, name);
  for (const decorator of decorators) decorator(BareController.prototype, name, descriptor);
};
decorate('create', Post());
Body()(BareController.prototype, 'create', 0);
decorate('get', Get(':id'));
Param('id')(BareController.prototype, 'get', 0);
Controller('ssh_credentials')(BareController);
class BareModule {}
Module({ controllers: [BareController] })(BareModule);

const app = await NestFactory.create(BareModule, new FastifyAdapter(), { logger: false });
await app.listen(0, '127.0.0.1');
console.log(`ready at ${await app.getUrl()}`);
