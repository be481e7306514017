export declare function runCommand(
  settings: NodeJS.ProcessEnv,
  args: readonly string[],
  stdin?: string,
): Promise<{ code: number; stdout: string; stderr: string }>;
