import Foundation

/// Sends a collection's writes, and reads what changed on the server. One at a time for each store.
struct OfflineSynchronizer: Sendable {
    private static let pageSize = 1_000
    private static let maximumRestarts = 3

    let store: OfflineStore
    let api: APIClient
    let reports: OfflineReports

    private var path: String { "changes/" + APIRequest.escape(store.collection) }

    func run() async throws {
        let failure = try await OfflineSender(store: store, api: api, reports: reports).sendAll()
        try await receive()
        // Thrown only after reading: a failure of one object must not prevent the others from arriving.
        if let failure { throw failure }
    }

    private func receive() async throws {
        if await isOutdated { try await store.commit([.restart]) }
        var restarts = 0
        while true {
            do {
                if try await !receivePage() { return }
            } catch let error as MartletError where error.code == .cursorExpired && restarts < Self.maximumRestarts {
                restarts += 1
                try await store.commit([.restart])
            } catch let error as MartletError where error.code == .forbidden {
                try await store.commit([.wipe])
                throw error
            }
        }
    }

    private var isOutdated: Bool {
        get async {
            let state = await store.state
            // A full synchronization that was interrupted continues after its last page.
            guard let last = state.fullySynced, state.cursor != nil, !state.isRestarting else { return false }
            let age = api.configuration.clock.now().timeIntervalSince(last)
            // Also true if the clock was set back.
            return age < -60 || age > api.configuration.offline.fullSyncInterval
        }
    }

    /// Returns whether there is more.
    private func receivePage() async throws -> Bool {
        let (since, filter) = await store.position
        var request = request(filter, limit: Self.pageSize)
        if let since { request.query.append(("since", since)) }
        let answer = try await api.json(request)
        guard let cursor = answer["cursor"]?.stringValue, let changed = answer["changed"]?.arrayValue else {
            throw MartletError(.unexpectedAnswer, "The answer is not a page of changes.")
        }
        let deleted = (answer["deleted"]?.arrayValue ?? []).compactMap(\.stringValue)
        let hasMore = answer["more"]?.boolValue ?? false
        let page = OfflineRecord.Page(
            changed: changed, deleted: deleted, cursor: cursor, hasMore: hasMore, time: api.configuration.clock.now())
        return try await store.receive(page, since: since, filter: filter)
    }

    private func request(_ filter: JSON, limit: Int) -> APIRequest {
        var request = APIRequest("GET", path)
        request.query = [("limit", String(limit))]
        if filter != [:] { request.query.append(("where", filter.text)) }
        request.expectedUser = .some(store.userID)
        return request
    }

    /// Returns when the server has changes, or after half a minute.
    func waitForServer() async throws {
        let (cursor, filter) = await store.position
        guard let cursor else { return }
        var request = request(filter, limit: 1)
        request.query += [("since", cursor), ("wait", "30")]
        request.timeout = api.configuration.timeout + 30
        do {
            _ = try await api.json(request)
        } catch let error as MartletError where error.code == .cursorExpired {
            // The next synchronization reads everything again.
        }
    }
}
