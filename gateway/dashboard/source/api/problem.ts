/** A refusal by the server (RFC 9457), or no answer at all (`status` 0). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly field?: string,
    readonly requestId?: string,
    readonly body: Record<string, any> = {}
  ) {
    super(detail);
  }
}

export async function readProblem(response: Response): Promise<Problem> {
  const body = await response.json().catch(() => ({}));
  const detail = body.detail ?? body.title ?? response.statusText;
  return new Problem(response.status, body.code ?? "unknown", detail, body.field, body.requestId, body);
}
