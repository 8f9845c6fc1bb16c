import HTTPTypes
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletMail

extension BodyFields {
    /// The proof from a mail: the `token` of its link, or its `mailCode` with the subject.
    ///
    /// - Throws: `invalid-body`.
    func presentedProof(of subject: @autoclosure () throws -> String) throws -> PresentedProof {
        switch (try string("token"), try string("mailCode")) {
        case (let token?, nil): return .token(token)
        case (nil, let code?): return .code(code, subject: try subject())
        default:
            throw ServiceError(
                .invalidBody, "Expected either token or mailCode.", field: "token")
        }
    }

    func requiredEmail() throws -> EmailAddress { try EmailAddress(try requiredString("email")) }

    /// One of the links that the app's settings allow.
    func link(_ settings: AppSettings) throws -> String? {
        guard let link = try string("link") else { return nil }
        guard settings.linkURLs.contains(link) else {
            throw ServiceError(.invalidBody, "Expected one of the app's linkURLs.", field: "link")
        }
        return link
    }

    /// `language` if given, otherwise the languages accepted by the request's header, the best first.
    func languages(_ request: Request) throws -> [String] {
        if let language = try string("language") { return [try LanguageTag(language, field: "language").text] }
        return LanguageTag.accepted(request.headers[.acceptLanguage]).map(\.text)
    }
}

extension ServiceContext {
    /// The limits for requesting mail to an address, whether or not an account has it.
    func mailLimits(to email: EmailAddress, of request: Request) throws -> [AttemptStore.Limit] {
        try nameLimits(of: request) + [.mail(to: email.text, in: try userSpace)]
    }
}

/// The attempt limits for presenting a proof.
struct ProofLimits {
    private let subject: AttemptStore.Limit?
    private let address: AttemptStore.Limit?

    init(_ presented: PresentedProof, _ request: Request, _ context: ServiceContext) throws {
        let space = try context.userSpace
        address = try context.clientAddress(of: request).map { .address($0, in: space) }
        // Tokens cannot be guessed, so only codes have their own limit.
        subject = if case .code(_, let subject) = presented { .mailCode(of: subject, in: space) } else { nil }
    }

    /// Finds a proof. Counts a failed attempt if there is none.
    ///
    /// - Throws: `sign-in-failed` for any invalid proof, `too-many-requests`.
    func find(
        _ presented: PresentedProof, _ kind: MailKind, _ proofs: MailProofStore, _ attempts: AttemptStore,
        in space: AppSpace
    ) async throws -> MailProof {
        let limits = [address, subject].compactMap(\.self)
        try await attempts.begin(limits)
        guard let proof = try await proofs.find(presented, kind, in: space) else {
            throw ServiceError.proofRefused
        }
        if let subject {
            try await attempts.succeed(account: subject, address: address)
        } else {
            try await attempts.takeBack(limits)
        }
        return proof
    }
}

extension ServiceError {
    /// The same answer whether the proof never existed or is used up.
    static let proofRefused = ServiceError(
        .signInFailed, "The token or code is wrong, was used before or has expired; request another mail.")
}
