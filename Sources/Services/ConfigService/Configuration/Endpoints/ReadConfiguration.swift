import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// `GET /remote/{version}[/{theme}]?language=&platform=&osVersion=&country=&build=&generation=`: the configuration of
/// an app version.
///
/// `generation` is the id of an event (`FollowConfig`) that made the client ask: the answer is not older, even from
/// another copy of the service. Without one of its own an app version has that of the newest version that is not above
/// it. Without a theme: the configuration that has none, else the theme Light, else the first by name. See
/// `RemoteConfiguration` for the answer.
struct ReadConfiguration: Endpoint {
    static let route = Route(
        .get, "/remote/{version}", "readConfiguration", "The configuration of an app version in its usual theme.",
        callers: .client,
        parameters: [
            .path("version", .string, "The app's version."),
            .query("language", .string.length(1, 200), "For conditions."),
            .query("platform", .string.length(1, 200), "For conditions."),
            .query("osVersion", .string.length(1, 200), "For conditions."),
            .query("country", .string.length(1, 200), "For conditions."),
            .query("build", .string.length(1, 200), "For conditions."),
            .query(
                "generation", .integer.minimum(0),
                "The id of an event that made the client ask: the answer is not older."),
            .header(
                "X-Device-Id", .string.maxLength(128),
                """
                What the app calls its device: for conditions and experiments. 1 to 128 visible ASCII characters.
                """),
            .header("If-None-Match", .string, "The tag of the answer that is known."),
        ],
        answers: [
            .answer(
                200,
                """
                The configuration. The header Experiments names variations of experiments that decided it.
                """, .json(.remoteConfiguration)),
            .answer(304, "It is what the tag names."),
        ],
        errors: [404: "There is none for this app version and theme (`document-not-found`)."])
    static let readThemedConfiguration = route.at(
        "/remote/{version}/{theme}", "readThemedConfiguration", "The configuration of an app version in a theme.")

    let remote: RemoteConfiguration

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let parameters = request.uri.queryParameters
        let described = ConfigurationRequest.descriptions.compactMap { name in
            parameters[name[...]].map { (name, String($0)) }
        }
        var asked = try ConfigurationRequest(
            appVersion: context.component("version"),
            theme: context.parameters.get("theme"),
            described: Dictionary(described) { $1 }, request, context)
        asked.generation = Int64(try request.number("generation", default: 0, in: 0...Int.max))
        return try await remote.response(to: asked, request)
    }
}
