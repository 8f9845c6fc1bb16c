import Foundation
import MartletCore

/// Reads the tokens of clients. A token is valid if this service issued it, it has not expired and its session is open.
struct ClientTokens: Sendable {
    struct ValidToken: Sendable {
        let kind: ProviderTokens.Kind
        let open: ClientSessionStore.Open
        /// In seconds since 1970.
        let expires: Int64
    }

    let tokens: ProviderTokens
    let sessions: ClientSessionStore
    let now: @Sendable () -> Date

    func access(_ token: String, in space: AppSpace) async throws -> ValidToken? {
        guard let content = tokens.content(of: token, .access),
            content.value > Int64(now().timeIntervalSince1970 * 1_000),
            let open = try await sessions.find(content.session, in: space)
        else { return nil }
        return ValidToken(kind: .access, open: open, expires: content.value / 1_000)
    }

    /// Nil also for a replaced token, and if the client may no longer request `offline_access`.
    func refresh(_ token: String, in space: AppSpace) async throws -> ValidToken? {
        guard let content = tokens.content(of: token, .refresh),
            let open = try await sessions.find(content.session, in: space),
            content.value == Int64(open.number), open.session.scopes.contains(.offlineAccess)
        else { return nil }
        return ValidToken(kind: .refresh, open: open, expires: open.expires)
    }
}
