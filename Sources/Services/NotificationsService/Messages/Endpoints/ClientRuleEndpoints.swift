import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ReadClientRules: Endpoint {
    static let route = Route(
        .get, "/notifications/client-rules", "readClientRules",
        "Reads the rules for messages that the app's users may send to each other.",
        callers: .manager(.read, .notifications),
        answers: [
            .answer(200, "The rules. `templates` is empty if there are none.", .json(.pushClientRules))
        ])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        let rules = try await messages.clientRules.find(in: space)
        return .json(rules?.json.text ?? #"{"templates":{}}"#)
    }
}

struct ReplaceClientRules: Endpoint {
    static let route = Route(
        .put, "/notifications/client-rules", "replaceClientRules",
        "Replaces the rules for messages that the app's users may send to each other.",
        callers: .manager(.update, .notifications),
        body: .json(.pushClientRules),
        answers: [
            .answer(200, "The rules as stored.", .json(.pushClientRules))
        ])

    private static let maximumBodySize = 256 << 10

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.notifications(may: .update, messages.spaces)
        let fields = try await BodyFields(request, ["templates"], upTo: Self.maximumBodySize)
        let rules = try ClientRules(.object(fields["templates"].map { [.init("templates", $0)] } ?? []))
        try await messages.clientRules.replace(rules, by: author.text, in: space)
        return .json(rules.json.text)
    }
}
