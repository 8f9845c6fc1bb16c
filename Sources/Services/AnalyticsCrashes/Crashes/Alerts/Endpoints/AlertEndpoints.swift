import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

struct ListAlerts: Endpoint {
    static let route = Route(
        .get, "/crashes/alerts", "listAlerts", "Lists the app's alerts by name, without their secrets.",
        callers: .manager(.read, .crashes),
        answers: [
            .answer(200, "All alerts.", .json(.object))
        ])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        return .page(try await tracking.alerts.store.list(in: space))
    }
}

struct ReadAlert: Endpoint {
    static let route = Route(
        .get, "/crashes/alerts/{alert}", "readAlert", "Returns an alert.", callers: .manager(.read, .crashes),
        parameters: [
            .path("alert", .uuid)
        ],
        answers: [
            .answer(200, "The alert.", .json(.crashAlert))
        ],
        errors: [404: "The app has no such alert (`alert-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .read, tracking.spaces)
        guard let json = try await tracking.alerts.store.read(try context.alert, in: space) else {
            throw ServiceError(.alertNotFound)
        }
        return .json(json)
    }
}

/// The alert reports only events from now on.
struct CreateAlert: Endpoint {
    static let route = Route(
        .post, "/crashes/alerts", "createAlert", "Creates an alert.", callers: .manager(.create, .crashes),
        body: .json(.crashAlert),
        answers: [
            .answer(
                201, "The alert. For a webhook also the secret that signs its messages, which is not shown again.",
                .json(
                    .object(
                        [
                            "alert": .crashAlert,
                            "secret": .string,
                        ], required: ["alert"])))
        ],
        errors: [
            409: "Another alert has this name (`conflict`).",
            501: "The alert is to be delivered by mail, but no mail server is configured (`not-implemented`).",
        ])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .create, tracking.spaces)
        let alert = try Alert(try await BodyFields(request, Alert.fields))
        try await tracking.alerts.target.check(alert.target, in: space)
        let (json, secret) = try await tracking.alerts.store.create(alert, by: author, in: space)
        var answer = #"{"alert":\#(json)"#
        if case .webhook = alert.target { answer += #","secret":"# + secret.withValue(JSONValue.quote) }
        var response = Response.json(answer + "}").notStored
        response.status = .created
        response.headers[.location] = JSONMember.scalar("id", of: json).map { "/crashes/alerts/\($0)" }
        return response
    }
}

/// Pending changes of issues are discarded if the alert was disabled, is now disabled or changes its kind.
struct ReplaceAlert: Endpoint {
    static let route = Route(
        .put, "/crashes/alerts/{alert}", "replaceAlert", "Replaces an alert.", callers: .manager(.update, .crashes),
        parameters: [
            .path("alert", .uuid)
        ],
        body: .json(.crashAlert),
        answers: [
            .answer(200, "The alert as stored.", .json(.crashAlert))
        ],
        errors: [
            404: "The app has no such alert (`alert-not-found`).", 409: "Another alert has this name (`conflict`).",
            501: "The alert is to be delivered by mail, but no mail server is configured (`not-implemented`).",
        ])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, author) = try await context.crashes(may: .update, tracking.spaces)
        let id = try context.alert
        let alert = try Alert(try await BodyFields(request, Alert.fields))
        try await tracking.alerts.target.check(alert.target, in: space)
        return .json(try await tracking.alerts.store.replace(id, with: alert, by: author, in: space))
    }
}

struct DeleteAlert: Endpoint {
    static let route = Route(
        .delete, "/crashes/alerts/{alert}", "deleteAlert", "Deletes an alert and its pending deliveries.",
        callers: .manager(.delete, .crashes),
        parameters: [
            .path("alert", .uuid)
        ],
        answers: [
            .answer(204, "The alert is deleted.")
        ],
        errors: [404: "The app has no such alert (`alert-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .delete, tracking.spaces)
        guard try await tracking.alerts.store.delete(try context.alert, in: space) else {
            throw ServiceError(.alertNotFound)
        }
        return Response(status: .noContent)
    }
}

struct RotateAlertSecret: Endpoint {
    static let route = Route(
        .post, "/crashes/alerts/{alert}/secret", "rotateAlertSecret",
        "Creates a new secret for an alert; for a day, messages are signed with both secrets.",
        callers: .manager(.update, .crashes),
        parameters: [
            .path("alert", .uuid)
        ],
        answers: [
            .answer(200, "The new secret, which is not shown again.", .json(.object))
        ],
        errors: [404: "The app has no such alert (`alert-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .update, tracking.spaces)
        let secret = try await tracking.alerts.store.rotateSecret(of: try context.alert, in: space)
        return Response.json(#"{"secret":\#(secret.withValue(JSONValue.quote))}"#).notStored
    }
}

/// Makes a single attempt to send a message of type `crash.alert.test`.
struct TestAlert: Endpoint {
    static let route = Route(
        .post, "/crashes/alerts/{alert}/test", "testAlert", "Sends a test message and reports the outcome.",
        callers: .manager(.update, .crashes),
        parameters: [
            .path("alert", .uuid)
        ],
        answers: [
            .answer(200, "The outcome: `delivered`, and `status` or `error` if there is one.", .json(.object))
        ],
        errors: [404: "The app has no such alert (`alert-not-found`)."])

    let tracking: IssueTracking

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let (space, _) = try await context.crashes(may: .update, tracking.spaces)
        let (alerts, id) = (tracking.alerts, try context.alert)
        guard try await alerts.store.read(id, in: space) != nil,
            let (address, secrets) = try await alerts.store.address(of: id)
        else {
            throw ServiceError(.alertNotFound)
        }
        return try .encoding(
            Result(try await alerts.testCalls.send(to: address, signedBy: secrets, by: alerts.target, in: space)))
    }

    private struct Result: Encodable {
        var delivered: Bool
        var status: Int?
        var error: String?

        init(_ outcome: AlertOutcome) {
            (delivered, status, error) = (outcome.failure == nil, outcome.status, outcome.failure)
        }
    }
}

extension ServiceContext {
    /// - Throws: `alert-not-found` if the path has no valid id.
    var alert: UUID {
        get throws { try uuid("alert", else: .alertNotFound) }
    }
}
