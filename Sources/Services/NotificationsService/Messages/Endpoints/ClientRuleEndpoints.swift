import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /notifications/client-rules`: what the app's users may send to each other (`ClientRules`); `{"templates":{}}`: nothing.
struct ReadClientRules: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        _ = try context.author(may: .read, .notifications)
        let rules = try await messages.clientRules.find(in: try await messages.spaces.space(of: context.principal))
        return .json(rules?.json.text ?? #"{"templates":{}}"#)
    }
}

/// `PUT /notifications/client-rules`; 200 with the rules.
struct ReplaceClientRules: Endpoint {
    private static let maximumBodySize = 256 << 10

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let author = try context.author(may: .update, .notifications)
        let space = try await messages.spaces.space(of: context.principal)
        let fields = try await BodyFields(request, ["templates"], upTo: Self.maximumBodySize)
        let rules = try ClientRules(.object(fields["templates"].map { [.init("templates", $0)] } ?? []))
        try await messages.clientRules.replace(rules, by: author.text, in: space)
        return .json(rules.json.text)
    }
}
