import Foundation
import MartletAPI
import MartletCore

/// A file's path as clients see it: components separated by slashes, `travels/2026/rome.jpg`.
///
/// At most 32 components of 1 to 255 bytes and 1,024 bytes in all, in Unicode normalization form C, so that paths
/// that look the same are equal. Excludes `.` and `..`, backslashes, whitespace at either end of a component, and
/// control, line-separating and direction-changing characters. A path is a key in the database and never a path of the
/// file system.
struct FilePath: Sendable, Hashable {
    static let maximumComponents = 32
    static let maximumLength = 1_024

    let text: String

    /// - Throws: `invalid-path`.
    init(_ components: [String]) throws {
        let components = components.map(\.precomposedStringWithCanonicalMapping)
        text = components.joined(separator: "/")
        guard !components.isEmpty, components.count <= Self.maximumComponents, text.utf8.count <= Self.maximumLength,
            components.allSatisfy(Self.isComponent)
        else {
            throw ServiceError(
                .invalidPath,
                "A file's path must have 1 to \(Self.maximumComponents) parts of 1 to 255 bytes, without control characters, . and ..",
                field: "path")
        }
    }

    /// - Throws: `invalid-path`.
    init(_ text: String) throws {
        try self.init(text.components(separatedBy: "/"))
    }

    var name: String { text.components(separatedBy: "/").last ?? "" }

    private static func isComponent(_ text: String) -> Bool {
        guard (1...255).contains(text.utf8.count), text != ".", text != "..", text.first != " ", text.last != " " else {
            return false
        }
        return text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
            // Joiners are part of emoji and of some scripts; other invisible characters only serve to imitate names.
            case .format: scalar == "\u{200c}" || scalar == "\u{200d}"
            default: scalar != "/" && scalar != "\\"
            }
        }
    }
}

/// A directory, which exists as long as it contains a file.
struct DirectoryPath: Sendable, Hashable {
    /// Ends with a slash; empty for the root.
    let text: String

    /// - Throws: `invalid-path`.
    init(_ components: [String]) throws {
        text = components.isEmpty ? "" : try FilePath(components).text + "/"
    }

    /// - Throws: `invalid-path`.
    func file(_ name: String) throws -> FilePath {
        try FilePath(text.components(separatedBy: "/").dropLast() + [name])
    }
}

/// The file or directory in a request's path; a directory if the path is empty or ends with a slash.
enum FileTarget: Sendable {
    case file(FilePath)
    case directory(DirectoryPath)

    /// - Parameter encoded: The percent-encoded path without a leading slash: `a%20b/c/`.
    /// - Throws: `invalid-path`.
    init(encoded: Substring) throws {
        var components = try encoded.split(separator: "/", omittingEmptySubsequences: false).map { component in
            guard let text = component.removingPercentEncoding else {
                throw ServiceError(.invalidPath, "The path is not UTF-8.", field: "path")
            }
            return text
        }
        guard components.last?.isEmpty ?? true else {
            self = .file(try FilePath(components))
            return
        }
        if !components.isEmpty { components.removeLast() }
        self = .directory(try DirectoryPath(components))
    }

    /// - Throws: `invalid-path` for a directory.
    var file: FilePath {
        get throws {
            guard case .file(let path) = self else {
                throw ServiceError(
                    .invalidPath, "This is a directory; a file's path does not end with a slash.", field: "path")
            }
            return path
        }
    }
}
