public import Foundation
public import Hummingbird
import MartletAPI
public import MartletCore

/// A JSON object as request body whose members must all be known. Unknown members are refused, so that callers notice
/// that they have no effect.
public struct BodyFields: Sendable {
    private let object: JSONValue

    /// - Parameters:
    ///   - known: The members that the call accepts.
    ///   - isOptional: Whether an absent body counts as `{}`.
    /// - Throws: `invalid-json`, also for a missing body; `payload-too-large`, `limit-exceeded`; `invalid-body` with
    ///   the name of an unknown member.
    public init(_ request: Request, _ known: Set<String>, upTo limitInBytes: Int = 64 << 10, isOptional: Bool = false)
        async throws
    {
        let body = try await request.wholeBody(upTo: limitInBytes)
        guard body.readableBytes > 0 || !isOptional else {
            object = .object([])
            return
        }
        guard body.readableBytes > 0 else { throw ServiceError.missingBody }
        do {
            object = try JSONValue(parsing: body.readableBytesView)
        } catch {
            throw ServiceError(error)
        }
        guard case .object(let members) = object else {
            let start = body.readableBytesView.firstIndex { ![0x20, 0x0a, 0x0d, 0x09].contains($0) } ?? 0
            let offset = start - body.readableBytesView.startIndex
            throw ServiceError(JSONError(reason: .shape(expected: .object, found: object.kind), offset: offset))
        }
        try Self.check(members, known)
    }

    /// Applies the same rules to an object inside a body.
    ///
    /// - Throws: `invalid-body` with the name of an unknown member.
    public init(_ object: JSONValue, _ known: Set<String>) throws {
        guard case .object(let members) = object else {
            throw ServiceError(.invalidBody, "Expected a JSON object, found \(object.kind.phrase).")
        }
        self.object = object
        try Self.check(members, known)
    }

    private static func check(_ members: [JSONValue.Member], _ known: Set<String>, in path: String? = nil) throws {
        for member in members {
            // Compare bytes: strings that Swift considers equal are not necessarily the same name.
            if let index = known.firstIndex(of: member.name), known[index].hasSameBytes(as: member.name) { continue }
            throw ServiceError.unknownMember(member.name, in: path, known: known)
        }
    }

    /// `invalid-body` with the expected and the actual type.
    private func mismatch(_ name: String, _ expected: String) -> ServiceError {
        ServiceError(
            .invalidBody, "Expected \(expected), found \(object[name]?.phrase ?? "nothing").", field: name)
    }

    /// The value as sent; nil if absent.
    public subscript(name: String) -> JSONValue? { object[name] }

    /// Nil if absent or null.
    public func string(_ name: String) throws -> String? {
        switch object[name] {
        case .string(let text): text
        case nil, .null: nil
        // A number is not quoted: it may be a password or a code that was sent without quotes.
        case let value?:
            throw ServiceError(.invalidBody, "Expected a string, found \(value.kind.phrase).", field: name)
        }
    }

    /// Nil if absent or null.
    public func strings(_ name: String) throws -> [String]? {
        switch object[name] {
        case .array(let elements):
            try elements.map { element in
                guard case .string(let text) = element else {
                    throw ServiceError(
                        .invalidBody, "Expected an array of strings, found \(element.phrase) in it.", field: name)
                }
                return text
            }
        case nil, .null: nil
        default: throw mismatch(name, "an array of strings")
        }
    }

    /// Nil if absent or null.
    public func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let value = object[name], value != .null else { return nil }
        guard case .number(let literal) = value, let number = Int(literal), range.contains(number) else {
            throw mismatch(name, "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    public func requiredString(_ name: String) throws -> String {
        guard let text = try string(name) else {
            throw ServiceError(.invalidBody, "This field is required.", field: name)
        }
        return text
    }

    /// One of an enumeration's words. Nil if absent or null.
    ///
    /// - Throws: `invalid-body` with the words.
    public func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String) throws -> Choice? {
        guard let text = try string(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw ServiceError.unexpectedMember(
                name, expected: "one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))", found: text)
        }
        return choice
    }

    public func requiredChoice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String) throws -> Choice {
        guard let word: Choice = try choice(name) else {
            throw ServiceError(.invalidBody, "This field is required.", field: name)
        }
        return word
    }

    /// A time (RFC 3339). Nil if absent or null.
    public func time(_ name: String) throws -> Date? {
        guard let text = try string(name) else { return nil }
        guard let time = Date(rfc3339: text) else {
            throw ServiceError.unexpectedMember(
                name, expected: "a time such as 2026-11-22T08:48:59Z", found: text)
        }
        return time
    }

    public func secret(_ name: String) throws -> Secret? { try string(name).map(Secret.init) }

    public func flag(_ name: String) throws -> Bool? {
        switch object[name] {
        case .bool(let value): value
        case nil, .null: nil
        default: throw mismatch(name, "true or false")
        }
    }

    /// A list of strings of at most 2,048 bytes each.
    public func strings(_ name: String, upTo limit: Int) throws -> [String]? {
        guard let value = object[name], value != .null else { return nil }
        guard case .array(let elements) = value else { throw mismatch(name, "an array of at most \(limit) strings") }
        guard elements.count <= limit else {
            throw ServiceError(
                .invalidBody, "Expected at most \(limit) strings, found \(elements.count).", field: name)
        }
        return try elements.map {
            guard case .string(let text) = $0 else {
                throw ServiceError(
                    .invalidBody, "Expected an array of strings, found \($0.phrase) in it.", field: name)
            }
            guard text.utf8.count <= 2_048 else {
                throw ServiceError(
                    .invalidBody, "Expected strings of at most 2048 bytes, found one of \(text.utf8.count) bytes.",
                    field: name)
            }
            return text
        }
    }

    /// The members of an object, each a string. Unknown members are refused.
    public func strings(in name: String, _ known: Set<String>) throws -> [String: String] {
        guard let value = object[name], value != .null else { return [:] }
        guard case .object(let members) = value else { throw mismatch(name, "an object") }
        try Self.check(members, known, in: name)
        var strings: [String: String] = [:]
        for member in members {
            guard case .string(let text) = member.value else {
                throw ServiceError(
                    .invalidBody, "Expected a string, found \(member.value.phrase).", field: "\(name).\(member.name)")
            }
            strings[member.name] = text
        }
        return strings
    }

    /// The text of a JSON object. Nil if absent or null.
    public func object(_ name: String, upTo limitInBytes: Int) throws -> String? {
        guard let value = object[name], value != .null else { return nil }
        guard case .object = value else { throw mismatch(name, "an object") }
        let text = value.text
        guard text.utf8.count <= limitInBytes else {
            throw ServiceError(
                .invalidBody, "Expected at most \(limitInBytes) bytes, found \(text.utf8.count).", field: name)
        }
        return text
    }
}
