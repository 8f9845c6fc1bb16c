import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /segment/v1/settings/{ingestKey}`, of the gateway's `/segment/v1/projects/{ingestKey}/settings`: what Segment's
/// clients ask for when they start. An app whose events are not collected has no integration, and its clients send
/// nothing.
///
/// Without `apiHost`: where the app was told to send stays where it sends. analytics.js sends with `apiKey`, the others
/// with their own. `metrics` keeps clients from telling Segment how they do.
struct ReadProjectSettings: Endpoint {
    static let route = Route(
        .get, "/segment/v1/settings/{key}", "segmentSettings",
        "Segment: what mobile and browser clients ask for when they start.", callers: .ingestKeys,
        checksOwnQuery: true,
        answers: [
            .answer(200, "`integrations` is empty where events are not collected.", .json(.object))
        ])

    let events: Events

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try context.principal.kind == .ingest else { throw HTTPProblem(.forbidden) }
        let settings = try await events.settings.settings(of: try await events.spaces.space(of: try context.principal))
        let key = JSONValue.quote(context.parameters.get("key") ?? "")
        let integrations =
            settings.isCollecting ? #"{"Segment.io":{"apiKey":\#(key),"unbundledIntegrations":[]}}"# : "{}"
        var response = Response.json(
            #"{"integrations":\#(integrations),"plan":{"track":{}},"edgeFunction":{},"metrics":{"sampleRate":0}}"#)
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
