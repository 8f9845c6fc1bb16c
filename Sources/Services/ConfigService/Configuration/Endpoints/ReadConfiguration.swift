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
    let remote: RemoteConfiguration

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(Set(ConfigurationRequest.descriptions.map { $0[...] } + ["generation"]))
        let parameters = request.uri.queryParameters
        let described = ConfigurationRequest.descriptions.compactMap { name in
            parameters[name[...]].map { (name, String($0)) }
        }
        var asked = try ConfigurationRequest(
            appVersion: context.parameters.get("version") ?? "",
            theme: context.parameters.get("theme")?.removingPercentEncoding,
            described: Dictionary(described) { $1 }, request, context)
        asked.generation = Int64(try request.number("generation", default: 0, in: 0...Int.max))
        return try await remote.response(to: asked, request)
    }
}
