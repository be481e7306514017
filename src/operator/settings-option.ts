import type { Command } from 'commander';

/** Gives a program and all its commands the option `--settings FILE`. */
export const withSettingsOption = (program: Command): Command =>
  program
    .option(
      '--settings <file>',
      'read settings from a file too, as systemd reads an EnvironmentFile; may be given several times',
      (file: string, earlier: readonly string[]) => [...earlier, file],
      [],
    )
    .configureHelp({ showGlobalOptions: true })
    .hook('preAction', async () => {
      const { settings } = program.opts<{ settings: readonly string[] }>();
      if (settings.length === 0) return;
      // Imported late, since few commands have this option, and the settings import much.
      const { addSettings } = await import('./settings-files.js');
      addSettings(process.env, settings);
    });
