/// One write of an object, as a separate request or as part of a batch.
struct Write: Sendable {
    var method: String
    /// `storage/Notes/n1`, percent-encoded.
    var path: String
    var body: JSON?
    var query: [(name: String, value: String)] = []
    /// The state that the write expects.
    var ifMatch: String?
    var ifNoneMatch: String?

    static func path(_ collection: String, _ id: String? = nil) -> String {
        "storage/" + APIRequest.escape(collection) + (id.map { "/" + APIRequest.escape($0) } ?? "")
    }

    /// - Parameter replaces: Whether an object with the same id is replaced, instead of causing an error.
    static func create<Value: Storable>(
        _ value: Value, id: String?, readers: [Grantee]?, writers: [Grantee]?, replaces: Bool
    ) throws -> Write {
        var body = try encoded(value)
        if let id { body["_id"] = .string(id) }
        if let readers { body["_readers"] = Grantee.json(readers) }
        if let writers { body["_writers"] = Grantee.json(writers) }
        return Write(
            method: "POST", path: path(Value.collection), body: body,
            ifNoneMatch: replaces || body["_id"] == nil ? nil : "*")
    }

    static func replace<Value: Storable>(_ object: Stored<Value>, ifUnchanged: Bool) throws -> Write {
        var body = try encoded(object.value)
        body["_readers"] = Grantee.json(object.readers)
        body["_writers"] = Grantee.json(object.writers)
        return Write(
            method: "PUT", path: path(Value.collection, object.id), body: body,
            ifMatch: ifUnchanged ? object.entityTag : nil)
    }

    static func update<Value: Storable>(
        _ type: Value.Type, id: String, _ changes: [Change<Value>], createsMissing: Bool = false, ifMatch: String? = nil
    ) throws -> Write {
        Write(
            method: "PATCH", path: path(Value.collection, id), body: try Change.body(changes),
            query: createsMissing ? [("upsert", "true")] : [], ifMatch: ifMatch)
    }

    static func delete<Value: Storable>(_ type: Value.Type, id: String, ifMatch: String? = nil) -> Write {
        Write(method: "DELETE", path: path(Value.collection, id), ifMatch: ifMatch)
    }

    static func encoded<Value: Storable>(_ value: Value) throws -> JSON {
        do {
            return try JSON(encoding: value)
        } catch let error as EncodingError {
            throw MartletError(
                .unencodable, "A \(Value.self) cannot be stored: \(error)", underlyingError: error)
        }
    }

    func request() -> APIRequest {
        var request = APIRequest.write(method, path, json: body)
        request.query = query
        request.headers["if-match"] = ifMatch
        request.headers["if-none-match"] = ifNoneMatch
        return request
    }
}
