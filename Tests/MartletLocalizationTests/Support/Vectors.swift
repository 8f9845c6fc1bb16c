import Foundation
import MartletCore

/// Published data read by tests (see ../shared/vectors/README.md).
enum Vectors {
    private static let folder = ProcessInfo.processInfo.environment["MARTLET_VECTORS"] ?? "../shared/vectors"

    static let areThere = FileManager.default.fileExists(atPath: folder + "/l10n")

    static func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/l10n/" + name)))
    }

    static func json(_ name: String) throws -> JSONValue { try JSONValue(parsing: try bytes(name)) }
}
