import Foundation
import MartletHTTP
import MartletMail
import MartletPostgres
import NIOCore

/// Fetches users' mail addresses. Nothing is cached, so a changed or erased address takes effect at once.
struct MailContactClient: Sendable {
    /// The size of an answer with `MailContacts.Request.maximumUsers` names and addresses.
    private static let maximumAnswerSizeInBytes = 128 << 10
    private static let timeout: Duration = .seconds(10)

    let load: @Sendable (MailContacts.Request) async throws -> MailContacts

    init(load: @escaping @Sendable (MailContacts.Request) async throws -> MailContacts) {
        self.load = load
    }

    init(of auth: ServiceAddress, calls: ServiceCalls) {
        self.init { request in
            let answer = try await calls.post(
                "/internal/users/contacts", request, to: auth, upTo: Self.maximumAnswerSizeInBytes,
                within: Self.timeout)
            return try JSONDecoder().decode(MailContacts.self, from: Data(answer.body.readableBytesView))
        }
    }

    /// - Throws: As `ServiceCalls.post`.
    func contacts(_ users: [String], in space: Space) async throws -> MailContacts {
        try await load(MailContacts.Request(app: space.appID, environment: space.environment, users: users))
    }
}
