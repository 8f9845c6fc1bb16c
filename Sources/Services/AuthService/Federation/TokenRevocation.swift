import Foundation
import MartletAPI
import MartletCore
import MartletJobs
import MartletPostgres

/// Revokes providers' tokens when an account is deleted, as the App Store requires of apps with Sign in with Apple
/// (guideline 5.1.1 v, https://developer.apple.com/documentation/signinwithapplerestapi/revoke-tokens). Other providers
/// do not require it.
struct TokenRevocation: Sendable {
    let identities: IdentityStore
    let jobs: JobQueue

    /// Enqueues the revocations, in the transaction that deletes the user or the identity and before the deletion.
    ///
    /// - Parameter provider: Nil for all providers.
    func begin(of user: UUID, provider: String? = nil, in space: AppSpace, _ transaction: PostgresTransaction)
        async throws
    {
        for token in try await identities.tokens(of: user, provider: provider, in: transaction) {
            let parameters = RevokeProviderToken.Parameters(
                appID: space.appID, environment: space.environment, provider: token.provider, sealedToken: token.sealed)
            try await jobs.enqueue(RevokeProviderToken.self, parameters, in: transaction)
        }
    }
}

/// Revokes one token. Idempotent: revoking a revoked token is not an error (RFC 7009 §2.2).
struct RevokeProviderToken: JobHandler {
    static let kind = "identity.revoke"
    static let retries = JobRetries(maximumAttempts: 15, firstDelay: .seconds(10), maximumDelay: .seconds(6 * 3_600))
    static let timeLimit: Duration = .seconds(60)

    struct Parameters: Codable, Sendable {
        var appID: String
        var environment: AppEnvironment
        var provider: String
        var sealedToken: Data
    }

    let providers: IdentityProviderStore
    let identities: IdentityStore
    let codeFlow: CodeFlow

    func run(_ parameters: Parameters, _ job: RunningJob) async throws -> JobNoResult {
        let space = AppSpace(appID: parameters.appID, environment: parameters.environment)
        guard let token = identities.open(parameters.sealedToken) else {
            throw JobFailure(code: "unreadable", detail: "The token was sealed under another internal secret.")
        }
        guard let provider = try await providers.find(parameters.provider, in: space) else {
            throw JobFailure(code: "no-provider", detail: "The provider is no longer set up.")
        }
        do {
            try await codeFlow.revoke(token, at: provider)
        } catch let failure as ProviderFailure {
            throw JobFailure(code: "provider-failed", detail: failure.sentence, isFinal: false)
        }
        return JobNoResult()
    }
}
