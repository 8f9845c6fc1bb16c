import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /segment/v1/settings`, of the gateway's `/segment/v1/projects/{ingestKey}/settings`: what Segment's mobile clients ask for when they
/// start. An app whose events are not collected has no integration, and its clients send nothing.
///
/// Without `apiHost`: where the app was told to send stays where it sends. `apiKey` has to be there for some clients; they use their own.
struct ReadProjectSettings: Endpoint {
    let events: Events

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try context.principal.kind == .ingest else { throw HTTPProblem(.forbidden) }
        let settings = try await events.settings.settings(of: try await events.spaces.space(of: try context.principal))
        let integrations = settings.isCollecting ? #"{"Segment.io":{"apiKey":"","unbundledIntegrations":[]}}"# : "{}"
        var response = Response.json(#"{"integrations":\#(integrations),"plan":{"track":{}},"edgeFunction":{}}"#)
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
