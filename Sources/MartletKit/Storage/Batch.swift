extension Storage {
    /// Carries out up to 100 writes in order, all or none, and returns the objects that they wrote.
    ///
    /// ```swift
    /// try await martlet.storage.transaction { batch in
    ///     try batch.create(Message(text: "Hello"))
    ///     try batch.update(Event.self, id: event.id, .increment(\.messages))
    /// }
    /// ```
    ///
    /// - Throws: What the first write that failed throws; ``MartletError/field`` names it, as `requests.1`. Nothing
    ///   was written then.
    @discardableResult
    public func transaction(_ build: (inout Batch) throws -> Void) async throws -> [Batch.Outcome] {
        try await run(build, isTransaction: true)
    }

    /// Carries out up to 100 writes in order, independently: a failed write does not prevent the others.
    ///
    /// After a lost connection the call throws, even though some of the writes may have been done, because the server
    /// cannot recognize a repetition here. Use ``transaction(_:)`` where that matters.
    @discardableResult
    public func batch(_ build: (inout Batch) throws -> Void) async throws -> [Batch.Outcome] {
        try await run(build, isTransaction: false)
    }

    private func run(_ build: (inout Batch) throws -> Void, isTransaction: Bool) async throws -> [Batch.Outcome] {
        var batch = Batch()
        try build(&batch)
        guard !batch.writes.isEmpty else { return [] }
        let body: JSON = ["transaction": .bool(isTransaction), "requests": .array(batch.writes.map(\.batchItem))]
        let request =
            isTransaction
            ? APIRequest.write("POST", "storage/batch", json: body) : APIRequest("POST", "storage/batch", json: body)
        let answers = try await api.json(request)["data"]?.arrayValue ?? []
        return answers.map { Batch.Outcome($0, tolerance: tolerance) }
    }
}

/// Writes that are sent together. See ``Storage/transaction(_:)`` and ``Storage/batch(_:)``.
public struct Batch: Sendable {
    fileprivate var writes: [Write] = []

    /// The outcome of one write.
    public struct Outcome: Sendable {
        /// The HTTP status: 200 or 201 with an object, 204 after a deletion.
        public let status: Int
        /// The object as it is stored, or null.
        public let json: JSON
        /// Why the write failed; nil if it did not.
        public let error: MartletError?
        private let tolerance: Tolerance

        fileprivate init(_ answer: JSON, tolerance: Tolerance) {
            status = answer["status"]?.intValue ?? 0
            json = answer["body"] ?? .null
            error =
                (200..<300).contains(status) ? nil : MartletError(problem: json.data, head: HTTPHead(status: status))
            self.tolerance = tolerance
        }

        /// The object that was written.
        public func object<Value: Storable>(as type: Value.Type = Value.self) throws -> Stored<Value> {
            if let error { throw error }
            return try Stored(json: json, tolerance: tolerance)
        }
    }

    /// Like ``Storage/create(_:id:readers:writers:replaces:)``, but an object with the same id is replaced.
    public mutating func create<Value: Storable>(
        _ value: Value, id: String? = nil, readers: [Grantee]? = nil, writers: [Grantee]? = nil
    ) throws {
        writes.append(try .create(value, id: id, readers: readers, writers: writers, replaces: true))
    }

    /// Like ``Storage/replace(_:ifUnchanged:)``.
    public mutating func replace<Value: Storable>(_ object: Stored<Value>, ifUnchanged: Bool = false) throws {
        writes.append(try .replace(object, ifUnchanged: ifUnchanged))
    }

    /// Like ``Storage/update(_:_:ifUnchanged:)``.
    public mutating func update<Value: Storable>(
        _ object: Stored<Value>, _ changes: Change<Value>..., ifUnchanged: Bool = false
    ) throws {
        writes.append(
            try .update(Value.self, id: object.id, changes, ifMatch: ifUnchanged ? object.entityTag : nil))
    }

    /// Like ``Storage/update(_:id:_:createsMissing:)``.
    public mutating func update<Value: Storable>(_ type: Value.Type, id: String, _ changes: Change<Value>...) throws {
        writes.append(try .update(type, id: id, changes))
    }

    /// Deletes an object permanently. Here, a missing object is a failure.
    public mutating func delete<Value: Storable>(_ object: Stored<Value>, ifUnchanged: Bool = false) {
        writes.append(.delete(Value.self, id: object.id, ifMatch: ifUnchanged ? object.entityTag : nil))
    }
}

extension Write {
    fileprivate var batchItem: JSON {
        var item: JSON = ["method": .string(method), "path": .string(path)]
        item["body"] = body
        item["ifMatch"] = ifMatch.map(JSON.string)
        return item
    }
}
