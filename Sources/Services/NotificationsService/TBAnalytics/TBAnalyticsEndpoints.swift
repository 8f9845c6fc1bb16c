import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Idempotent for a repeated `_id`: the first message is returned and nothing is sent again.
///
/// The app's own server may send to any user or device. A signed-in user may send to users only, and only if the app's
/// client rules allow the template `TBNotification` with the variables `title`, `message` and `badge`.
struct SendTBAnalyticsNotification: Endpoint {
    static let route = Route(
        .post, "/thesis/notification", "sendTBAnalyticsNotification",
        """
        Sends a notification in the original TBAnalytics format. Users may send what the app's client rules allow; \
        the master key may send to any user or device.
        """, callers: .client,
        body: .json(.tbAnalyticsNotification),
        answers: [
            .answer(201, "The notification, in the form of a stored object.", .json(.object))
        ],
        errors: [
            404: """
            The app has no such device, or a user sends and the app has no template `TBNotification` \
            (`installation-not-found`, `template-not-found`).
            """,
            409: """
            No device of the recipients can be reached, because the app has no credential for their push services \
            (`push-credential-missing`).
            """, 413: "The body is too large (`payload-too-large`).",
        ])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        let notification = try TBAnalyticsNotification(try await request.json(upTo: 64 << 10))
        let space = try await messages.spaces.space(of: principal)
        let message =
            principal.kind == .master
            ? try await order(notification, by: principal, in: space)
            : try await send(notification, by: principal, in: space)
        return try Self.stored(notification, message)
    }

    private func order(_ notification: TBAnalyticsNotification, by principal: Principal, in space: Space) async throws
        -> Message
    {
        let origin = notification.id.map { "thesis:" + $0 }
        if let origin, let known = try await messages.store.known(origin, in: space)?.message { return known }
        let audience =
            notification.users.isEmpty
            ? Audience.installations(try await installations(notification.devices, in: space))
            : .users(notification.users)
        let order = MessageOrder(
            content: notification.content, audience: audience, origin: origin,
            author: Author(text: "key:" + principal.credentialID))
        try await messages.reach.unreached(order.audience, content: order.content, isExact: false, in: space).check()
        return try await messages.store.postgres.withTransaction {
            try await messages.store.create(order, in: space, $0)
        }
    }

    private func send(_ notification: TBAnalyticsNotification, by principal: Principal, in space: Space) async throws
        -> Message
    {
        guard let sender = principal.userID else {
            throw ServiceError(.forbidden, "Sign in first, or send the message from the app's server.")
        }
        guard notification.devices.isEmpty else {
            throw ServiceError(
                .forbidden, "Users may send to users only; sending to devices is reserved for the app's server.")
        }
        return try await messages.clients.send(
            ClientSend(
                template: TBAnalyticsNotification.template, variables: notification.variables,
                users: notification.users, sender: sender,
                idempotencyKey: notification.id.map { "thesis:" + $0 }, allowsOtherVariables: true),
            in: space
        ).message
    }

    /// Resolves installation ids and push tokens to installation ids.
    ///
    /// - Throws: `installation-not-found`.
    private func installations(_ names: [String], in space: Space) async throws -> [UUID] {
        var ids: [UUID] = []
        for name in names {
            if let id = UUID(uuidString: name) {
                ids.append(id)
                continue
            }
            let rows = try await messages.store.postgres.query(
                """
                SELECT id FROM notifications.installations
                WHERE space = \(space.id) AND md5(token) = md5(\(name)) AND token = \(name)
                    OR space = \(space.id) AND md5(token) = md5(\(name.lowercased())) AND token = \(name.lowercased()) AND service = 'apns' LIMIT 1
                """)
            guard let row = rows.first else { throw ServiceError(.installationNotFound, field: "deviceID") }
            ids.append(try row.decode(0))
        }
        return ids
    }

    private static func stored(_ notification: TBAnalyticsNotification, _ message: Message) throws -> Response {
        let time = JSONValue.string(message.created.rfc3339)
        let own: [JSONValue.Member] = [
            .init("_id", .string(notification.id ?? message.id.uuidString.lowercased())), .init("created", time),
            .init("updated", time),
            .init("deleted", .null), .init("_version", .number("1")),
        ]
        var response = Response.json(
            ByteBuffer(string: JSONValue.object(own + notification.members).text), status: .created)
        // Relative to the gateway's `/api/{appKey}/notification`.
        response.headers[.location] = "notifications/messages/" + message.id.uuidString.lowercased()
        return response
    }
}

/// Requires the master key, because the list contains messages to all users.
struct ListTBAnalyticsNotifications: Endpoint {
    static let route = Route(
        .get, "/thesis/notifications", "listTBAnalyticsNotifications",
        "Lists messages in the original TBAnalytics format, newest first.", callers: .server,
        parameters: [
            .query("limit", .integer.range(1, 100).defaulting(to: 50)),
            .query("cursor", .string, "The `next` value of the previous page."),
        ],
        answers: [
            .answer(
                200, "A page of messages.",
                .json(
                    .object(
                        [
                            "count": .integer,
                            "data": .array(of: .object),
                            "next": .string,
                        ])))
        ])

    let messages: Messages

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let space = try await messages.spaces.space(of: try context.master)
        let before = try request.id("cursor")
        let limit = try context.integer("limit")
        let list = try await messages.store.list(in: space, state: nil, before: before, limit: limit + 1)
        let page = list.prefix(limit)
        return .page(
            page.compactMap(\.message?.tbAnalyticsJSON.text),
            next: list.count > limit ? page.last.map { $0.id.uuidString.lowercased() } : nil)
    }
}
