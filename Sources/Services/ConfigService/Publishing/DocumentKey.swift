import MartletAPI
import MartletCore

/// The kind of a document. The raw value appears in paths and in the database.
enum DocumentKind: String, Sendable, Hashable, CaseIterable {
    case configuration, flags, experiment, translation, definition

    /// The area of rights that staff need for the kind.
    var area: StaffArea {
        switch self {
        case .configuration, .flags, .definition: .config
        case .experiment: .experiments
        case .translation: .languages
        }
    }
}

/// A document's kind and name, unique in its space.
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
            throw ServiceError(
                .invalidName,
                "A name must be 1 to 64 letters, digits and . _ -, starting with a letter or digit, or two such names separated by ~.",
                field: "name")
        }
        self.init(kind, name)
    }

    /// Whether the text is one segment, or two separated by `~`.
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
