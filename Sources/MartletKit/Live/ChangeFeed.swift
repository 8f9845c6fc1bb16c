import Foundation

/// What changed in a collection since a position.
public struct ChangePage<Value: Storable>: Sendable {
    /// The changed objects in their current state, each once.
    public let changed: [Stored<Value>]
    /// Ids of objects that the user could see at the position and can no longer see, or that no longer match.
    public let deleted: [String]
    /// The position after these changes. Store it together with the changes.
    public let cursor: ChangeCursor
    /// Whether there are more changes already.
    public let hasMore: Bool
}

extension Storage {
    /// What changed since a position, for devices that keep a copy. Without a position: all objects, page by page.
    ///
    /// - Parameters:
    ///   - limit: 1 to 1,000.
    ///   - seconds: How long the server may wait for a change, at most 30. Without waiting, the page may be empty.
    /// - Throws: ``MartletError/Code/cursorExpired`` if the position is too old: start again without one, and discard
    ///   the objects that you have.
    public func changes<Value: Storable>(
        in query: Query<Value>, since cursor: ChangeCursor?, limit: Int = 1_000, waiting seconds: Int = 0
    ) async throws -> ChangePage<Value> {
        var request = APIRequest("GET", "changes/" + APIRequest.escape(Value.collection))
        request.query = try query.followingParameters() + [("limit", String(limit))]
        if let cursor { request.query.append(("since", cursor.rawValue)) }
        if seconds > 0 {
            request.query.append(("wait", String(seconds)))
            request.timeout = api.configuration.timeout + TimeInterval(seconds)
        }
        let answer = try await api.json(request)
        guard let next = answer["cursor"]?.stringValue, let changed = answer["changed"]?.arrayValue else {
            throw MartletError(.unexpectedAnswer, "The answer is not a page of changes.")
        }
        return ChangePage(
            changed: try objects(changed),
            deleted: (answer["deleted"]?.arrayValue ?? []).compactMap(\.stringValue),
            cursor: ChangeCursor(rawValue: next), hasMore: answer["more"]?.boolValue ?? false)
    }

    /// The pages of changes since a position, and further ones as changes happen.
    ///
    /// The sequence ends when its task is cancelled. While the device is offline, it retries.
    ///
    /// - Throws: While iterating, like ``changes(in:since:limit:waiting:)``.
    public func changeFeed<Value: Storable>(
        in query: Query<Value>, since cursor: ChangeCursor? = nil
    ) -> ChangeFeed<Value> {
        ChangeFeed(storage: self, query: query, cursor: cursor)
    }
}

/// An endless sequence of pages of changes. See ``Storage/changeFeed(in:since:)``.
public struct ChangeFeed<Value: Storable>: AsyncSequence, Sendable {
    public typealias Element = ChangePage<Value>

    let storage: Storage
    let query: Query<Value>
    let cursor: ChangeCursor?

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(
            storage: storage, query: query, cursor: cursor, backoff: Backoff(clock: storage.api.configuration.clock))
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let storage: Storage
        let query: Query<Value>
        var cursor: ChangeCursor?
        var backoff: Backoff

        public mutating func next() async throws -> ChangePage<Value>? {
            while !Task.isCancelled {
                do {
                    let page = try await storage.changes(in: query, since: cursor, waiting: cursor == nil ? 0 : 30)
                    let isFirst = cursor == nil
                    cursor = page.cursor
                    backoff.reset()
                    // The first page is reported even if the collection is empty.
                    if isFirst || !page.changed.isEmpty || !page.deleted.isEmpty { return page }
                } catch let error as MartletError where error.mayPass {
                    try await backoff.wait(atLeast: error.retryAfter)
                } catch is CancellationError {
                    return nil
                }
            }
            return nil
        }
    }
}
