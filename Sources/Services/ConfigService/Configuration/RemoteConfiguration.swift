import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP

/// Serves the live configurations to clients.
///
/// `{"config":{"version","date"},"appVersion","theme","version","number","live":true,"hash","themes":[…],"languagesList":[…],"mainSettings":{…},
/// "colors":[…],"controllers":[…],"experiments":{}}` with an entity tag of the whole answer. `version` is the
/// document's own version, or its number. `hash` covers `languagesList`, `mainSettings`, `colors` and `controllers`.
/// `themes` lists the themes available to this app version. `experiments`, like the header `Experiments`, lists the
/// variations that the unit was given.
struct RemoteConfiguration: Sendable {
    let live: LiveDocuments
    let experiments: Experiments
    let users: UserAttributes

    /// - Throws: `document-not-found`, `invalid-parameter`.
    func response(to clientRequest: ConfigurationRequest, _ request: Request) async throws -> Response {
        let space = try await live.current(clientRequest.space, reaching: request.generation)
        let index = space.derived { ConfigurationIndex($0.documents(of: .configuration)) }
        guard let entry = index.entry(for: clientRequest.appVersion, theme: clientRequest.theme) else {
            throw ServiceError(
                .documentNotFound,
                "There is no configuration for this app version\(clientRequest.theme == nil ? "" : " and theme").")
        }
        var clientRequest = clientRequest
        await clientRequest.addUserAttributes(users, space.needsOfExperiments)
        let assignment = await experiments.configuration(
            entry.document.key.name, for: clientRequest.unit, clientRequest.attributes, in: space)
        let tested = assignment?.pinned.flatMap { space.version($0.version, of: $0.key) }
        let document = tested ?? entry.document
        guard let compiled = document.compiled as? CompiledConfiguration else { throw ServiceError(.documentNotFound) }
        await clientRequest.addUserAttributes(users, compiled.needs)
        let assignments = assignment.map { [$0] } ?? []
        let variant = CompiledConfiguration.Variant(
            overrides: compiled.matches(clientRequest.attributes), themes: index.themes(for: clientRequest.appVersion),
            experiments: assignments.json.text)
        let answer = try compiled.answer(variant, of: document, named: entry.name)
        var headers: HTTPFields = [.vary: "Authorization, X-Device-Id"]
        if !assignments.isEmpty, let name = HTTPField.Name(HeaderName.experiments) {
            headers[name] = assignments.header
        }
        // With overrides or experiments, the answer depends on the client and the time.
        let isForAll = request.method == .get && !compiled.hasOverrides && space.documents(of: .experiment).isEmpty
        return try .stored(answer, of: isForAll ? space : nil, to: request, headers: headers)
    }
}
