import Foundation
import HTTPTypes
public import Hummingbird
import MartletAPI
import MartletCore

/// An entity tag (RFC 9110 §8.8.3) without quotes.
public struct EntityTag: Sendable, Hashable {
    public let text: String

    public init(text: String) {
        self.text = text
    }

    public var header: String { "\"\(text)\"" }

    /// The tags in `If-Match` or `If-None-Match`; nil for `*`. Weak tags are treated as strong.
    ///
    /// - Parameter field: What the error names.
    /// - Throws: `invalid-parameter` unless the header is a list of 1 to 20 quoted tags.
    public static func list(_ header: String, of field: String = "If-Match") throws -> [EntityTag]? {
        if header.trimmed == "*" { return nil }
        let tags = header.split(separator: ",").compactMap { part -> EntityTag? in
            var tag = part.trimmed
            if tag.hasPrefix("W/") { tag = tag.dropFirst(2) }
            guard tag.count >= 2, tag.hasPrefix("\""), tag.hasSuffix("\"") else { return nil }
            return EntityTag(text: String(tag.dropFirst().dropLast()))
        }
        guard !tags.isEmpty, tags.count <= 20, tags.count == header.split(separator: ",").count else {
            throw ServiceError(
                .invalidParameter, "Expected * or a list of at most 20 entity tags in double quotes.", field: field)
        }
        return tags
    }
}

extension Request {
    /// Whether the `If-Match` of a read holds (RFC 9110 §13.1.1): it is absent, it is `*`, or it lists the tag,
    /// compared strongly.
    ///
    /// - Throws: `invalid-parameter`.
    public func matches(_ tag: EntityTag) throws -> Bool {
        guard let header = headers[.ifMatch] else { return true }
        guard try EntityTag.list(header) != nil else { return true }
        // `EntityTag.list` returns weak tags as strong ones, which a strong comparison must not match.
        return header.split(separator: ",").contains { $0.trimmingCharacters(in: .whitespaces) == tag.header }
    }

    /// Whether the client has this version already, according to its `If-None-Match` (RFC 9110 §13.1.2).
    ///
    /// - Throws: `invalid-parameter`.
    public func knows(_ tag: EntityTag) throws -> Bool {
        guard let header = headers[.ifNoneMatch] else { return false }
        return try EntityTag.list(header, of: "If-None-Match")?.contains(tag) ?? true
    }
}

/// The `If-Match` condition of a write.
public struct Precondition: Sendable {
    /// Nil only requires that the object exists.
    public let tags: [String]?

    public init(tags: [String]?) {
        self.tags = tags
    }

    /// - Throws: `invalid-parameter`.
    public init?(_ request: Request) throws {
        guard let header = request.headers[.ifMatch] else { return nil }
        tags = try EntityTag.list(header)?.map(\.text)
    }

    /// Whether the request has `If-None-Match: *`.
    ///
    /// - Throws: `invalid-parameter` for any other value, which would otherwise be ignored.
    public static func mustBeNew(_ request: Request) throws -> Bool {
        guard let header = request.headers[.ifNoneMatch] else { return false }
        guard header.trimmed == "*" else {
            throw ServiceError(
                .invalidParameter, "Expected *; this call supports no other value.", field: "If-None-Match")
        }
        return true
    }
}

extension StringProtocol {
    fileprivate var trimmed: SubSequence {
        let start = firstIndex { $0 != " " && $0 != "\t" } ?? endIndex
        let end = self[start...].lastIndex { $0 != " " && $0 != "\t" }.map(index(after:)) ?? start
        return self[start..<end]
    }
}
