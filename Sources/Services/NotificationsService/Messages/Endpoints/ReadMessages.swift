import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET /notifications/messages?state=&limit=&before=`: the newest first; `next` continues as `before`.
struct ListMessages: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(["state", "limit", "before"])
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        let limit = try request.number("limit", default: 50, in: 1...200)
        let found = try await messages.store.list(in: space, state: try state(request), before: try before(request), limit: limit)
        let next = found.count == limit ? found.last?.id.uuidString.lowercased() : nil
        return .page(found.map { JSONValue.object($0.json).text }, next: next)
    }

    private func state(_ request: Request) throws -> Message.State? {
        guard let text = request.uri.queryParameters["state"] else { return nil }
        guard let state = Message.State(rawValue: String(text)) else {
            throw HTTPProblem(.invalidParameter, "There are \(Message.State.allCases.map(\.rawValue).joined(separator: ", ")).", field: "state")
        }
        return state
    }

    private func before(_ request: Request) throws -> UUID? {
        guard let text = request.uri.queryParameters["before"] else { return nil }
        guard let id = UUID(uuidString: String(text)) else { throw HTTPProblem(.invalidParameter, "It is the id of a message.", field: "before") }
        return id
    }
}

/// `GET /notifications/messages/{id}`: the message, `counts` of devices by state and how many opened it, and the same of each variant.
struct ReadMessage: Endpoint {
    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters()
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        guard let message = try await messages.store.find(try context.messageID, in: space.id) else { throw HTTPProblem(.messageNotFound) }
        let counts = try await messages.store.counts(of: message.id)
        var members = message.json + [.init("counts", .object(VariantCounts.sum(counts).json))]
        if !message.content.variants.isEmpty {
            members.append(.init("variants", .array(message.content.variants.enumerated().map { index, variant in
                let own = counts.first { $0.variant == index } ?? VariantCounts(variant: index)
                return .object([.init("name", .string(variant.name))] + own.json)
            })))
        }
        return .json(JSONValue.object(members).text)
    }
}
