import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Writes refusals in the form of Sentry's own API: plain `application/json` with only `detail`. This is the only form
/// whose text `sentry-cli` shows.
///
/// For a 404, `sentry-cli` shows its own text instead.
enum SentryAPI {
    /// - Returns: Nil for errors of the server, which keep their usual form.
    @Sendable
    static func refusal(_ problem: ServiceError) -> Response? {
        guard problem.isCallersFault || problem.code == .notImplemented else { return nil }
        let words = (problem.detail ?? problem.code.title) + (problem.field.map { " (\($0))" } ?? "")
        var response = Response.json(
            ByteBuffer(string: #"{"detail":\#(JSONValue.quote(words))}"#), status: .init(code: problem.code.status))
        if let seconds = problem.retryAfter ?? (problem.code == .tooManyRequests ? 1 : nil) {
            response.headers[.retryAfter] = String(seconds)
        }
        return response
    }
}

/// Refuses calls to the parts of Sentry's API that Martlet does not implement, naming the missing part.
struct RefuseSentryCall: Endpoint {
    static let routes = [HTTPRequest.Method.get, .post, .put, .patch, .delete].map {
        Route(
            $0, "/crash/api/0/**", "", "Refuses parts of Sentry's API that Martlet does not support.", callers: .server,
            checksOwnQuery: true, refusal: SentryAPI.refusal, isDocumented: false, body: .json(.any))
    }

    /// Names of missing features, by a fragment of the path.
    private static let names = [
        ("/monitors/", "cron monitors"), ("/artifactbundle/", "source maps"),
        ("/preprodartifacts/", "builds and snapshots"),
        ("/code-mappings/", "code mappings"), ("/events/", "logs and queries"),
    ]

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let path = request.uri.path + "/"
        let name = Self.names.first { path.contains($0.0) }?.1 ?? "this part of Sentry's API"
        throw ServiceError(
            .notImplemented,
            "Martlet does not support \(name), only sentry-cli's debug files, releases, deploys, issues, reports and envelopes."
        )
    }
}
