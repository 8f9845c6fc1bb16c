import MartletAPI
import MartletHTTP

/// What a document describes. The raw value stands in paths and in the database.
enum DocumentKind: String, Sendable, Hashable, CaseIterable {
    case configuration, flags, experiment, translation, definition

    /// Whose rights staff need.
    var area: StaffArea {
        switch self {
        case .configuration, .flags, .definition: .config
        case .experiment: .experiments
        case .translation: .languages
        }
    }
}

/// A document's kind and name, which nothing else in its space has.
struct DocumentKey: Hashable, Sendable, Comparable {
    let kind: DocumentKind
    let name: String

    init(_ kind: DocumentKind, _ name: String) {
        self.kind = kind
        self.name = name
    }

    /// - Throws: `invalid-name`.
    init(checking name: String, of kind: DocumentKind) throws {
        guard Self.isName(name) else {
            throw HTTPProblem(
                .invalidName,
                "A name is 1 to 64 letters, digits and . _ -, a letter or digit first; or two such names with ~ between them.",
                field: "name")
        }
        self.init(kind, name)
    }

    /// One or two segments with `~` between them.
    static func isName(_ text: String) -> Bool {
        let segments = text.utf8.split(separator: UInt8(ascii: "~"), maxSplits: 2, omittingEmptySubsequences: false)
        return (1...2).contains(segments.count)
            && segments.allSatisfy { segment in
                (1...64).contains(segment.count) && segment.first.map(isLetterOrDigit) == true
                    && segment.allSatisfy {
                        isLetterOrDigit($0) || [UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains($0)
                    }
            }
    }

    static func < (left: DocumentKey, right: DocumentKey) -> Bool {
        (left.kind.rawValue, left.name) < (right.kind.rawValue, right.name)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
