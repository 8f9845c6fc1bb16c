import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// An app version without a configuration gets that of the newest version below it. Without a theme in the path, the
/// configuration without a theme is chosen, or else the theme Light, or else the first theme by name. See
/// `RemoteConfiguration` for the answer.
struct ReadConfiguration: Endpoint {
    static let route = Route(
        .get, "/remote/{version}", "readConfiguration",
        "Returns the configuration of an app version in its default theme.",
        callers: .client,
        parameters: [
            .path("version", .string, "The app version."),
            .query("language", .string.length(1, 200), "Can be tested by conditions."),
            .query("platform", .string.length(1, 200), "Can be tested by conditions."),
            .query("osVersion", .string.length(1, 200), "Can be tested by conditions."),
            .query("country", .string.length(1, 200), "Can be tested by conditions."),
            .query("build", .string.length(1, 200), "Can be tested by conditions."),
            .generation,
            .header(
                "X-Device-Id", .string.maxLength(128),
                """
                The app's own id of the device, for conditions and experiments, in visible ASCII characters.
                """),
            .header("If-None-Match", .string, "The `ETag` of an earlier answer."),
        ],
        answers: [
            .answer(
                200,
                """
                The configuration. The header `Experiments` names the variations of the experiments that chose it.
                """, .json(.remoteConfiguration)),
            .answer(304, "The client's copy is current: `If-None-Match` names its `ETag`."),
        ],
        errors: [404: "No configuration is live for this app version and theme (`document-not-found`)."])
    static let readThemedConfiguration = route.at(
        "/remote/{version}/{theme}", "readThemedConfiguration",
        "Returns the configuration of an app version in a theme.")

    let remote: RemoteConfiguration

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let parameters = request.uri.queryParameters
        let properties = ConfigurationRequest.clientPropertyNames.compactMap { name in
            parameters[name[...]].map { (name, String($0)) }
        }
        let clientRequest = try ConfigurationRequest(
            appVersion: context.component("version"),
            theme: context.parameters.get("theme"),
            properties: Dictionary(properties) { $1 }, at: remote.experiments.now(), request, context)
        return try await remote.response(to: clientRequest, request)
    }
}
