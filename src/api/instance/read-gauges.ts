import { Gauge, type Registry } from 'prom-client';

/** Read each time the metrics are read. Undefined: the gauge has no value, since 0 would look like one. */
type Read = () => number | undefined | Promise<number | undefined>;

/** Adds gauges without labels to a registry. */
export const readGauges =
  (registry: Registry) =>
  (name: string, help: string, read: Read): void => {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const value = await read();
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  };
