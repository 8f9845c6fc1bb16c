public import Foundation
public import Hummingbird
import MartletAPI
public import MartletCore

extension Request {
    /// A whole number from the query.
    ///
    /// - Throws: `invalid-parameter`.
    public func number(_ name: Substring, default number: Int, in range: ClosedRange<Int>) throws -> Int {
        let text = uri.queryParameters[name]
        guard let number = text.map({ Int($0) }) ?? number, range.contains(number) else {
            throw ServiceError.unexpectedParameter(
                name, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)", found: text ?? "")
        }
        return number
    }

    /// A parameter that is `true` or `false`; false if absent.
    ///
    /// - Throws: `invalid-parameter`.
    public func flag(_ name: Substring) throws -> Bool {
        switch uri.queryParameters[name] {
        case nil, "false": return false
        case "true": return true
        case let text?: throw ServiceError.unexpectedParameter(name, expected: "true or false", found: text)
        }
    }

    /// One of an enumeration's words; nil if absent.
    ///
    /// - Throws: `invalid-parameter` with the words.
    public func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: Substring) throws -> Choice? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard let choice = Choice(rawValue: String(text)) else {
            throw ServiceError.unexpectedParameter(
                name, expected: "one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))", found: text)
        }
        return choice
    }

    /// A time (RFC 3339) from the query; nil if absent.
    ///
    /// - Throws: `invalid-parameter`.
    public func time(_ name: Substring) throws -> Date? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard let time = Date(rfc3339: String(text)) else {
            throw ServiceError.unexpectedParameter(
                name, expected: "a time such as 2026-11-21T08:48:59Z", found: text)
        }
        return time
    }

    /// An id from the query, of a list member or of the element after which a page continues; nil if absent.
    ///
    /// - Throws: `invalid-parameter`.
    public func id(_ name: Substring) throws -> UUID? {
        guard let text = uri.queryParameters[name] else { return nil }
        guard let id = UUID(uuidString: String(text)) else {
            throw ServiceError.unexpectedParameter(
                name, expected: "an id (a UUID) from this list's answers", found: text)
        }
        return id
    }
}

extension ServiceError {
    /// `invalid-parameter` with the expected value and the beginning of the value that was sent.
    public static func unexpectedParameter(
        _ name: Substring, expected: String, found value: Substring
    ) -> ServiceError {
        ServiceError(
            .invalidParameter, "Expected \(expected), found \(JSONValue.excerpt(value)).", field: String(name))
    }

    /// `invalid-body` with the expected value and the beginning of the text that was sent. Not for secrets and mail
    /// addresses.
    public static func unexpectedMember(_ name: String, expected: String, found text: String) -> ServiceError {
        ServiceError(.invalidBody, "Expected \(expected), found \(JSONValue.excerpt(text)).", field: name)
    }
}
