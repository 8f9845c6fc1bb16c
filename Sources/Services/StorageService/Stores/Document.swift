import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import NIOCore

/// An object as a client sent it: checked JSON text, never decoded, and the id in it if there is one.
struct Document: Sendable {
    static let maximumSizeInBytes = 1 << 20
    static let maximumBatch = 1_000
    static let maximumBatchSizeInBytes = 16 << 20

    let json: PostgresJSON
    let id: ObjectID?
    /// Whether names of ours stand in the text and have to be taken out of what is stored.
    let hasSystemFields: Bool

    /// - Throws: `invalid-json`, `invalid-body`, `invalid-name`, `invalid-id`.
    init(_ body: ByteBuffer) throws {
        let (id, hasSystemFields) = try body.withUnsafeReadableBytes { raw in
            try raw.withMemoryRebound(to: UInt8.self) { bytes in
                try Self.inspect(try checked { () throws(JSONError) in try JSONText.members(of: bytes) }, bytes)
            }
        }
        self.id = id
        self.hasSystemFields = hasSystemFields
        self.json = PostgresJSON(Array(body.readableBytesView))
    }

    /// A document for the object `id`, which the body may name too.
    ///
    /// - Throws: as `init`, and `invalid-id` when the body names another.
    init(_ body: ByteBuffer, replacing id: ObjectID) throws {
        self = try Document(body)
        guard self.id == nil || self.id == id else {
            throw HTTPProblem(.invalidID, "The body's _id is not the address's.", field: "_id")
        }
    }

    /// Ids of a bulk post's objects, in order; nil where one is to be made.
    ///
    /// - Throws: as `init`, and `limit-exceeded`.
    static func ids(ofEach body: ByteBuffer) throws -> [ObjectID?] {
        try body.withUnsafeReadableBytes { raw in
            try raw.withMemoryRebound(to: UInt8.self) { bytes in
                let elements = try checked { () throws(JSONError) in
                    try JSONText.elements(of: bytes, maximum: maximumBatch)
                }
                for members in elements {
                    guard let first = members.first, let last = members.last else { continue }
                    guard last.value.upperBound - first.value.lowerBound <= maximumSizeInBytes else {
                        throw HTTPProblem(.payloadTooLarge, "An object may have at most \(maximumSizeInBytes) bytes.")
                    }
                }
                return try elements.map { try inspect($0, bytes).id }
            }
        }
    }

    private static func inspect(
        _ members: [JSONText.Member], _ bytes: UnsafeBufferPointer<UInt8>
    ) throws -> (id: ObjectID?, hasSystemFields: Bool) {
        var id: ObjectID?
        var hasSystemFields = false
        for member in members {
            if member.name == SystemField.id.rawValue {
                guard id == nil, case .string(let text) = try? JSONValue(parsing: bytes[member.value]) else {
                    throw HTTPProblem(.invalidID, "_id is a string, once.", field: "_id")
                }
                id = try ObjectID(text)
            }
            if SystemField.names.contains(member.name) {
                hasSystemFields = true
            } else {
                try check(name: member.name)
            }
        }
        return (id, hasSystemFields)
    }

    /// Names a filter could not reach, or that are kept for the server.
    private static func check(name: String) throws {
        guard !name.isEmpty, name.utf8.count <= 128, !name.hasPrefix("$"), !name.hasPrefix("_"), !name.contains("."),
            PostgresLiteral(name) != nil
        else {
            throw HTTPProblem(
                .invalidName, "A field's name has 1 to 128 bytes, no dot, backslash or control character, and no $ or _ in front.",
                field: String(name.prefix(128)))
        }
    }
}

/// Runs `body` and tells the client where its JSON went wrong.
func checked<T>(_ body: () throws(JSONError) -> T) throws -> T {
    do {
        return try body()
    } catch {
        let code: ErrorCode =
            switch error.reason {
            case .syntax: .invalidJSON
            case .shape, .nulCharacter: .invalidBody
            case .tooDeep, .numberTooLarge, .tooMany: .limitExceeded
            }
        throw HTTPProblem(code, "The body is unacceptable: \(error).")
    }
}
