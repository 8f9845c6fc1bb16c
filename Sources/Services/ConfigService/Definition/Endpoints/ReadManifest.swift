import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletLogic
import NIOCore

/// `GET /definitions/{name}/manifest?client=&capabilities=&unit=`: what the app consists of, signed.
///
/// `{"manifest":{…},"signature":"…"}`, and for a client that says what it can show `compatible`, `missing` and `fallbacks`. With an `ETag`.
struct ReadManifest: Endpoint {
    let live: LiveDocuments
    let choice: DefinitionChoice
    let manifests: DefinitionManifests

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await live.current(try context.space)
        let document = try context.definition(in: space)
        try request.allowParameters(["client", "capabilities", "unit"])
        let capabilities = try ClientCapabilities(request)
        let unit = EvaluationContext(try Self.unit(request, capabilities), principal: try context.principal, now: Date())
        let edition = try await choice.edition(of: document, for: unit.subject, with: capabilities, in: space)
        let signed = try await manifests.manifest(of: edition, live: document, in: space.space)
        let body = Self.body(signed, edition, capabilities)
        let tag = EntityTag(text: Hexadecimal.text(Credential.digest(of: body).prefix(16)))
        return try .stored(ByteBuffer(string: body), gzip: nil, tag: tag, to: request)
    }

    /// What flags know of the client: the id of its own that the device sends, and the host app's version.
    private static func unit(_ request: Request, _ capabilities: ClientCapabilities) throws -> JSONValue {
        var members: [JSONValue.Member] = []
        if let unit = request.uri.queryParameters["unit"] {
            guard (1...128).contains(unit.utf8.count) else {
                throw HTTPProblem(.invalidParameter, "This must be 1 to 128 bytes.", field: "unit")
            }
            members.append(.init("targetingKey", .string(String(unit))))
        }
        if let client = capabilities.client { members.append(.init("appVersion", .string(client.text))) }
        return .object(members)
    }

    private static func body(_ signed: SignedDefinition, _ edition: DefinitionEdition, _ capabilities: ClientCapabilities) -> String {
        let start = #"{"manifest":\#(signed.manifest),"signature":"\#(signed.signature)""#
        guard capabilities.areSaid else { return start + "}" }
        let missing = capabilities.missing(for: edition.definition)
        let fallbacks = capabilities.fallbacks(in: edition.definition).map { option in
            #"{"kind":\#(CanonicalText.quote(option.kind)),"path":\#(CanonicalText.quote(option.path)),"version":\#(option.version)}"#
        }
        let names = missing.map(CanonicalText.quote).joined(separator: ",")
        return start + #","compatible":\#(missing.isEmpty),"missing":[\#(names)],"fallbacks":[\#(fallbacks.joined(separator: ","))]}"#
    }
}
