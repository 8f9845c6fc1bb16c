import Foundation

/// A change of an object that a query finds, or found before the change.
public struct LiveChange<Value: Storable>: Sendable {
    public enum Kind: String, Sendable, Hashable {
        /// The object was created.
        case created = "create"
        /// The object was changed and matches now, or the user may see it now.
        case entered = "enter"
        /// The object was changed and still matches.
        case updated = "update"
        /// The object was changed and does not match any longer, or the user may not see it any longer.
        case left = "leave"
        /// The object was deleted or removed.
        case deleted = "delete"
    }

    public let kind: Kind
    public let id: String
    /// The object after the change, or before it if it was deleted; nil if the user may no longer see it.
    public let object: Stored<Value>?
    /// The position after this change.
    public let cursor: ChangeCursor

    /// Whether the query finds the object now.
    public var matches: Bool { [.created, .entered, .updated].contains(kind) }
}

extension Storage {
    /// The changes to the results of a query, as they happen.
    ///
    /// ```swift
    /// for try await change in martlet.storage.live(Message.query().where(\.room == "lobby")) {
    ///     print(change.kind, change.object?.text ?? change.id)
    /// }
    /// ```
    ///
    /// The sequence ends when its task is cancelled. After a lost connection it reconnects and resumes from its
    /// cursor: no change is lost or repeated. To show a list, use ``objects(_:)`` instead.
    ///
    /// - Parameter cursor: Where to begin; nil: now.
    /// - Throws: While iterating, ``MartletError`` with ``MartletError/Code/cursorExpired`` if the device was away for
    ///   longer than the server keeps changes (a week by default); ``MartletError/Code/forbidden`` if the user may not
    ///   read the collection any longer.
    public func live<Value: Storable>(_ query: Query<Value>, since cursor: ChangeCursor? = nil) -> LiveChanges<Value> {
        LiveChanges(storage: self, query: query, cursor: cursor)
    }
}

/// Changes as they happen. See ``Storage/live(_:since:)``.
public struct LiveChanges<Value: Storable>: AsyncSequence, Sendable {
    public typealias Element = LiveChange<Value>

    let storage: Storage
    let query: Query<Value>
    let cursor: ChangeCursor?

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    public struct AsyncIterator: AsyncIteratorProtocol {
        private let storage: Storage
        private let query: Query<Value>
        private var cursor: ChangeCursor?
        private var connection: Connection?
        private var waiting: ArraySlice<ServerSentEvents.Event> = []
        private var backoff: Backoff

        private struct Connection {
            var pieces: AsyncThrowingStream<Data, any Error>.Iterator
            var parser = ServerSentEvents()
        }

        fileprivate init(_ changes: LiveChanges) {
            storage = changes.storage
            query = changes.query
            cursor = changes.cursor
            backoff = Backoff(clock: changes.storage.api.configuration.clock)
        }

        /// Nil when the task is cancelled.
        public mutating func next() async throws -> LiveChange<Value>? {
            while !Task.isCancelled {
                while let event = waiting.popFirst() {
                    if let change = try read(event) { return change }
                }
                do {
                    try await receive()
                } catch is CancellationError {
                    return nil
                }
            }
            return nil
        }

        /// Waits for more events. A connection that ended is opened again.
        private mutating func receive() async throws {
            do {
                if connection == nil { try await connect() }
                guard let piece = try await connection?.pieces.next() else {
                    // The server ends a stream after a quarter of an hour, and after a change of rights.
                    connection = nil
                    if !Task.isCancelled { try await backoff.wait() }
                    return
                }
                waiting = try connection?.parser.parse(piece)[...] ?? []
            } catch let error as MartletError where error.mayPass {
                storage.api.configuration.log(
                    .info, "A live stream broke and will be resumed",
                    [
                        "error.code": error.code.rawValue, "collection": Value.collection,
                    ])
                connection = nil
                try await backoff.wait(atLeast: error.retryAfter)
            }
        }

        private mutating func connect() async throws {
            var request = APIRequest("GET", "live/" + APIRequest.escape(Value.collection))
            request.query = try query.followingParameters()
            if let cursor { request.query.append(("since", cursor.rawValue)) }
            request.headers["accept"] = "text/event-stream"
            // One attempt, because this iterator retries by itself, with longer pauses.
            request.maximumAttempts = 1
            // The server sends something every 15 seconds.
            let stream = try await storage.api.stream(request, idleTimeout: 40)
            connection = Connection(pieces: stream.body.makeAsyncIterator())
        }

        private mutating func read(_ event: ServerSentEvents.Event) throws -> LiveChange<Value>? {
            if let id = event.id { cursor = ChangeCursor(rawValue: id) }
            if let retry = event.retry { backoff.shortest = retry }
            guard let text = event.data else { return nil }
            let data = try JSON(parsing: Data(text.utf8))
            backoff.reset()
            if event.name == "error" {
                throw MartletError(problem: data.data, head: HTTPHead(status: data["status"]?.intValue ?? 0))
            }
            // An unknown kind comes from a newer server.
            guard let kind = LiveChange<Value>.Kind(rawValue: event.name), let cursor,
                let id = data["id"]?.stringValue
            else { return nil }
            let objects: [Stored<Value>] = try storage.objects(data["object"].map { [$0] } ?? [])
            let change = LiveChange(kind: kind, id: id, object: objects.first, cursor: cursor)
            // That an object left or was deleted is reported even if the object cannot be decoded.
            return change.matches && data["object"] != nil && objects.isEmpty ? nil : change
        }
    }
}
