import MartletAPI
import MartletCore

@testable import ConfigService

/// A kind of document for tests of publishing: `{"text":…}`, where `"text":"bad"` is an error, `"odd"` is a warning,
/// and `"pin":n` requires a version of the flags.
struct PlainKind: PublishedKind {
    struct Unreadable: Error {}

    var maximumDocuments: Int { 3 }
    var maximumSizeInBytes: Int { 2_000 }

    func check(_ document: JSONValue, named name: String, in space: LiveSpace) -> [Finding] {
        switch document["text"] {
        case .string("bad"): [Finding(.error, "bad-text", at: "/text", "This text is bad.")]
        case .string("odd"): [Finding(.warning, "odd-text", at: "/text", "This text is odd.")]
        default: []
        }
    }

    func compile(_ document: JSONValue, named name: String) throws -> any Sendable {
        if case .string("unreadable")? = document["text"] { throw Unreadable() }
        return document.text
    }

    func pins(_ document: JSONValue) -> [PinnedVersion] {
        guard case .number(let literal)? = document["pin"], let version = Int(literal) else { return [] }
        return [PinnedVersion(key: DocumentKey(.flags, "default"), version: version)]
    }
}

extension Kinds {
    static let plain = Kinds([.flags: PlainKind(), .definition: PlainKind()])
}
