/** Paths of the jobs' files: one folder per job, with its input, the plan of its chunks, and one result file per chunk. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';

/** Paths of the files of jobs, by job id. */
export interface JobPlaces {
  readonly folder: string;
  ofJob(id: string): string;
  input(id: string): string;
  plan(id: string): string;
  answers(id: string): string;
  answer(id: string, file: string): string;
}

/** Returns the paths below a folder. */
export function jobPlaces(folder: string): JobPlaces {
  const ofJob = (id: string): string => join(folder, id);
  const answers = (id: string): string => join(folder, id, 'answers');
  return {
    folder,
    ofJob,
    input: (id) => join(ofJob(id), 'input'),
    plan: (id) => join(ofJob(id), 'plan'),
    answers,
    answer: (id, file) => join(answers(id), file),
  };
}

/** Makes new files in a folder durable, without blocking the thread. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
