import Foundation
import MartletAPI
import MartletCore

/// The last valid key ring on disk, for a start while `auth` is unavailable.
struct KeyRingFile: Sendable {
    private let file: PrivateFile

    init(directory: String) {
        file = PrivateFile(directory: directory, name: "keyring.json")
    }

    /// Nil if the file is missing or invalid.
    func load() -> KeyRing? {
        file.read().flatMap { try? Self.decode($0) }
    }

    /// Replaces the file atomically; only the owner can read it.
    func save(_ ring: KeyRing) throws {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        try file.replace(with: try encoder.encode(ring))
    }

    /// Accepts RFC 3339 dates with or without fractional seconds.
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
