import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// An endpoint of Sentry's own API. Errors are plain `application/json` with only `detail`, the one form whose text
/// `sentry-cli` shows.
///
/// For a 404 `sentry-cli` shows its own text instead.
struct SentryAPI<Base: Endpoint>: Endpoint {
    let base: Base

    init(_ base: Base) {
        self.base = base
    }

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        do {
            return try await base.respond(to: request, context)
        } catch let problem as HTTPProblem where problem.code.status < 500 || problem.code == .notImplemented {
            let words = (problem.detail ?? problem.code.title) + (problem.field.map { " (\($0))" } ?? "")
            var response = Response.json(
                ByteBuffer(string: #"{"detail":\#(JSONValue.quote(words))}"#), status: .init(code: problem.code.status))
            for field in problem.headers { response.headers[field.name] = field.value }
            if problem.code == .tooManyRequests, response.headers[.retryAfter] == nil {
                response.headers[.retryAfter] = "1"
            }
            return response
        }
    }
}

/// Answers calls to parts of Sentry's API that Martlet does not implement, under `/crash/api/0`: 501, naming the
/// missing part. Master key.
struct RefuseSentryCall: Endpoint {
    /// Names of missing features, by a fragment of the path.
    private static let names = [
        ("/monitors/", "cron monitors"), ("/artifactbundle/", "source maps"),
        ("/preprodartifacts/", "builds and snapshots"),
        ("/code-mappings/", "code mappings"), ("/events/", "logs and queries"),
    ]

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.master
        let path = request.uri.path + "/"
        let name = Self.names.first { path.contains($0.0) }?.1 ?? "this part of Sentry's API"
        throw HTTPProblem(
            .notImplemented,
            "Martlet does not support \(name), only sentry-cli's debug files, releases, deploys, issues, reports and envelopes."
        )
    }
}
