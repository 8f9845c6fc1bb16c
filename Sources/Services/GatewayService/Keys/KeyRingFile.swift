import Foundation
import MartletAPI
import MartletCore

/// The last good key ring on disk, for a start while `auth` is away.
struct KeyRingFile: Sendable {
    private let file: PrivateFile

    init(directory: String) {
        file = PrivateFile(directory: directory, name: "keyring.json")
    }

    /// Nil when there is none, or none that can be read.
    func load() -> KeyRing? {
        file.read().flatMap { try? Self.decode($0) }
    }

    /// Replaces the file in one step; nobody else may read it.
    func save(_ ring: KeyRing) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        try file.replace(with: try encoder.encode(ring))
    }

    /// Dates are RFC 3339 with or without fractions of a second.
    static func decode(_ data: Data) throws -> KeyRing {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            if let date = Date(rfc3339: text) { return date }
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an RFC 3339 date")
        }
        return try decoder.decode(KeyRing.self, from: data)
    }
}
