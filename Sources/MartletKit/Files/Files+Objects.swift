public import Foundation

extension Files {
    /// Binds a file to a field of an object that names it. Everyone who may read the field can then read the file, by
    /// ``data(in:of:path:size:)``.
    ///
    /// ```swift
    /// let file = try await martlet.files.upload(png, to: path, readers: [.user(me)], writers: [.user(me)])
    /// let message = try await martlet.storage.create(Message(text: "Look!", picture: file.reference))
    /// try await martlet.files.bind(file.path, to: \.picture, of: message)
    /// ```
    ///
    /// The user must be able to change the file and to read the object. The file's own readers can still read it. A
    /// file that everyone could read has the user as its only reader afterwards.
    @discardableResult
    public func bind<Value: Storable>(
        _ path: String, to field: PartialKeyPath<Value>, of object: Stored<Value>
    ) async throws -> FileRecord {
        let key = try Self.key(field)
        let body: JSON = [
            "_object": [
                "className": .string(Value.collection), "objectId": .string(object.id), "key": .string(key),
            ]
        ]
        let request = APIRequest("PATCH", Self.path("upload", path), json: body, repetition: .idempotent)
        return try FileRecord(await api.json(request))
    }

    /// The bytes of a file that a field of an object names, or a smaller version of a picture.
    ///
    /// - Parameter path: The file, if the field names several; nil for the first one.
    /// - Throws: ``MartletError/Code/fileNotFound``, also if the file is not bound to the field and the user is not
    ///   among its readers.
    public func data<Value: Storable>(
        in field: PartialKeyPath<Value>, of object: Stored<Value>, path: String? = nil, size: ImageSize? = nil
    ) async throws -> Data {
        let key = APIRequest.escape(try Self.key(field))
        var request = APIRequest("GET", Write.path(Value.collection, object.id) + "/files/" + key)
        if let path { request.query.append(("path", path)) }
        if let size { request.query.append(("thumbnail", size.rawValue)) }
        request.timeout = max(api.configuration.timeout, 120)
        return try await api.send(request).body
    }

    /// The top-level field of the object that contains the key path's field.
    private static func key<Value: Storable>(_ field: PartialKeyPath<Value>) throws -> String {
        String(try FieldName.of(field).get().prefix { $0 != "." })
    }
}
