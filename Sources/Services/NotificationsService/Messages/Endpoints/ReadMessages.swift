import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ListMessages: Endpoint {
    static let route = Route(
        .get, "/notifications/messages", "listMessages", "Lists the app's messages, newest first.",
        callers: .manager(.read, .notifications),
        parameters: [
            .query("state", .oneOf("scheduled", "planning", "sending", "sent", "cancelled", "failed")),
            .query("limit", .integer.range(1, 200).defaulting(to: 50)),
            .query("before", .uuid, "The `next` value of the previous page."),
        ],
        answers: [
            .answer(
                200, "A page of messages. Pass `next` as `before` to read the next one.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .pushMessage),
                            "next": .string,
                        ])))
        ])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        let limit = try context.integer("limit")
        let found = try await messages.store.list(
            in: space, state: try state(request), before: try request.id("before"), limit: limit)
        let next = found.count == limit ? found.last?.id.uuidString.lowercased() : nil
        return .page(found.map { JSONValue.object($0.json).text }, next: next)
    }

    private func state(_ request: Request) throws -> Message.State? {
        guard let text = request.uri.queryParameters["state"] else { return nil }
        guard let state = Message.State(rawValue: String(text)) else {
            throw ServiceError(
                .invalidParameter,
                "Expected one of \(Message.State.allCases.map(\.rawValue).joined(separator: ", ")).", field: "state"
            )
        }
        return state
    }
}

struct ReadMessage: Endpoint {
    static let route = Route(
        .get, "/notifications/messages/{id}", "readMessage", "Reads a message with the results of its delivery.",
        callers: .manager(.read, .notifications),
        parameters: [
            .path("id", .uuid, "The id of the message.")
        ],
        answers: [
            .answer(
                200,
                """
                The message. `counts` has the number of devices by result (`waiting` if there is none yet), and the \
                number that opened it. `variants` has the same numbers for each variant.
                """, .json(.pushMessage))
        ],
        errors: [404: "The app has no such message (`message-not-found`)."])

    let messages: Messages
    let records: DeliveryRecords

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.notifications(may: .read, messages.spaces)
        guard let message = try await messages.store.shown(try context.messageID, in: space.id) else {
            throw ServiceError(.messageNotFound)
        }
        let counts = try await records.counts(of: message.id)
        let sum = counts.reduce(DeliveryCounts(variant: 0)) { $0.adding($1) }
        let waiting = JSONValue.Member("waiting", .number("\(max(0, message.planned - sum.ended))"))
        var members = message.json + [.init("counts", .object([waiting] + sum.members))]
        if let variants = message.message?.content.variants, !variants.isEmpty {
            members.append(
                .init(
                    "variants",
                    .array(
                        variants.enumerated().map { index, variant in
                            let own = counts.first { $0.variant == index } ?? DeliveryCounts(variant: index)
                            return .object([.init("name", .string(variant.name))] + own.members)
                        })))
        }
        return .json(JSONValue.object(members).text)
    }
}

extension DeliveryCounts {
    fileprivate init(variant: Int) {
        self.init(variant: variant, accepted: 0, failed: 0, unknown: 0, cancelled: 0, opened: 0)
    }

    fileprivate var ended: Int { accepted + failed + unknown + cancelled }

    fileprivate func adding(_ other: DeliveryCounts) -> DeliveryCounts {
        DeliveryCounts(
            variant: variant, accepted: accepted + other.accepted, failed: failed + other.failed,
            unknown: unknown + other.unknown,
            cancelled: cancelled + other.cancelled, opened: opened + other.opened)
    }

    fileprivate var members: [JSONValue.Member] {
        [
            ("accepted", accepted), ("failed", failed), ("unknown", unknown), ("cancelled", cancelled),
            ("opened", opened),
        ].map {
            .init($0, .number("\($1)"))
        }
    }
}
