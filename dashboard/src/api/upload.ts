/** Sends a file as it is. */
import { noteSessionEnd } from './client.ts';
import { ApiError } from './errors.ts';

/**
 * Adds a file to a case.
 *
 * @param contentType - one of the types that the API accepts; the server compares the content with it
 * @param idempotencyKey - the same for every attempt: the file is added once
 * @throws ApiError
 */
export async function uploadCaseFile(
  caseId: string,
  file: File,
  contentType: string,
  idempotencyKey: string,
): Promise<void> {
  let response: Response;
  try {
    response = await fetch(
      `/api/v1/cases/${encodeURIComponent(caseId)}/files?name=${encodeURIComponent(file.name)}`,
      {
        method: 'POST',
        headers: { 'content-type': contentType, 'idempotency-key': idempotencyKey },
        credentials: 'same-origin',
        body: file,
      },
    );
  } catch (cause) {
    throw ApiError.offline(cause);
  }
  if (!response.ok) throw noteSessionEnd(await ApiError.of(response));
}
