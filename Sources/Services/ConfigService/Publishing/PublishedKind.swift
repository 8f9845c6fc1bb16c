import MartletAPI
import MartletCore

typealias Finding = Problem.Finding

/// A version of another document that must be kept in memory.
struct PinnedVersion: Hashable, Sendable {
    let key: DocumentKey
    let version: Int
}

/// The part of publishing that depends on a document's kind. Pure functions of values.
protocol PublishedKind: Sendable {
    /// The maximum size of a document as JSON text without whitespace.
    var maximumSizeInBytes: Int { get }
    /// The maximum number of documents in a space.
    var maximumDocuments: Int { get }

    /// A sentence about what is wrong with a name for this kind; nil if it is valid.
    func problem(withName name: String) -> String?

    /// All errors and warnings of a document. Errors prevent publication; drafts may have them.
    ///
    /// - Parameter space: The other live documents.
    func check(_ document: JSONValue, named name: String, in space: LiveSpace) -> [Finding]

    /// The form that clients are served from, made once per version and instance.
    ///
    /// - Throws: An error for a document in which `check` would find errors.
    func compile(_ document: JSONValue, named name: String) throws -> any Sendable

    /// The content to store here when `content` comes from another space.
    ///
    /// - Parameter live: The live content of the document here; nil if there is none.
    func transferred(_ content: JSONValue, onto live: JSONValue?) -> JSONValue

    /// The versions of other documents that must be available as long as this one is live.
    func pins(_ document: JSONValue) -> [PinnedVersion]

    /// As `pins(_:)`, for a kind that also needs other versions of the document itself.
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
