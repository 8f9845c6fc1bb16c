import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// An endpoint of Sentry's own API, refusing in the only form whose words `sentry-cli` shows: `application/json` with `detail` and nothing else.
///
/// It shows no words at all of a 404, but its own.
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
            if problem.code == .tooManyRequests, response.headers[.retryAfter] == nil { response.headers[.retryAfter] = "1" }
            return response
        }
    }
}

/// What Sentry's API has and Martlet has not, under `/crash/api/0`: 501 with a sentence that says what is missing. Master key.
struct RefuseSentryCall: Endpoint {
    /// By what the path has in it.
    private static let names = [
        ("/monitors/", "cron monitors"), ("/artifactbundle/", "source maps"), ("/preprodartifacts/", "builds and snapshots"),
        ("/code-mappings/", "code mappings"), ("/events/", "logs and queries"),
    ]

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        _ = try context.master
        let path = request.uri.path + "/"
        let name = Self.names.first { path.contains($0.0) }?.1 ?? "this part of Sentry's API"
        throw HTTPProblem(
            .notImplemented, "Martlet does not offer \(name): it takes debug files, releases, deploys, issues, reports and envelopes of sentry-cli.")
    }
}
