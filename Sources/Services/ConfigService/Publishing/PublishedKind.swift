import MartletAPI
import MartletCore

typealias Finding = Problem.Finding

/// A version of another document that has to stay in memory.
struct PinnedVersion: Hashable, Sendable {
    let key: DocumentKey
    let version: Int
}

/// What a kind of documents adds to publishing. Pure: values in, values out.
protocol PublishedKind: Sendable {
    /// Of a document's JSON text, without blanks.
    var maximumSizeInBytes: Int { get }
    /// In one space.
    var maximumDocuments: Int { get }

    /// What is wrong with a name of this kind, in a sentence; nil: nothing.
    func problem(withName name: String) -> String?

    /// All that is wrong or doubtful with a document. An error keeps it from being published; a draft may have some.
    ///
    /// - Parameter space: what is live beside it.
    func check(_ document: JSONValue, named name: String, in space: LiveSpace) -> [Finding]

    /// What clients are answered from, made once for each version and copy.
    ///
    /// - Throws: for a document that `check` would find errors in.
    func compile(_ document: JSONValue, named name: String) throws -> any Sendable

    /// What a content of another space becomes when it is brought into this one.
    ///
    /// - Parameter live: what is live of the document here; nil: nothing.
    func transferred(_ content: JSONValue, onto live: JSONValue?) -> JSONValue

    /// Versions of other documents that have to be there as long as this one is live.
    func pins(_ document: JSONValue) -> [PinnedVersion]

    /// The same, for a kind that needs other versions of the document itself.
    func pins(_ document: JSONValue, named name: String) -> [PinnedVersion]
}

extension PublishedKind {
    var maximumSizeInBytes: Int { 2 << 20 }
    var maximumDocuments: Int { 1_000 }

    func problem(withName name: String) -> String? { nil }
    func transferred(_ content: JSONValue, onto live: JSONValue?) -> JSONValue { content }
    func pins(_ document: JSONValue) -> [PinnedVersion] { [] }
    func pins(_ document: JSONValue, named name: String) -> [PinnedVersion] { pins(document) }
}
