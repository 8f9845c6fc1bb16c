import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /notifications/client-rules`: the messages that users may send to each other (`ClientRules`);
/// `{"templates":{}}` if there are none.
struct ReadClientRules: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        let rules = try await messages.clientRules.find(in: space)
        return .json(rules?.json.text ?? #"{"templates":{}}"#)
    }
}

/// `PUT /notifications/client-rules`; 200 with the rules.
struct ReplaceClientRules: Endpoint {
    private static let maximumBodySize = 256 << 10

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, author) = try await context.notifications(may: .update, messages.spaces)
        let fields = try await BodyFields(request, ["templates"], upTo: Self.maximumBodySize)
        let rules = try ClientRules(.object(fields["templates"].map { [.init("templates", $0)] } ?? []))
        try await messages.clientRules.replace(rules, by: author.text, in: space)
        return .json(rules.json.text)
    }
}
