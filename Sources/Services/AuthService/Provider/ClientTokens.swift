import Foundation

/// Reads the tokens of clients: what we made, has not run out, and whose session goes on.
struct ClientTokens: Sendable {
    struct Found: Sendable {
        let kind: ProviderTokens.Kind
        let open: ClientSessionStore.Open
        /// In seconds since 1970.
        let expires: Int64
    }

    let tokens: ProviderTokens
    let sessions: ClientSessionStore

    func access(_ token: String, in space: UserSpace) async throws -> Found? {
        guard let content = tokens.content(of: token, .access),
            content.value > Int64(Date().timeIntervalSince1970 * 1_000),
            let open = try await sessions.find(content.session, in: space)
        else { return nil }
        return Found(kind: .access, open: open, expires: content.value / 1_000)
    }

    /// Nil also for one that was replaced, or whose scope the client may not ask for any more.
    func refresh(_ token: String, in space: UserSpace) async throws -> Found? {
        guard let content = tokens.content(of: token, .refresh),
            let open = try await sessions.find(content.session, in: space),
            content.value == Int64(open.number), open.session.scopes.contains(.offlineAccess)
        else { return nil }
        return Found(kind: .refresh, open: open, expires: open.expires)
    }
}
