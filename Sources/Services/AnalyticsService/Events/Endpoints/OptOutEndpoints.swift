import Foundation
import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres

/// `GET`, `PUT` and `DELETE /events/opt-out`: whether the events of whoever asks are no longer taken. 200 with `{"isOptedOut","since"}`.
///
/// Whoever asks is the user who is signed in, the device of the header `X-Device-Id`, or the one of `?anonymousId=`; both, where both are
/// known. What is there already stays: the user's account is deleted for that.
struct OptOutEndpoint: Endpoint {
    enum Act: Sendable {
        case read, optOut, optIn
    }

    let act: Act
    let events: Events

    func respond(to request: Request, _ context: ServiceContext) async throws -> Response {
        try request.allowParameters(["anonymousId"])
        let principal = try context.principal
        guard principal.kind == .client || principal.kind == .master else { throw HTTPProblem(.forbidden) }
        let space = try await events.spaces.space(of: principal)
        let persons = try Self.persons(request, principal, space)
        try await request.allowNoBody()
        switch act {
        case .read: break
        case .optOut: try await events.people.optOut(persons, in: space)
        case .optIn: try await events.people.optIn(persons, in: space)
        }
        let since = try await events.people.optedOut(persons, in: space)
        return try .encoding(Answer(isOptedOut: since != nil, since: since))
    }

    private static func persons(_ request: Request, _ principal: Principal, _ space: Space) throws -> [Int64] {
        var persons = principal.userID.map { [Person.account($0, in: space)] } ?? []
        if let device = request.uri.queryParameters["anonymousId"].map(String.init) ?? request.deviceID {
            guard (1...512).contains(device.utf8.count) else {
                throw HTTPProblem(.invalidParameter, "This may have at most 512 bytes.", field: "anonymousId")
            }
            persons.append(Person.device(device, in: space))
        }
        guard !persons.isEmpty else {
            throw HTTPProblem(.invalidParameter, "Sign in, or say which device it is.", field: "anonymousId")
        }
        return persons
    }

    private struct Answer: Encodable {
        var isOptedOut: Bool
        var since: Date?
    }
}
