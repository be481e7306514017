import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Adds the name of the gateway to bind decisions. Decisions of earlier versions and of tokens without a name have none. */
export class GatewayNames1763683200016 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('alter table bind_decisions add column gateway_name text collate "C"');
    await runner.query(`
      create index bind_decisions_gateway on bind_decisions (account_id, gateway_name, id)
      where account_id <> '' and gateway_name is not null`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table bind_decisions drop column gateway_name');
  }
}
