import Foundation
import MartletCore

/// Published cases outside the repository: in `MARTLET_VECTORS`, or `../shared/vectors`. Tests that need a missing one
/// are skipped.
enum Vectors {
    static func url(_ name: String) -> URL {
        let folder = ProcessInfo.processInfo.environment["MARTLET_VECTORS"] ?? "../shared/vectors"
        return URL(fileURLWithPath: folder).appendingPathComponent(name)
    }

    static func exist(_ name: String) -> Bool { FileManager.default.fileExists(atPath: url(name).path) }

    /// Null if there is no such file.
    static func json(_ name: String) throws -> JSONValue {
        guard exist(name) else { return .null }
        return try JSONValue(parsing: Data(contentsOf: url(name)))
    }

    static let growthBook = "flags/growthbook-cases.json"
    static let firebase = "flags/firebase-percent-vectors.json"
}

extension JSONValue {
    var elements: [JSONValue] { if case .array(let elements) = self { elements } else { [] } }
    var members: [Member] { if case .object(let members) = self { members } else { [] } }
    var string: String? { if case .string(let text) = self { text } else { nil } }
    var double: Double? { if case .number(let literal) = self { Double(literal) } else { nil } }
    var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    static func parse(_ text: String) throws -> JSONValue {
        try JSONValue(parsing: text.utf8, allowingDuplicates: true)
    }
}
