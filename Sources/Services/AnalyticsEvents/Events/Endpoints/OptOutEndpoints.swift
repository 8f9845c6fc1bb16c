import AnalyticsShared
import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// Reads, begins or ends the opt-out of a user and a device. The events of those who have opted out are not stored.
///
/// The user is the one who is signed in. The device is `anonymousId` or, without it, `X-Device-Id`. If both are known,
/// the call covers both. Events that are already stored stay; deleting the user's account removes those.
///
/// Anyone who knows a device's id can send it, so the id alone must not end an opt-out. A device that opts out
/// therefore sends a secret of its own, `Opt-Out-Secret`. Only a caller that presents this secret, or the app's own
/// server, can end that opt-out.
struct OptOutEndpoint: Endpoint {
    static let route = Route(
        .get, "/events/opt-out", "readOptOut", "Says whether the caller has opted out of analytics.", callers: .client,
        parameters: [
            .query(
                "anonymousId", .string.maxLength(512),
                "The device's id; by default the one in `X-Device-Id`. The signed-in user is covered as well."),
            .header("X-Device-Id", .string.maxLength(128)),
        ],
        answers: [
            .answer(200, "Whether the user or the device has opted out, and since when.", .json(.optOut))
        ])
    static let optOut = Route(
        .put, "/events/opt-out", "optOut", "Stops storing the caller's events.", callers: .client,
        parameters: [
            .query(
                "anonymousId", .string.maxLength(512),
                "The device's id; by default the one in `X-Device-Id`. The signed-in user is covered as well."),
            .header("X-Device-Id", .string.maxLength(128)),
            .header(
                "Opt-Out-Secret", .string.length(43, 43),
                """
                The device's own secret: 32 random bytes in base64url. Opting in needs the secret with which the \
                device opted out.
                """),
        ],
        answers: [
            .answer(200, "The opt-out; `since` is the time of the earliest one in effect.", .json(.optOut))
        ])
    static let optIn = Route(
        .delete, "/events/opt-out", "optIn", "Ends the opt-out, so that the caller's events are stored again.",
        callers: .client,
        parameters: [
            .query(
                "anonymousId", .string.maxLength(512),
                "The device's id; by default the one in `X-Device-Id`. The signed-in user is covered as well."),
            .header("X-Device-Id", .string.maxLength(128)),
            .header(
                "Opt-Out-Secret", .string.length(43, 43),
                """
                The device's own secret: 32 random bytes in base64url. Opting in needs the secret with which the \
                device opted out.
                """),
        ],
        answers: [
            .answer(200, "What remains: another opt-out of the device may still be in effect.", .json(.optOut))
        ])

    enum Action: Sendable {
        case read, optOut, optIn
    }

    private static let secretHeader = HTTPField.Name("Opt-Out-Secret")!

    let action: Action
    let events: Events

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        let space = try await events.spaces.space(of: principal)
        let caller = try Self.caller(request, principal, space)
        switch action {
        case .read: break
        case .optOut: try await events.people.optOut(caller, in: space)
        case .optIn:
            guard try await events.people.optIn(caller, in: space) else {
                throw ServiceError(
                    .forbidden,
                    """
                    The device opted out with another secret or without one. Send the Opt-Out-Secret of that \
                    opt-out, or end the opt-out from the app's server.
                    """)
            }
        }
        let since = try await events.people.optedOut(caller.persons, in: space)
        return try .encoding(Answer(isOptedOut: since != nil, since: since))
    }

    private static func caller(_ request: Request, _ principal: Principal, _ space: Space) throws
        -> PeopleStore.OptOutCaller
    {
        var caller = PeopleStore.OptOutCaller(account: principal.userID.map { Person.account($0, in: space) })
        // Only the app's own server needs no secret.
        caller.isServer = principal.kind == .master
        if let device = request.uri.queryParameters["anonymousId"].map(String.init) ?? request.deviceID {
            guard (1...512).contains(device.utf8.count) else {
                throw ServiceError(.invalidParameter, "Expected 1 to 512 bytes.", field: "anonymousId")
            }
            caller.device = Person.device(device, in: space)
        }
        guard !caller.persons.isEmpty else {
            throw ServiceError(
                .invalidParameter, "An access token, anonymousId or X-Device-Id is required to identify the opt-out.",
                field: "anonymousId")
        }
        if let secret = request.headers[secretHeader] {
            guard secret.utf8.count == 43, Base64URL.decode(secret)?.count == 32 else {
                throw ServiceError(
                    .invalidParameter, "Expected 32 random bytes in base64url.", field: secretHeader.rawName)
            }
            caller.digest = Credential.digest(of: secret)
        }
        return caller
    }

    private struct Answer: Encodable {
        var isOptedOut: Bool
        var since: Date?
    }
}
