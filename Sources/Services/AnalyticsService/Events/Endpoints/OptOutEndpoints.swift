import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET`, `PUT` and `DELETE /events/opt-out`: whether the events of whoever asks are no longer taken. 200 with
/// `{"isOptedOut","since"}`.
///
/// Whoever asks is the user who is signed in, the device of the header `X-Device-Id`, or the one of `?anonymousId=`;
/// both, where both are known. What is there already stays: the user's account is deleted for that.
///
/// A device's id proves nothing, as whoever knows it can send it. A device that opts out sends a secret of its own,
/// `Opt-Out-Secret`; only whoever shows that secret again, or the app's own server, ends the opt-out.
struct OptOutEndpoint: Endpoint {
    static let route = Route(
        .get, "/events/opt-out", "readOptOut", "Whether events of whoever asks are not taken.", callers: .client,
        parameters: [
            .query(
                "anonymousId", .string.maxLength(512),
                "The device; without: `X-Device-Id`. A user who is signed in counts as well."),
            .header("X-Device-Id", .string.maxLength(128)),
        ],
        answers: [
            .answer(200, "`isOptedOut`, and `since` when.", .json(.optOut))
        ])
    static let optOut = Route(
        .put, "/events/opt-out", "optOut", "Events of whoever asks are no longer taken.", callers: .client,
        parameters: [
            .query(
                "anonymousId", .string.maxLength(512),
                "The device; without: `X-Device-Id`. A user who is signed in counts as well."),
            .header("X-Device-Id", .string.maxLength(128)),
            .header(
                "Opt-Out-Secret", .string.length(43, 43),
                """
                The device's own secret: 32 random bytes in base64url. `DELETE` needs the one that `PUT` sent.
                """),
        ],
        answers: [
            .answer(200, "`isOptedOut`, and `since` when.", .json(.optOut))
        ])
    static let optIn = Route(
        .delete, "/events/opt-out", "optIn", "They are taken again.", callers: .client,
        parameters: [
            .query(
                "anonymousId", .string.maxLength(512),
                "The device; without: `X-Device-Id`. A user who is signed in counts as well."),
            .header("X-Device-Id", .string.maxLength(128)),
            .header(
                "Opt-Out-Secret", .string.length(43, 43),
                """
                The device's own secret: 32 random bytes in base64url. `DELETE` needs the one that `PUT` sent.
                """),
        ],
        answers: [
            .answer(200, "`isOptedOut`, and `since` when.", .json(.optOut))
        ])

    enum Act: Sendable {
        case read, optOut, optIn
    }

    private static let secretHeader = HTTPField.Name("Opt-Out-Secret")!

    let act: Act
    let events: Events

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        let principal = try context.principal
        guard principal.kind == .client || principal.kind == .master else { throw HTTPProblem(.forbidden) }
        let space = try await events.spaces.space(of: principal)
        let opting = try Self.opting(request, principal, space)
        switch act {
        case .read: break
        case .optOut: try await events.people.optOut(opting, in: space)
        case .optIn:
            guard try await events.people.optIn(opting, in: space) else {
                throw HTTPProblem(
                    .forbidden,
                    "The device was opted out with another secret, or without one. Send the Opt-Out-Secret of that opt-out, or end it from the app's server."
                )
            }
        }
        let since = try await events.people.optedOut(opting.persons, in: space)
        return try .encoding(Answer(isOptedOut: since != nil, since: since))
    }

    private static func opting(_ request: Request, _ principal: Principal, _ space: Space) throws -> PeopleStore.Opting
    {
        var opting = PeopleStore.Opting(account: principal.userID.map { Person.account($0, in: space) })
        // With somebody's token it is that person who asks.
        opting.isServer = principal.kind == .master
        if let device = request.uri.queryParameters["anonymousId"].map(String.init) ?? request.deviceID {
            guard (1...512).contains(device.utf8.count) else {
                throw HTTPProblem(.invalidParameter, "This may have at most 512 bytes.", field: "anonymousId")
            }
            opting.device = Person.device(device, in: space)
        }
        guard !opting.persons.isEmpty else {
            throw HTTPProblem(.invalidParameter, "Sign in, or say which device it is.", field: "anonymousId")
        }
        if let secret = request.headers[secretHeader] {
            guard secret.utf8.count == 43, Base64URL.decode(secret)?.count == 32 else {
                throw HTTPProblem(
                    .invalidParameter, "Expected 32 random bytes in base64url.", field: secretHeader.rawName)
            }
            opting.digest = Credential.digest(of: secret)
        }
        return opting
    }

    private struct Answer: Encodable {
        var isOptedOut: Bool
        var since: Date?
    }
}
