import Foundation
import Logging
import MartletJobs
import MartletPostgres

/// The parts needed for signing in with identity providers.
struct Federation: Sendable {
    let providers: IdentityProviderStore
    let identities: IdentityStore
    let flows: OAuthFlowStore
    let client: ProviderClient
    let verifier: IDTokenVerifier
    let codeFlow: CodeFlow
    let revocation: TokenRevocation

    init(
        postgres: PostgresClient, keys: ServerKeys, publicURL: String, jobs: JobQueue, arePrivateAddressesAllowed: Bool,
        logger: Logger, now: @escaping @Sendable () -> Date
    ) {
        let client = ProviderClient(arePrivateAddressesAllowed: arePrivateAddressesAllowed)
        let documents = DocumentCache(now: now) { try await client.get($0) }
        providers = IdentityProviderStore(postgres: postgres, key: keys.identities, logger: logger)
        identities = IdentityStore(postgres: postgres, key: keys.identities)
        flows = OAuthFlowStore(postgres: postgres, key: keys.identities)
        self.client = client
        verifier = IDTokenVerifier(documents: documents, now: now)
        codeFlow = CodeFlow(
            directory: ProviderDirectory(documents: documents), verifier: verifier, client: client,
            key: keys.oauthFlows, publicURL: publicURL, now: now)
        revocation = TokenRevocation(identities: identities, jobs: jobs)
    }

    /// The job that `revocation` enqueues.
    var revokeToken: RevokeProviderToken {
        RevokeProviderToken(providers: providers, identities: identities, codeFlow: codeFlow)
    }
}
