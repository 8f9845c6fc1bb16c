extension Martlet {
    /// Objects in collections.
    public var storage: Storage { Storage(api: api) }
}

/// Reads and writes objects.
///
/// ```swift
/// var event = try await martlet.storage.create(Event(title: "Match", age: 20))
/// event.title = "Big match"
/// event = try await martlet.storage.save(event)
/// try await martlet.storage.update(event, .increment(\.age))
/// let adults = try await martlet.storage.find(Event.query().where(\.age >= 18))
/// try await martlet.storage.delete(event)
/// ```
///
/// Each write carries an `Idempotency-Key`, so MartletKit can safely repeat it after a lost connection. What a user may
/// read and write is decided by the collection's rules on the server.
public struct Storage: Sendable {
    let api: APIClient

    var tolerance: Tolerance { api.configuration.tolerance }

    func object<Value: Storable>(_ json: JSON) throws -> Stored<Value> {
        try Stored(json: json, tolerance: tolerance)
    }

    /// The objects of a list.
    func objects<Value: Storable>(_ list: [JSON]) throws -> [Stored<Value>] {
        guard api.configuration.skipsUndecodableObjects else { return try list.map { try object($0) } }
        return list.compactMap { json in
            do {
                return try object(json)
            } catch {
                api.configuration.log(
                    .warning, "Left out an object that does not fit its type",
                    ["collection": Value.collection, "error": "\(error)"])
                return nil
            }
        }
    }

    private func write<Value: Storable>(_ write: Write) async throws -> Stored<Value> {
        try object(await api.json(write.request()))
    }
}

// MARK: - One object

extension Storage {
    /// Stores a new object.
    ///
    /// - Parameters:
    ///   - id: 1 to 128 of `A-Z a-z 0-9 _ - . : @ ~`. Without one the server makes a UUID.
    ///   - readers: Who may see it; nil: as the collection's rules say.
    ///   - writers: Who may change it; nil: as the collection's rules say.
    ///   - replaces: Whether an object with the same id is replaced (and restored if it was removed). If not, the call
    ///     throws ``MartletError/Code/preconditionFailed`` for it.
    @discardableResult
    public func create<Value: Storable>(
        _ value: Value, id: String? = nil, readers: [Grantee]? = nil, writers: [Grantee]? = nil, replaces: Bool = false
    ) async throws -> Stored<Value> {
        try await write(.create(value, id: id, readers: readers, writers: writers, replaces: replaces))
    }

    /// Stores up to 1,000 new objects, all or none, and returns them in their order.
    @discardableResult
    public func create<Value: Storable>(contentsOf values: [Value]) async throws -> [Stored<Value>] {
        guard !values.isEmpty else { return [] }
        let body = JSON.array(try values.map { try Write.encoded($0) })
        let answer = try await api.json(
            .write("POST", "storage/all/" + APIRequest.escape(Value.collection), json: body))
        return try (answer["data"]?.arrayValue ?? []).map { try object($0) }
    }

    /// The object with this id; nil if there is none or the user may not see it.
    public func get<Value: Storable>(
        _ type: Value.Type = Value.self, id: String, include paths: [PartialKeyPath<Value>] = []
    ) async throws -> Stored<Value>? {
        var request = APIRequest("GET", Write.path(Value.collection, id))
        if !paths.isEmpty {
            request.query = [("include", try paths.map { try FieldName.of($0).get() }.joined(separator: ","))]
        }
        do {
            return try object(await api.json(request))
        } catch let error as MartletError where error.isNotFound {
            return nil
        }
    }

    /// The object that a field points to; nil if there is none or the user may not see it.
    public func get<Value: Storable>(_ pointer: Pointer<Value>) async throws -> Stored<Value>? {
        try await get(Value.self, id: pointer.id)
    }

    /// Stores the changes made to the object since it was read, and returns the stored object.
    ///
    /// Only changed fields are sent: changes by others in the meantime are kept, and so are fields that the type does
    /// not have. An optional that became nil removes its field. Nothing is sent if nothing was changed.
    ///
    /// - Parameter ifUnchanged: Whether the object must not have been changed since it was read. If it was, the call
    ///   throws ``MartletError/Code/preconditionFailed``: read it again, decide, and save again.
    @discardableResult
    public func save<Value: Storable>(_ object: Stored<Value>, ifUnchanged: Bool = false) async throws -> Stored<Value>
    {
        let changes = try object.changes(tolerance: tolerance)
        guard !changes.isEmpty else { return object }
        return try await write(
            Write(
                method: "PATCH", path: Write.path(Value.collection, object.id), body: .object(changes),
                ifMatch: ifUnchanged ? object.entityTag : nil))
    }

    /// Replaces the whole stored object with the value. Fields that the type does not have are removed.
    @discardableResult
    public func replace<Value: Storable>(
        _ object: Stored<Value>, ifUnchanged: Bool = false
    ) async throws -> Stored<Value> {
        try await write(.replace(object, ifUnchanged: ifUnchanged))
    }

    /// Changes fields of an object, and returns the stored object.
    ///
    /// - Parameter ifUnchanged: As for ``save(_:ifUnchanged:)``.
    @discardableResult
    public func update<Value: Storable>(
        _ object: Stored<Value>, _ changes: Change<Value>..., ifUnchanged: Bool = false
    ) async throws -> Stored<Value> {
        try await write(
            .update(Value.self, id: object.id, changes, ifMatch: ifUnchanged ? object.entityTag : nil))
    }

    /// Changes fields of the object with this id, and returns the stored object.
    ///
    /// - Parameter createsMissing: Whether an object that does not exist is created.
    @discardableResult
    public func update<Value: Storable>(
        _ type: Value.Type, id: String, _ changes: Change<Value>..., createsMissing: Bool = false
    ) async throws -> Stored<Value> {
        try await write(.update(type, id: id, changes, createsMissing: createsMissing))
    }

    /// Marks the object as removed: queries leave it out, and it can be restored.
    @discardableResult
    public func remove<Value: Storable>(_ object: Stored<Value>) async throws -> Stored<Value> {
        let path = "storage/remove/" + APIRequest.escape(Value.collection) + "/" + APIRequest.escape(object.id)
        return try await write(Write(method: "POST", path: path))
    }

    /// Restores a removed object.
    @discardableResult
    public func restore<Value: Storable>(_ object: Stored<Value>) async throws -> Stored<Value> {
        var body = object.fields.withoutIncludedObjects
        body["_id"] = .string(object.id)
        for name in ["created", "updated", "deleted", "_version"] { body[name] = nil }
        return try await write(Write(method: "POST", path: Write.path(Value.collection), body: body))
    }

    /// Deletes the object permanently. Succeeds even if the object does not exist.
    ///
    /// - Parameter ifUnchanged: As for ``save(_:ifUnchanged:)``.
    public func delete<Value: Storable>(_ object: Stored<Value>, ifUnchanged: Bool = false) async throws {
        try await delete(.delete(Value.self, id: object.id, ifMatch: ifUnchanged ? object.entityTag : nil))
    }

    /// Deletes the object with this id permanently. Succeeds even if the object does not exist.
    public func delete<Value: Storable>(_ type: Value.Type, id: String) async throws {
        try await delete(.delete(type, id: id))
    }

    private func delete(_ write: Write) async throws {
        do {
            try await api.send(write.request())
        } catch let error as MartletError where error.code == .objectNotFound {
            return
        }
    }
}
