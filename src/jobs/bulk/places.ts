/** Where the files of jobs stand: a folder a job, with its input, the plan of its chunks, and a file of answers a chunk. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';

export interface JobPlaces {
  readonly folder: string;
  ofJob(id: string): string;
  input(id: string): string;
  plan(id: string): string;
  answers(id: string): string;
  answer(id: string, file: string): string;
}

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

/** Makes files that are new in a folder survive a loss of power, and no thread wait meanwhile. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
