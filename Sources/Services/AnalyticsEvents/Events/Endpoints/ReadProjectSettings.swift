import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// The settings that Segment's clients load when they start. Without an integration, clients send nothing.
///
/// The answer has no `apiHost`, so clients keep the host that the app configured. analytics.js sends with `apiKey`, the
/// other clients with their own key. A `sampleRate` of 0 in `metrics` stops clients from sending metrics about
/// themselves to Segment.
struct ReadProjectSettings: Endpoint {
    static let route = Route(
        .get, "/segment/v1/settings/{key}", "segmentSettings",
        "Returns the settings that Segment's mobile and browser clients load when they start.", callers: .ingestKeys,
        checksOwnQuery: true,
        answers: [
            .answer(200, "The settings; `integrations` is empty if the app does not collect events.", .json(.object))
        ])

    let events: Events

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        guard try context.principal.kind == .ingest else { throw ServiceError(.forbidden) }
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
