import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore

/// Asks auth, which has the templates and the mail server, to mail the code of an invitation.
struct RoleInvitationMailing: Sendable {
    private static let timeout: Duration = .seconds(5)

    private let order: @Sendable (RoleInvitationMail) async throws -> RoleInvitationMail.Outcome

    init(order: @escaping @Sendable (RoleInvitationMail) async throws -> RoleInvitationMail.Outcome) {
        self.order = order
    }

    init(of auth: ServiceAddress, calls: ServiceCalls) {
        self.init { mail in
            let answer = try await calls.post(
                "/internal/mail/role-invitations", mail, to: auth, upTo: 1 << 10, within: Self.timeout)
            return try JSONDecoder().decode(RoleInvitationMail.Answer.self, from: Data(answer.body.readableBytesView))
                .outcome
        }
    }

    /// - Throws: `invalid-body`; `not-implemented` without a mail server; `too-many-requests`; `unavailable` if auth
    ///   cannot be reached; `upstream-timeout` if the mail may have been queued all the same.
    func send(_ mail: RoleInvitationMail) async throws {
        let outcome: RoleInvitationMail.Outcome
        do {
            outcome = try await order(mail)
        } catch let error where Self.isUnordered(error) {
            throw ServiceError(.unavailable, "The mail cannot be sent at the moment.", cause: "\(error)")
        } catch {
            throw ServiceError(
                .upstreamTimeout, "It is not known whether the mail will be sent. The invitation stays open.",
                cause: "\(error)")
        }
        switch outcome {
        case .ordered: break
        case .invalidEmail: throw ServiceError(.invalidBody, "This must be an e-mail address.", field: "email")
        case .invalidLanguage:
            throw ServiceError(.invalidBody, "This must be a language tag such as en or de-AT.", field: "language")
        case .unknownLink:
            throw ServiceError(.invalidBody, "This must be one of the app's linkURLs.", field: "link")
        case .noMailServer:
            throw ServiceError(.notImplemented, "No mail server is configured; leave out the address to get a code.")
        case .tooManyMails:
            throw ServiceError(.tooManyRequests, "Too many mails were requested this hour.", retryAfter: 600)
        }
    }

    /// Whether the mail was certainly not requested: auth got no request, or refused it. Otherwise the answer was lost
    /// or is late.
    private static func isUnordered(_ error: any Error) -> Bool {
        switch error {
        case ServiceCalls.Failure.status(400..<500, _): true
        case OutgoingFailure.unreachable, OutgoingFailure.privateAddress, OutgoingFailure.invalidURL: true
        default: false
        }
    }
}
