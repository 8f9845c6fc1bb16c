import Foundation
import MartletCore
import MartletHTTP

/// Cached documents of issuers: discovery documents and key sets.
///
/// A copy is fresh for an hour. An older copy is used for up to a day while the issuer cannot be reached. A caller that
/// does not find what it needs in a copy can have the document fetched again, at most once a minute.
actor DocumentCache {
    static let maximumCount = 500
    private static let freshLifetime: TimeInterval = 3_600
    private static let usableLifetime: TimeInterval = 86_400
    private static let pauseBetweenFetches: TimeInterval = 60
    /// The pause after a failed fetch when there is no usable copy.
    private static let pauseAfterFailure: TimeInterval = 5

    private struct Entry {
        var document: JSONValue?
        var fetched = Date.distantPast
        var tried = Date.distantPast
        var failure = ProviderFailure.malformedAnswer
        var ongoingFetch: Task<JSONValue, any Error>?
        var used = Date.distantPast
    }

    private let fetch: @Sendable (String) async throws -> JSONValue
    private let now: @Sendable () -> Date
    private var entries: [String: Entry] = [:]

    init(now: @escaping @Sendable () -> Date, fetch: @escaping @Sendable (String) async throws -> JSONValue) {
        self.now = now
        self.fetch = fetch
    }

    /// - Parameter isSufficient: Whether a copy contains what the caller needs. If not, the document is fetched again.
    ///   The fetched document may still not satisfy the condition.
    /// - Throws: `ProviderFailure` if there is no copy and none can be fetched.
    func document(at url: String, isSufficient: @Sendable (JSONValue) -> Bool = { _ in true }) async throws -> JSONValue
    {
        let time = now()
        let entry = entries[url, default: Entry()]
        if let document = entry.document, time < entry.fetched + Self.freshLifetime, isSufficient(document) {
            entries[url]?.used = time
            return document
        }
        let usable = time < entry.fetched + Self.usableLifetime ? entry.document : nil
        let pause = usable == nil ? Self.pauseAfterFailure : Self.pauseBetweenFetches
        if entry.ongoingFetch == nil, time < entry.tried + pause {
            guard let usable else { throw entry.failure }
            return usable
        }
        do {
            return try await refresh(url, at: time)
        } catch {
            try Task.checkCancellation()
            guard let usable else { throw error }
            return usable
        }
    }

    /// Concurrent callers wait for the same answer.
    private func refresh(_ url: String, at time: Date) async throws -> JSONValue {
        if let ongoingFetch = entries[url]?.ongoingFetch { return try await ongoingFetch.value }
        makeRoom()
        let task = Task { [fetch] in try await fetch(url) }
        entries[url, default: Entry()].ongoingFetch = task
        entries[url]?.tried = time
        entries[url]?.used = time
        do {
            let document = try await task.value
            entries[url]?.document = document
            entries[url]?.fetched = time
            entries[url]?.ongoingFetch = nil
            return document
        } catch {
            entries[url]?.failure = error as? ProviderFailure ?? .call(.unreachable("\(error)"))
            entries[url]?.ongoingFetch = nil
            throw error
        }
    }

    private func makeRoom() {
        guard entries.count >= Self.maximumCount else { return }
        let leastRecentlyUsed = entries.filter { $0.value.ongoingFetch == nil }.min { $0.value.used < $1.value.used }
        if let leastRecentlyUsed { entries[leastRecentlyUsed.key] = nil }
    }
}
